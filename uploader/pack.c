/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - raw/NAME.raw -> ID.sbx. */
#include "pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "durable_file.h"
#include "encode.h"
#include "snapshot.h"
#include "spool_folders.h"

enum {
    RAW_BYTES_MAX = 256 << 20
}; /* many times the largest recording */

static void report(const struct sbx_spool *spool, const char *name, const char *reason, struct sbx_pack_counts *counts)
{
    snprintf(counts->why, sizeof counts->why, "%.100s/raw/%.80s: %.120s", spool->path, name, reason);
}

/* A hint for `stallbox report`; without it modules are searched for. So errors are not passed on. */
static void note_modules(struct sbx_spool *spool, const struct sbx_snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot->module_count; i++) {
        const struct sbx_module_entry *module = &snapshot->modules[i];
        if (module->build_id_bytes != 0 && module->build_id_bytes <= SBX_BUILD_ID_MAX && module->path[0] == '/' &&
            sbx_spool_note_module(spool, module->build_id, module->build_id_bytes, module->path) == -ENOMEM) {
            return;
        }
    }
    if (sbx_spool_save_modules(spool) != 0) {
        return; /* still noted: the next snapshot saves it */
    }
}

/* One snapshot's bytes to a durable payload. 0 or -errno with `why`. */
static int pack_bytes(struct sbx_spool *spool, const struct sbx_redaction *redaction, const uint8_t *raw,
                      size_t raw_bytes, char *why, size_t why_bytes)
{
    struct sbx_snapshot *snapshot;
    int result = sbx_snapshot_read(raw, raw_bytes, &snapshot, why, why_bytes);
    if (result != 0) {
        return result;
    }
    uint8_t *envelope;
    size_t bytes;
    result = sbx_encode(snapshot, redaction, &envelope, &bytes, why, why_bytes);
    if (result == 0) {
        result = sbx_spool_put(spool, snapshot->header.snapshot_id, envelope, bytes);
        free(envelope);
        if (result != 0) {
            snprintf(why, why_bytes, "cannot write the payload: %s", strerror(-result));
        } else {
            note_modules(spool, snapshot);
        }
    }
    sbx_snapshot_destroy(snapshot);
    return result;
}

/* Whether the same bytes will fail again whatever happens. */
static bool is_final(int result)
{
    return result == -EINVAL || result == -EPROTO || result == -EPERM || result == -E2BIG || result == -EFBIG ||
           result == -EOVERFLOW;
}

static void pack_one(struct sbx_spool *spool, const struct sbx_redaction *redaction, const char *name,
                     struct sbx_pack_counts *counts)
{
    char why[200] = "";
    uint8_t *raw;
    size_t raw_bytes;
    int result = sbx_durable_file_read(spool->raw, name, RAW_BYTES_MAX, &raw, &raw_bytes);
    if (result == -ENOENT) {
        return; /* another process was first */
    }
    if (result != 0) {
        snprintf(why, sizeof why, "%s", strerror(-result));
    } else {
        result = pack_bytes(spool, redaction, raw, raw_bytes, why, sizeof why);
        free(raw);
    }
    if (result == 0) {
        counts->packed++;
        if (unlinkat(spool->raw, name, 0) != 0 && errno != ENOENT) {
            report(spool, name, strerror(errno), counts); /* it will be packed again into the same payload */
        }
        return;
    }
    report(spool, name, why, counts);
    if (is_final(result) && sbx_spool_move_to_bad(spool, spool->raw, name) == 0) {
        counts->unreadable++;
    } else {
        counts->later++;
    }
}

static bool is_raw_name(const char *name)
{
    size_t length = strlen(name), suffix = sizeof SBX_RAW_SUFFIX - 1;
    return name[0] != '.' && length > suffix && strcmp(name + length - suffix, SBX_RAW_SUFFIX) == 0;
}

int sbx_pack_raw_folder(struct sbx_spool *spool, const struct sbx_redaction *redaction,
                        struct sbx_pack_counts *counts_out)
{
    *counts_out = (struct sbx_pack_counts){.packed = 0};
    DIR *listing;
    int result = sbx_spool_list(spool->raw, &listing);
    if (result != 0) {
        return result;
    }
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(listing);
        if (entry == NULL) {
            result = -errno;
            break;
        }
        struct stat status;
        if (is_raw_name(entry->d_name) && fstatat(spool->raw, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode)) {
            pack_one(spool, redaction, entry->d_name, counts_out);
        }
    }
    closedir(listing);
    return result;
}
