/* SPDX-License-Identifier: Apache-2.0 */
/* page_sample.c - writes stalls of a made-up photo album to files, to be sent to a server and looked at: page_sample
 * LIBRARY FOLDER
 *
 * LIBRARY is page_functions.c. Ten seconds of history, of which two are judged. The main thread decodes photos in a
 * task that the thread `pool` queued. `pool` queued it in a task of its own, which the thread `disk` had queued.
 * Meanwhile the main thread waits for a lock that `pool` releases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "payload_builder.h"

enum {
    STALLS = 6,
    DEPTH_MAX = 16,
    ROWS_MAX = 4000,
};
#define MS(ms) ((int64_t)(ms)*1000)

static struct sbx_payload_builder *builder;
static const char *library;
static int32_t module;

/* "leaf < caller < outermost" */
static uint32_t stack_of(const char *text)
{
    struct sbx_build_frame frames[DEPTH_MAX];
    size_t count = 0;
    char copy[400];
    snprintf(copy, sizeof(copy), "%s", text);
    for (char *rest, *name = strtok_r(copy, " <", &rest); name != NULL && count < DEPTH_MAX;
         name = strtok_r(NULL, " <", &rest)) {
        uint64_t at = sbx_build_symbol(library, name);
        if (at == 0) {
            fprintf(stderr, "page_sample: %s has no function %s\n", library, name);
            exit(1);
        }
        frames[count++] = (struct sbx_build_frame){.module = module, .offset = at + 4};
    }
    return sbx_builder_stack(builder, frames, count);
}

static struct row {
    struct sbx_build_record record;
    size_t order;
} rows[ROWS_MAX];
static size_t row_count;

static void add(struct sbx_build_record record)
{
    if (row_count == ROWS_MAX) {
        fputs("page_sample: too many rows\n", stderr);
        exit(1);
    }
    rows[row_count] = (struct row){record, row_count};
    row_count++;
}

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->record.end_us != b->record.end_us)
        return a->record.end_us < b->record.end_us ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* The rows of a thread must be added in the order of their ends. */
static void put_rows(void)
{
    qsort(rows, row_count, sizeof(rows[0]), compare_rows);
    for (size_t i = 0; i < row_count; i++)
        sbx_builder_record(builder, rows[i].record);
    row_count = 0;
}

static void compute(uint32_t thread, int64_t from_ms, int64_t to_ms, uint64_t message, const char *const *stacks,
                    size_t count)
{
    for (int64_t at = from_ms, i = 0; at < to_ms; at += 5, i++) {
        add((struct sbx_build_record){.thread = thread,
                                      .kind = SBX_RECORD_ASYNC,
                                      .op = SBX_OP_NONE,
                                      .begin_us = MS(at),
                                      .end_us = MS(at),
                                      .cpu_us = MS(at + 11000),
                                      .message = message,
                                      .stack = stack_of(stacks[((size_t)i / 8) % count])});
    }
}

static void task(uint32_t runner, uint32_t from, int64_t queued_ms, int64_t begun_ms, int64_t ended_ms, uint8_t op,
                 uint32_t wait, const char *stack)
{
    add((struct sbx_build_record){.thread = runner,
                                  .kind = SBX_RECORD_HOP,
                                  .op = op,
                                  .begin_us = MS(queued_ms),
                                  .end_us = MS(begun_ms),
                                  .peer = from + 1,
                                  .wait = wait,
                                  .amount = 3});
    add((struct sbx_build_record){.thread = runner,
                                  .kind = SBX_RECORD_TASK,
                                  .op = op,
                                  .begin_us = MS(begun_ms),
                                  .end_us = MS(ended_ms),
                                  .stack = stack_of(stack),
                                  .wait = wait});
}

static void build(void)
{
    static const char *const decoding[] = {
        "parse_header < decode_photo < on_photo_ready < dispatch_task < run_loop < start_program",
        "inflate_rows < decode_photo < on_photo_ready < dispatch_task < run_loop < start_program",
        "inflate_rows < decode_photo < on_photo_ready < dispatch_task < run_loop < start_program",
        "blur_rows < decode_photo < on_photo_ready < dispatch_task < run_loop < start_program",
    };
    static const char *const ticking[] = {"handle_timer < run_loop < start_program"};
    static const char *const writing[] = {"write_cache < load_folder < pool_thread"};
    uint32_t main_thread = sbx_builder_thread(builder, "main", 3), pool = sbx_builder_thread(builder, "pool", 0),
             disk = sbx_builder_thread(builder, "disk", 0);
    uint32_t idle = stack_of("run_loop < start_program");
    task(main_thread, pool, -2030, -1990, -1, SBX_OP_G_IDLE_ADD, 1, "load_folder < pool_thread");
    task(pool, disk, -2107, -2100, -400, SBX_OP_G_THREAD_POOL_PUSH, 2, "watch_disk < disk_thread");
    for (int at = -9800; at < -2100; at += 400) { /* short messages before */
        compute(main_thread, at, at + 30, (uint64_t)(at + 20000), ticking, 1);
        add((struct sbx_build_record){.thread = main_thread,
                                      .kind = SBX_RECORD_MESSAGE,
                                      .begin_us = MS(at),
                                      .end_us = MS(at + 32),
                                      .message = (uint64_t)(at + 20000),
                                      .stack = idle});
    }
    compute(main_thread, -1990, -1400, 1, decoding, 4);
    add((struct sbx_build_record){
        .thread = main_thread,
        .kind = SBX_RECORD_LOCK,
        .op = SBX_OP_MUTEX_LOCK,
        .begin_us = MS(-1400),
        .end_us = MS(-800),
        .message = 1,
        .stack = stack_of("take_cache_lock < decode_photo < on_photo_ready < dispatch_task < run_loop < start_program"),
        .peer = pool + 1,
        .object = 1,
        .wait = 9});
    compute(main_thread, -795, -1, 1, decoding, 4);
    add((struct sbx_build_record){.thread = main_thread,
                                  .kind = SBX_RECORD_MESSAGE,
                                  .begin_us = MS(-2000),
                                  .end_us = 0,
                                  .message = 1,
                                  .stack = idle});
    compute(pool, -2100, -800, 0, writing, 1);
    add((struct sbx_build_record){.thread = pool,
                                  .kind = SBX_RECORD_WAKE,
                                  .op = SBX_OP_MUTEX_LOCK,
                                  .begin_us = MS(-801),
                                  .end_us = MS(-801),
                                  .stack = stack_of("write_cache < load_folder < pool_thread"),
                                  .object = 1,
                                  .wait = 9});
    compute(pool, -795, -400, 0, writing, 1);
    Stallbox__V1__Payload *payload = sbx_builder_payload(builder);
    payload->trigger->duration_us = 2000000;
    payload->trigger->history_us = 10000000;
    payload->trigger->message = 1;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s LIBRARY FOLDER\n", argv[0]);
        return 2;
    }
    library = argv[1];
    for (uint64_t seed = 1; seed <= STALLS; seed++) {
        char path[4096];
        uint8_t *envelope;
        size_t bytes;
        builder = sbx_payload_builder_create(seed);
        module = sbx_builder_module_file(builder, 1, library, NULL);
        if (module < 0) {
            fprintf(stderr, "%s: %s has no build-id\n", argv[0], library);
            return 1;
        }
        build();
        put_rows();
        sbx_builder_envelope(builder, &envelope, &bytes);
        snprintf(path, sizeof(path), "%s/%u.sbx", argv[2], (unsigned)seed);
        FILE *out = fopen(path, "wb");
        if (out == NULL || fwrite(envelope, 1, bytes, out) != bytes || fclose(out) != 0) {
            perror(path);
            return 1;
        }
        free(envelope);
        sbx_payload_builder_destroy(builder);
    }
    return 0;
}
