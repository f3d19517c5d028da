/* SPDX-License-Identifier: Apache-2.0 */
/* fleet_sample.c - writes a day's stalls of users of a made-up photo album to files: fleet_sample LIBRARY FOLDER DAY
 *
 * fleet_sample --app prints the number of the application's name, as an index of modules has it. For pictures of the
 * server's pages (scripts/pictures). LIBRARY is page_functions.c. DAY counts from 0. Version 2.3.0 comes on day
 * DAY_OF_2_3: it has one stall that 2.2.0 does not have, a slower one, and lacks another. Equal arguments write equal
 * files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "payload_builder.h"

enum {
    DAY_OF_2_3 = 4,
    MACHINES = 120,
    DEPTH_MAX = 12,
    STEP_MS = 10
};
#define MS(ms) ((int64_t)(ms)*1000)
#define APP    "album"

enum what {
    COMPUTES,
    WAITS_FOR_LOCK,
    SYNCS,
    SLEEPS
};

static const struct kind {
    enum what what;
    const char *stacks[4]; /* "leaf < caller < outermost"; NULL: no more */
    int ms, a_day[2];      /* its length, and how many a day with 2.2.0 and with 2.3.0 */
} kinds[] = {
    {COMPUTES,
     {"inflate_rows < decode_photo < on_photo_ready < dispatch_task < run_loop < start_program",
      "parse_header < decode_photo < on_photo_ready < dispatch_task < run_loop < start_program",
      "inflate_rows < decode_photo < on_photo_ready < dispatch_task < run_loop < start_program",
      "blur_rows < decode_photo < on_photo_ready < dispatch_task < run_loop < start_program"},
     1300,
     {16, 15}},
    {SYNCS, {"write_index < save_album < on_click < dispatch_task < run_loop < start_program"}, 1900, {13, 14}},
    {WAITS_FOR_LOCK,
     {"take_cache_lock < sync_album < on_click < dispatch_task < run_loop < start_program"},
     2400,
     {9, 20}},
    {COMPUTES,
     {"sharpen_rows < apply_filter < on_click < dispatch_task < run_loop < start_program",
      "inflate_rows < apply_filter < on_click < dispatch_task < run_loop < start_program"},
     900,
     {0, 12}},
    {COMPUTES,
     {"compare_dates < sort_by_date < open_album < on_click < dispatch_task < run_loop < start_program",
      "read_index < open_album < on_click < dispatch_task < run_loop < start_program",
      "compare_dates < sort_by_date < open_album < on_click < dispatch_task < run_loop < start_program"},
     700,
     {8, 7}},
    {SLEEPS, {"flush_log < handle_timer < run_loop < start_program"}, 600, {6, 0}},
};
enum {
    KINDS = sizeof(kinds) / sizeof(kinds[0])
};

static struct {
    const char *library;
    struct sbx_payload_builder *builder;
    int32_t module;
    uint64_t chance;
} it;

static unsigned chance(unsigned below) /* xorshift64: Marsaglia, "Xorshift RNGs", 2003 */
{
    it.chance ^= it.chance << 13;
    it.chance ^= it.chance >> 7;
    it.chance ^= it.chance << 17;
    return (unsigned)(it.chance % below);
}

static uint32_t stack_of(const char *text)
{
    struct sbx_build_frame frames[DEPTH_MAX];
    size_t count = 0;
    char copy[400];
    snprintf(copy, sizeof(copy), "%s", text);
    for (char *rest, *name = strtok_r(copy, " <", &rest); name != NULL && count < DEPTH_MAX;
         name = strtok_r(NULL, " <", &rest)) {
        uint64_t at = sbx_build_symbol(it.library, name);
        if (at == 0) {
            fprintf(stderr, "fleet_sample: %s has no function %s\n", it.library, name);
            exit(1);
        }
        frames[count++] = (struct sbx_build_frame){.module = it.module, .offset = at + 4};
    }
    return sbx_builder_stack(it.builder, frames, count);
}

static void add(struct sbx_build_record record)
{
    sbx_builder_record(it.builder, record);
}

/* The thread computes for the whole time between these moments. */
static void compute(uint32_t thread, int64_t from_ms, int64_t to_ms, const char *const *stacks, size_t count)
{
    uint32_t known[4];
    for (size_t i = 0; i < count; i++)
        known[i] = stack_of(stacks[i]);
    for (int64_t at = from_ms, i = 0; at < to_ms; at += STEP_MS, i++)
        add((struct sbx_build_record){.thread = thread,
                                      .kind = SBX_RECORD_ASYNC,
                                      .op = SBX_OP_NONE,
                                      .begin_us = MS(at),
                                      .end_us = MS(at),
                                      .cpu_us = MS(at + 20000),
                                      .message = thread == 0 ? 1 : 0,
                                      .stack = known[(size_t)i / 6 % count]});
}

static void wait_in(const struct kind *kind, int64_t ms)
{
    struct sbx_build_record record = {
        .begin_us = MS(-ms + 20), .end_us = MS(-10), .message = 1, .stack = stack_of(kind->stacks[0])};
    if (kind->what == WAITS_FOR_LOCK) {
        static const char *const uploading[] = {"upload_photo < uploader_thread"};
        uint32_t uploader = sbx_builder_thread(it.builder, "uploader", 0);
        record.kind = SBX_RECORD_LOCK;
        record.op = SBX_OP_MUTEX_LOCK;
        record.object = 1;
        record.peer = uploader + 1;
        record.wait = 9;
        compute(uploader, -ms - 200, -11, uploading, 1);
        add((struct sbx_build_record){.thread = uploader,
                                      .kind = SBX_RECORD_WAKE,
                                      .op = SBX_OP_MUTEX_LOCK,
                                      .begin_us = MS(-11),
                                      .end_us = MS(-11),
                                      .stack = stack_of(uploading[0]),
                                      .object = 1,
                                      .wait = 9});
    } else if (kind->what == SYNCS) {
        record.kind = SBX_RECORD_SYNC;
        record.op = SBX_OP_FSYNC;
        record.fd_class = SBX_FD_REGULAR;
        record.object = 1;
    } else {
        record.kind = SBX_RECORD_SLEEP;
        record.op = SBX_OP_NANOSLEEP;
    }
    add(record);
}

static void build(const struct kind *kind, unsigned version)
{
    size_t stacks = 0;
    while (stacks < 4 && kind->stacks[stacks] != NULL)
        stacks++;
    int64_t ms = kind->ms * (70 + (int64_t)chance(80)) / 100; /* 70 to 150 per cent of the usual length */
    uint32_t loop = stack_of("run_loop < start_program");
    sbx_builder_thread(it.builder, "main", 3);
    for (int64_t at = -4000; at < -ms - 150; at += 220) /* short messages before */
        add((struct sbx_build_record){.kind = SBX_RECORD_MESSAGE,
                                      .op = SBX_OP_EPOLL_WAIT,
                                      .begin_us = MS(at),
                                      .end_us = MS(at + 12),
                                      .message = (uint64_t)(at + 20000),
                                      .stack = loop});
    if (kind->what == COMPUTES)
        compute(0, -ms, -1, kind->stacks, stacks);
    else
        wait_in(kind, ms);
    add((struct sbx_build_record){.kind = SBX_RECORD_MESSAGE,
                                  .op = SBX_OP_EPOLL_WAIT,
                                  .begin_us = MS(-ms),
                                  .end_us = 0,
                                  .message = 1,
                                  .stack = loop});
    Stallbox__V1__Payload *payload = sbx_builder_payload(it.builder);
    static uint8_t machine[16], session[16];
    static uint32_t numbers[3];
    machine[0] = 1;
    machine[4] = (uint8_t)chance(MACHINES);
    for (size_t i = 0; i < sizeof(session); i++)
        session[i] = (uint8_t)chance(256);
    numbers[0] = 2;
    numbers[1] = version;
    numbers[2] = 0;
    payload->rotating_id = (ProtobufCBinaryData){.len = sizeof(machine), .data = machine};
    payload->session_id = (ProtobufCBinaryData){.len = sizeof(session), .data = session};
    payload->app_name = sbx_app_what(APP);
    payload->app_version = numbers;
    payload->n_app_version = 3;
    payload->trigger->duration_us = (uint64_t)MS(ms);
    payload->trigger->history_us = (uint64_t)MS(4000);
    payload->trigger->message = 1;
}

static void write_file(const char *folder, unsigned number)
{
    char path[4096];
    uint8_t *envelope;
    size_t bytes;
    sbx_builder_envelope(it.builder, &envelope, &bytes);
    snprintf(path, sizeof(path), "%s/%u.sbx", folder, number);
    FILE *out = fopen(path, "wb");
    if (out == NULL || fwrite(envelope, 1, bytes, out) != bytes || fclose(out) != 0) {
        perror(path);
        exit(1);
    }
    free(envelope);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--app") == 0) {
        printf("%010llx\n", (unsigned long long)sbx_app_what(APP));
        return 0;
    }
    if (argc != 4) {
        fprintf(stderr, "usage: %s LIBRARY FOLDER DAY\n", argv[0]);
        return 2;
    }
    it.library = argv[1];
    unsigned day = (unsigned)strtoul(argv[3], NULL, 10), number = 0;
    it.chance = 88172645463325252u + day;
    for (unsigned version = 2; version <= (day < DAY_OF_2_3 ? 2 : 3); version++) {
        for (size_t k = 0; k < KINDS; k++) {
            int of = kinds[k].a_day[version - 2];
            of = day >= DAY_OF_2_3 && version == 2 ? of / 2 : of;
            for (int left = of == 0 ? 0 : of - 2 + (int)chance(5); left > 0; left--) {
                it.builder = sbx_payload_builder_create(day * 100000 + ++number);
                it.module = sbx_builder_module_file(it.builder, 1, it.library, NULL);
                if (it.module < 0) {
                    fprintf(stderr, "%s: %s has no build-id\n", argv[0], it.library);
                    return 1;
                }
                build(&kinds[k], version);
                write_file(argv[2], number);
                sbx_payload_builder_destroy(it.builder);
            }
        }
    }
    return 0;
}
