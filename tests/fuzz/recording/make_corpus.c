/* SPDX-License-Identifier: Apache-2.0 */
/* make_corpus.c - writes the seeds of corpus/ again, after a change of the layout.
 *
 *  make_recording_corpus FOLDER
 *
 * Real recordings of a few KiB, made by the builder of the unit tests. They are small because a fuzzer tries to change
 * every byte. */
#include <stdio.h>
#include <string.h>

#include "recording_builder.h"
#include "sample_run.h"

static void save(const struct sbx_recording_builder *builder, const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    sbx_recording_save(builder, path);
}

/* One thread in a message, with samples and a wait, all in one chunk. */
static struct sbx_recording_builder *make_plain(void)
{
    const struct sbx_recording_shape shape = {2, 3, 32, 32, 2, 2};
    struct sbx_recording_builder *builder = sbx_recording_builder_create(shape, NULL);
    builder->header->pid = 4000;
    sbx_recording_add_module(builder, "/usr/bin/application", 0x550000000000, 0x10000, SBX_MODULE_MAIN);
    sbx_recording_add_module(builder, "/usr/lib/libc.so.6", 0x7f0000000000, 0x20000, 0);
    sbx_recording_add_thread(builder, 4000, "application", 1);
    sbx_recording_add_thread(builder, 4001, "observer", 0);
    const struct sbx_built_frame frames[] = {{1, 0x4000, 0}, {0, 0x1100, 0}, {0, 0x1200, 0}};
    uint32_t deep = sbx_recording_add_stack(builder, frames, 3, SBX_WALK_COMPLETE);
    uint32_t broken_off = sbx_recording_add_stack(builder, frames, 1, SBX_WALK_NO_ROW);
    for (uint64_t i = 0; i < 8; i++) {
        struct sbx_record sample = {.kind = SBX_RECORD_ALLOC,
                                    .op = SBX_OP_MALLOC,
                                    .stack = deep,
                                    .begin_ns = 5000 + i * 100,
                                    .end_ns = 5000 + i * 100,
                                    .cpu_ns = 900 + i,
                                    .alloc_count = i,
                                    .message = 1};
        struct sbx_record wait = {.kind = SBX_RECORD_LOCK,
                                  .op = SBX_OP_MUTEX_LOCK,
                                  .stack = broken_off,
                                  .peer = 4001,
                                  .begin_ns = 5000 + i * 100,
                                  .end_ns = 5050 + i * 100,
                                  .object = 0x1000,
                                  .message = 1};
        sbx_recording_put(builder, &sample);
        sbx_recording_put(builder, &wait);
        sbx_recording_put_observed(builder, 1, &wait);
    }
    sbx_recording_add_watch(builder, SBX_WATCH_WATCHDOG, "observer", 500, 5500, 1);
    sbx_recording_add_watch(builder, SBX_WATCH_DEADLINE, "save", 1, 5000, 0);
    const struct sbx_trigger_entry trigger = {.watch = 2,
                                              .kind = SBX_TRIGGER_SLOW_MESSAGE,
                                              .begin_ns = 5000,
                                              .end_ns = 6000,
                                              .message = 1,
                                              .threshold_ms = 1000};
    sbx_recording_set_trigger(builder, &trigger);
    return builder;
}

/* The snapshot of a process whose thread waited for another process, with the recording of that process behind it. */
static void save_with_guest(const char *folder)
{
    char path[1024], guest[1024];
    struct sbx_recording_builder *builder = make_plain();
    uint64_t bytes = builder->header->file_bytes;
    builder->header->pid = 3000;
    builder->header->holders[0] = (struct sbx_holder_entry){.thread = 0,
                                                            .pid = 4000,
                                                            .tid = 4001,
                                                            .kind = SBX_HOLDER_MUTEX,
                                                            .begin_ns = 5100,
                                                            .seen_ns = 5900,
                                                            .object = 0x1000};
    builder->header->guests[0] = (struct sbx_guest_entry){.at = bytes, .bytes = bytes};
    snprintf(path, sizeof path, "%s/guest.raw", folder);
    snprintf(guest, sizeof guest, "%s/plain.raw", folder);
    sbx_recording_save(builder, path);
    sbx_recording_builder_destroy(builder);
    FILE *from = fopen(guest, "rb"), *to = fopen(path, "ab");
    for (int letter; from != NULL && to != NULL && (letter = getc(from)) != EOF;) {
        putc(letter, to);
    }
    if (from == NULL || to == NULL || fclose(from) != 0 || fclose(to) != 0) {
        perror(path);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    struct sbx_recording_builder *builder = make_plain();
    save(builder, argv[1], "plain.raw");
    save_with_guest(argv[1]);

    struct sbx_trigger_entry trigger = builder->header->trigger;
    builder->header->trigger = (struct sbx_trigger_entry){
        .kind = SBX_TRIGGER_END, .ended = SBX_END_DIED, .signal = 9, .begin_ns = 1000, .end_ns = 9000, .first_id = {7}};
    save(builder, argv[1], "ended.raw");
    builder->header->trigger = trigger;

    sbx_recording_reuse_thread(builder, 0, 5000, "second", 9000); /* records of a thread whose entry was reused */
    save(builder, argv[1], "reused_thread.raw");

    struct sbx_record look = {.kind = SBX_RECORD_LEAF,
                              .op = SBX_OP_READ,
                              .stack = builder->threads[0].last_stack,
                              .begin_ns = 9100,
                              .end_ns = 9100,
                              .cpu_ns = 1000};
    struct sbx_repeat *runs[] = {&builder->threads[0].own, &builder->threads[1].observed};
    for (int i = 0; i < 2; i++) { /* runs that are not yet in the ring, one of a former thread; and a long record */
        sbx_recording_put(builder, &look);
        sbx_run_begin(runs[i], &look);
        look.begin_ns = look.end_ns += 500;
        sbx_run_extend(runs[i], &look);
        look.kind = SBX_RECORD_BLOCKED;
    }
    builder->threads[1].run_generation = 77;
    builder->threads[1].run_tid = 4007;
    struct sbx_record told = {.kind = SBX_RECORD_WAIT,
                              .op = SBX_OP_SEM_WAIT,
                              .stack = look.stack,
                              .wait = 9,
                              .peer = 4001,
                              .begin_ns = 9000,
                              .end_ns = 10000,
                              .flags = SBX_FLAG_USAGE,
                              .minor_faults = 300,
                              .major_faults = 4,
                              .voluntary_switches = 50,
                              .involuntary_switches = 6};
    sbx_recording_put(builder, &told);
    save(builder, argv[1], "runs.raw");

    builder->table.node_used[1] = builder->table.node_mask + 1; /* stacks of two epochs, some of them stale */
    sbx_callstack_table_turn_if_full(&builder->table);
    save(builder, argv[1], "turned_epoch.raw");

    uint64_t *half = builder->table.nodes + builder->table.node_mask + 1; /* a circle of parents */
    uint32_t frame =
        sbx_frame_intern(&builder->table, 1, sbx_frame_word(900, 1, 0)); /* and a frame of no known module */
    half[1] = UINT64_C(1) << SBX_NODE_TAG_SHIFT | UINT64_C(2) << SBX_NODE_PARENT_SHIFT | frame;
    half[2] = UINT64_C(1) << SBX_NODE_TAG_SHIFT | UINT64_C(1) << SBX_NODE_PARENT_SHIFT | frame;
    save(builder, argv[1], "circle.raw");
    sbx_recording_builder_destroy(builder);
    return 0;
}
