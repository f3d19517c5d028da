/* SPDX-License-Identifier: Apache-2.0 */
/* payloads.c - numbered payloads of the uploader tests' scene. */
#include "payloads.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include "encode.h"
#include "scene.h"
#include "snapshot.h"
#include "test_folder.h"

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "payloads: %s\n", what);
    abort();
}

static void make_id(uint32_t number, uint8_t id_out[16])
{
    memset(id_out, 0x5a, 16);
    for (int i = 0; i < 4; i++) {
        id_out[i] = (uint8_t)(number >> (24 - 8 * i));
    }
}

uint8_t *sbx_test_payload(uint32_t number, uint8_t id_out[16], size_t *bytes_out)
{
    struct sbx_recording_builder *builder = sbx_scene_create();
    make_id(number, id_out);
    memcpy(builder->header->snapshot_id, id_out, 16);
    struct sbx_snapshot *snapshot = sbx_recording_read_back(builder);
    struct sbx_redaction redaction = sbx_scene_redaction(1);
    uint8_t *envelope;
    if (sbx_encode(snapshot, &redaction, &envelope, bytes_out, NULL, 0) != 0) {
        give_up("a payload cannot be made");
    }
    sbx_snapshot_destroy(snapshot);
    sbx_recording_builder_destroy(builder);
    return envelope;
}

int sbx_test_put(struct sbx_spool *spool, uint32_t number)
{
    uint8_t id[16];
    size_t bytes;
    uint8_t *envelope = sbx_test_payload(number, id, &bytes);
    int result = sbx_spool_put(spool, id, envelope, bytes);
    free(envelope);
    return result;
}

const char *sbx_test_payload_path(const char *folder, uint32_t number)
{
    char name[64];
    uint8_t id[16];
    make_id(number, id);
    for (int i = 0; i < 16; i++) {
        snprintf(name + 2 * i, 3, "%02x", id[i]);
    }
    strcpy(name + 32, ".sbx");
    return sbx_test_path(folder, name);
}

bool sbx_test_is_whole(const char *path, const uint8_t id[16])
{
    size_t bytes, wanted;
    uint8_t wanted_id[16];
    uint32_t number = (uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 | id[3];
    uint8_t *content = sbx_test_read(path, &bytes), *expected = sbx_test_payload(number, wanted_id, &wanted);
    bool is_whole = bytes == wanted && memcmp(content, expected, bytes) == 0;
    free(content);
    free(expected);
    return is_whole;
}

struct sbx_spool *sbx_test_spool(const char *path, const struct sbx_spool_limits *limits)
{
    struct sbx_spool *spool;
    char why[300] = "";
    if (sbx_spool_open(path, limits, &spool, why, sizeof why) != 0) {
        give_up(why);
    }
    return spool;
}

bool sbx_test_deliver_all(struct sbx_deliverer *deliverer, unsigned seconds)
{
    uint64_t waited_ms = 0;
    for (;;) {
        uint64_t due_ms = sbx_deliverer_step(deliverer);
        if (due_ms == UINT64_MAX) {
            return true;
        }
        waited_ms += due_ms;
        if (waited_ms > (uint64_t)seconds * 1000) {
            return false;
        }
        nanosleep(&(struct timespec){.tv_sec = (time_t)(due_ms / 1000), .tv_nsec = (long)(due_ms % 1000) * 1000000},
                  NULL);
    }
}

struct sbx_deliver_counts sbx_test_counts(const struct sbx_deliverer *deliverer)
{
    struct sbx_deliver_counts counts;
    sbx_deliverer_counts(deliverer, &counts);
    return counts;
}

bool sbx_test_mount(const char *path, const char *options)
{
    static bool is_apart;
    if (geteuid() == 0 && !is_apart) {
        is_apart = unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    }
    if (!is_apart || mount("tmpfs", path, "tmpfs", 0, options) != 0) {
        fprintf(stderr, "skipped: no tmpfs can be mounted here (%s)\n", strerror(errno));
        return false;
    }
    return true;
}
