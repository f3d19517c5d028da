/* SPDX-License-Identifier: Apache-2.0 */
/* test_snapshot_copy.c - a copy that is taken while writers go on holds only data that was written (the guarantees C1
 * to C3). */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "order.h"
#include "recording_builder.h"
#include "sample_run.h"
#include "snapshot_copy.h"

static const uint8_t an_id[16] = {0xde, 0xad, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
static const struct sbx_trigger_entry a_trigger = {
    .kind = SBX_TRIGGER_ANR, .thread = 0, .begin_ns = 100, .end_ns = 9000, .threshold_ms = 5, .in_progress = 1};
static uint64_t scratch[SBX_COPY_SCRATCH_MIN / sizeof(uint64_t)];

static int temporary_file(void)
{
    char path[] = "/tmp/stallbox-test-copy-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    return fd;
}

static int copy_to(const struct sbx_recording_builder *builder, int fd)
{
    return sbx_snapshot_copy(builder->header, fd, &a_trigger, an_id, 12345, scratch, sizeof scratch);
}

/* Read a copied file back. */
static struct sbx_snapshot *read_copy(int fd)
{
    char path[32], why[160] = "";
    struct sbx_snapshot *snapshot = NULL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (sbx_snapshot_read_file(path, &snapshot, why, sizeof why) != 0) {
        fail_msg("the copy %s", why);
    }
    return snapshot;
}

static struct sbx_record plain_record(uint32_t thread, uint64_t number)
{
    return (struct sbx_record){.kind = SBX_RECORD_FILE,
                               .op = SBX_OP_READ,
                               .thread = thread,
                               .begin_ns = number * 10,
                               .end_ns = (number * 10 + 5) * SBX_TIME_UNIT_NS,
                               .amount = number};
}

static void test_copy_of_a_resting_recording_equals_it(void **unused)
{
    (void)unused;
    struct sbx_recording_builder *builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_FULL, NULL);
    const struct sbx_built_frame frames[] = {{0, 0x100, 0}, {0, 0x200, 0}};
    sbx_recording_add_module(builder, "/usr/bin/application", 0x550000000000, 0x1000, SBX_MODULE_MAIN);
    sbx_recording_add_thread(builder, 10, "main", 1);
    sbx_recording_add_thread(builder, 11, "other", 0);
    uint32_t stack = sbx_recording_add_stack(builder, frames, 2, SBX_WALK_COMPLETE);
    for (uint64_t i = 1; i <= 3000; i++) {
        struct sbx_record record = plain_record(i % 2, i);
        record.stack = stack;
        assert_int_equal(sbx_recording_put(builder, &record), 1);
    }
    builder->header->drops[SBX_DROP_NESTED] = 4;
    int fd = temporary_file();
    assert_int_equal(copy_to(builder, fd), 0);

    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_size, builder->header->file_bytes);
    assert_true((uint64_t)status.st_blocks * 512 <
                builder->header->file_bytes / 4); /* holes where nothing was written */

    struct sbx_snapshot *copy = read_copy(fd), *original = sbx_recording_read_back(builder);
    assert_int_equal(copy->header.state, SBX_STATE_SNAPSHOT);
    assert_memory_equal(copy->header.snapshot_id, an_id, 16);
    assert_memory_equal(&copy->header.trigger, &a_trigger, sizeof a_trigger);
    assert_int_equal(copy->header.snapshot_ns, 12345);
    assert_int_equal(copy->drops[SBX_DROP_NESTED], 4);
    assert_int_equal(copy->drops[SBX_DROP_TORN_CHUNK], 0);
    assert_memory_equal(copy->header.session_id, original->header.session_id, 16);
    assert_memory_equal(&copy->settings, &original->settings, sizeof copy->settings);
    assert_int_equal(copy->module_count, 1);
    assert_memory_equal(copy->modules, original->modules, sizeof *copy->modules);
    assert_int_equal(copy->thread_count, 2);
    for (uint32_t i = 0; i < 2; i++) { /* equal except for the fields of run copies */
        assert_memory_equal(&copy->threads[i].entry, &original->threads[i].entry,
                            offsetof(struct sbx_thread_entry, own));
        assert_memory_equal(&copy->threads[i].entry.own, &original->threads[i].entry.own, sizeof(struct sbx_repeat));
        assert_int_equal(copy->threads[i].entry.run_generation, original->threads[i].entry.generation);
    }
    assert_int_equal(copy->record_count, 3000);
    for (size_t i = 0; i < 3000; i++) {
        assert_int_equal(copy->records[i].amount, i + 1);
        assert_int_equal(copy->records[i].thread, (i + 1) % 2);
        assert_int_equal(sbx_snapshot_stack(copy, copy->records[i].stack, NULL, 0), 2);
    }
    sbx_snapshot_destroy(copy);
    sbx_snapshot_destroy(original);
    close(fd);
    sbx_recording_builder_destroy(builder);
}

/* ---- C1, C2: what happens at the worst moment of a copy ---- */

/* A page of the recording cannot be read at first, so the copy faults there. The fault's handler does what writers
 * might do at that moment and makes the page readable. Then the copy goes on. */
static struct {
    struct sbx_recording_builder *builder;
    uint8_t *page;
    void (*happen)(struct sbx_recording_builder *builder);
    unsigned interruptions;
} in_between;

static void interrupt(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)context;
    if ((uint8_t *)info->si_addr < in_between.page || (uint8_t *)info->si_addr >= in_between.page + 4096 ||
        mprotect(in_between.page, 4096, PROT_READ | PROT_WRITE) != 0) {
        _exit(3); /* some other fault: a failed test, not an endless one */
    }
    in_between.interruptions++;
    in_between.happen(in_between.builder);
}

/* Copy, and call `happen` when the copy first touches the page at `page_at`. */
static struct sbx_snapshot *copy_with_interruption(struct sbx_recording_builder *builder, uint64_t page_at,
                                                   void (*happen)(struct sbx_recording_builder *builder))
{
    struct sigaction action = {.sa_sigaction = interrupt, .sa_flags = SA_SIGINFO}, before;
    in_between.builder = builder;
    in_between.page = (uint8_t *)builder->header + page_at;
    in_between.happen = happen;
    in_between.interruptions = 0;
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    assert_int_equal(mprotect(in_between.page, 4096, PROT_NONE), 0);
    int fd = temporary_file();
    assert_int_equal(copy_to(builder, fd), 0);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    assert_int_equal(in_between.interruptions, 1);
    struct sbx_snapshot *snapshot = read_copy(fd);
    close(fd);
    return snapshot;
}

/* Two threads; the first has 400 records in chunk 0, which fill more than half of it. The chunks begin half a page
 * later than usual, so the copy has already read the state of chunk 0 when it comes to the page at *page_at_out. */
static struct sbx_recording_builder *make_chunk_across_two_pages(uint64_t *page_at_out)
{
    struct sbx_recording_builder *builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, NULL);
    builder->header->chunks.at += 2048;
    builder->header->chunks.count--;
    sbx_ring_init(&builder->ring, builder->header);
    sbx_recording_add_thread(builder, 10, "main", 1);
    sbx_recording_add_thread(builder, 11, "other", 0);
    for (uint64_t i = 0; i < 400; i++) {
        struct sbx_record record = plain_record(0, i);
        assert_int_equal(sbx_recording_put(builder, &record), 1);
    }
    assert_true(builder->ring.chunks[0].committed > 2048);
    *page_at_out = builder->header->chunks.at + 2048;
    return builder;
}

static void recycle_chunk(struct sbx_recording_builder *builder)
{
    sbx_ring_close(&builder->writers[0]);
    builder->header->ring_ticket = builder->header->chunks.count; /* the next ticket is chunk 0's again */
    for (uint64_t i = 0; i < 400; i++) {
        struct sbx_record record = plain_record(1, 5000 + i);
        sbx_recording_put(builder, &record);
    }
}

static void test_chunk_recycled_during_the_copy_is_counted_and_not_misread(void **unused)
{
    (void)unused;
    uint64_t page_at;
    struct sbx_recording_builder *builder = make_chunk_across_two_pages(&page_at);
    struct sbx_snapshot *snapshot = copy_with_interruption(builder, page_at, recycle_chunk);
    assert_int_equal(snapshot->drops[SBX_DROP_TORN_CHUNK], 1);
    assert_int_equal(snapshot->drops[SBX_DROP_BAD_RECORD], 0);
    for (size_t i = 0; i < snapshot->record_count; i++) { /* nothing of the old content; new records are complete */
        assert_int_equal(snapshot->records[i].thread, 1);
        assert_int_equal(snapshot->records[i].end_ns, (snapshot->records[i].amount * 10 + 5) * SBX_TIME_UNIT_NS);
    }
    sbx_snapshot_destroy(snapshot);
    sbx_recording_builder_destroy(builder);
}

static void put_one_more(struct sbx_recording_builder *builder)
{
    struct sbx_record record = plain_record(0, 999);
    sbx_recording_put(builder, &record);
}

static void test_record_put_during_the_copy_is_left_to_the_next_one(void **unused)
{
    (void)unused;
    uint64_t page_at;
    struct sbx_recording_builder *builder = make_chunk_across_two_pages(&page_at);
    struct sbx_snapshot *snapshot = copy_with_interruption(builder, page_at, put_one_more);
    assert_int_equal(snapshot->drops[SBX_DROP_TORN_CHUNK], 0);
    assert_int_equal(snapshot->record_count, 400);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        assert_int_equal(snapshot->records[i].amount, i);
    }
    sbx_snapshot_destroy(snapshot);
    sbx_recording_builder_destroy(builder);
}

/* Put a record about a thread and in a module that did not exist when the copy began. */
static void put_news(struct sbx_recording_builder *builder)
{
    uint32_t module = sbx_recording_add_module(builder, "/usr/lib/new.so", 0x7e0000000000, 0x1000, 0);
    const struct sbx_built_frame frame = {module, 0x77, 0};
    uint32_t thread = sbx_recording_add_thread(builder, 12, "new", 0);
    struct sbx_record record = plain_record(thread, 999);
    record.stack = sbx_recording_add_stack(builder, &frame, 1, SBX_WALK_COMPLETE);
    sbx_recording_put_observed(builder, 0, &record);
}

static void test_what_a_copied_record_refers_to_is_in_the_copy(void **unused)
{
    (void)unused;
    struct sbx_recording_builder *builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, NULL);
    sbx_recording_add_thread(builder, 10, "main", 1);
    put_one_more(builder); /* opens chunk 0, which has a page of its own */
    struct sbx_snapshot *snapshot = copy_with_interruption(builder, builder->header->chunks.at, put_news);
    uint64_t frame;
    assert_int_equal(snapshot->record_count, 2);
    assert_int_equal(snapshot->thread_count, 2);
    const struct sbx_record *news = &snapshot->records[snapshot->records[0].stack != 0 ? 0 : 1];
    assert_string_equal(snapshot->threads[news->thread].entry.name, "new");
    assert_int_equal(sbx_snapshot_stack(snapshot, news->stack, &frame, 1), 1);
    assert_int_equal(frame, sbx_frame_word(0, 0x77, 0));
    assert_string_equal(snapshot->modules[0].path, "/usr/lib/new.so");
    assert_int_equal(snapshot->drops[SBX_DROP_STALE_STACK], 0);
    sbx_snapshot_destroy(snapshot);
    sbx_recording_builder_destroy(builder);
}

/* A thread and its module begin after the copy has passed their tables. */
static void add_latecomers(struct sbx_recording_builder *builder)
{
    sbx_recording_add_module(builder, "/usr/lib/late.so", 0x7e0000000000, 0x1000, 0);
    sbx_recording_add_thread(builder, 12, "late", 0);
}

static void test_what_begins_after_its_table_was_copied_is_not_part_of_the_copy(void **unused)
{
    (void)unused;
    struct sbx_recording_builder *builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, NULL);
    sbx_recording_add_thread(builder, 10, "main", 1);
    struct sbx_snapshot *snapshot = copy_with_interruption(builder, builder->header->frames.at, add_latecomers);
    assert_int_equal(snapshot->thread_count, 1); /* no entry that is all zero */
    assert_int_equal(snapshot->module_count, 1); /* modules come after frames */
    sbx_snapshot_destroy(snapshot);
    sbx_recording_builder_destroy(builder);
}

/* ---- C3: runs ---- */

enum {
    RUN_LOOKS = 4
};

/* Time steps that a sample can represent exactly. */
#define LOOK_NS(number) (50 * SBX_SAMPLE_UNIT_NS + (number)*SBX_SAMPLE_UNIT_NS)

static uint32_t run_stack;

/* Put a sample of thread 0 as capture does: the first of a run goes into the ring, the later ones into the run. */
static void look(struct sbx_recording_builder *builder, uint64_t number)
{
    struct sbx_repeat *run = &builder->threads[0].own;
    struct sbx_record record = {.kind = SBX_RECORD_ALLOC,
                                .op = SBX_OP_MALLOC,
                                .thread = 0,
                                .stack = run_stack,
                                .begin_ns = LOOK_NS(number),
                                .end_ns = LOOK_NS(number),
                                .cpu_ns = number};
    if (!sbx_run_extend(run, &record)) {
        sbx_recording_put(builder, &record);
        sbx_run_begin(run, &record);
    }
}

static void tell_run(struct sbx_recording_builder *builder)
{
    struct sbx_record record;
    look(builder, RUN_LOOKS); /* one more look: the ring's record is then newer */
    assert_true(sbx_run_tell(&builder->threads[0].own, 0, &record));
    sbx_recording_put(builder, &record);
    sbx_run_end(&builder->threads[0].own);
}

static struct sbx_recording_builder *make_run(void)
{
    struct sbx_recording_builder *builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, NULL);
    const struct sbx_built_frame frame = {0, 0x77, 0};
    sbx_recording_add_module(builder, "/usr/bin/application", 0x550000000000, 0x1000, SBX_MODULE_MAIN);
    sbx_recording_add_thread(builder, 10, "main", 1);
    run_stack = sbx_recording_add_stack(builder, &frame, 1, SBX_WALK_COMPLETE);
    for (uint64_t i = 0; i < RUN_LOOKS; i++) {
        look(builder, i);
    }
    return builder;
}

/* Exactly one record represents the run, and it stands for `repeats` looks. */
static void assert_one_run(struct sbx_snapshot *snapshot, uint32_t repeats)
{
    size_t runs = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->repeats != 0) {
            runs++;
            assert_int_equal(record->repeats, repeats);
            assert_int_equal(record->begin_ns, LOOK_NS(0));
            assert_int_equal(record->end_ns, LOOK_NS(repeats));
            assert_int_equal(record->thread, 0);
            assert_int_equal(sbx_snapshot_stack(snapshot, record->stack, NULL, 0), 1);
        }
    }
    assert_int_equal(runs, 1);
    assert_int_equal(snapshot->drops[SBX_DROP_TORN_RUN], 0);
    sbx_snapshot_destroy(snapshot);
}

static void test_run_that_was_not_told_is_read_from_its_thread(void **unused)
{
    (void)unused;
    struct sbx_recording_builder *builder = make_run();
    assert_one_run(sbx_recording_read_back(builder), RUN_LOOKS - 1); /* as after the process was killed */
    int fd = temporary_file();
    assert_int_equal(copy_to(builder, fd), 0);
    assert_one_run(read_copy(fd), RUN_LOOKS - 1);
    close(fd);
    tell_run(builder);
    assert_one_run(sbx_recording_read_back(builder), RUN_LOOKS);
    sbx_recording_builder_destroy(builder);
}

static void test_run_told_between_the_copies_of_runs_and_ring_is_told_once(void **unused)
{
    (void)unused;
    struct sbx_recording_builder *builder = make_run();
    assert_one_run(copy_with_interruption(builder, builder->header->chunks.at, tell_run), RUN_LOOKS);
    sbx_recording_builder_destroy(builder);
}

static void test_run_told_after_the_ring_was_copied_is_not_lost(void **unused)
{
    (void)unused;
    struct sbx_recording_builder *builder = make_run();
    assert_one_run(copy_with_interruption(builder, builder->header->nodes.at, tell_run), RUN_LOOKS - 1);
    sbx_recording_builder_destroy(builder);
}

static void give_entry_away(struct sbx_recording_builder *builder)
{
    sbx_recording_reuse_thread(builder, 0, 77, "next", 500000);
}

static void test_run_of_a_thread_that_ended_during_the_copy_is_not_its_successors(void **unused)
{
    (void)unused;
    struct sbx_recording_builder *builder = make_run();
    struct sbx_snapshot *snapshot = copy_with_interruption(builder, builder->header->chunks.at, give_entry_away);
    assert_int_equal(snapshot->threads[0].entry.tid, 77);
    assert_int_equal(snapshot->record_count, 2);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        assert_int_equal(snapshot->records[i].thread, 1); /* both belong to the same former thread */
        assert_int_equal(snapshot->threads[1].entry.tid, 10);
    }
    sbx_snapshot_destroy(snapshot);
    sbx_recording_builder_destroy(builder);
}

static void test_run_written_down_when_the_next_thread_sat_there_is_not_the_next_ones(void **unused)
{
    (void)unused;
    struct sbx_recording_builder *builder = make_run();
    struct sbx_repeat seen = builder->threads[0].own;
    give_entry_away(builder);
    assert_true(seen.end_ns < builder->threads[0].born_ns);
    builder->threads[0].observed = seen;
    struct sbx_snapshot *snapshot = sbx_recording_read_back(builder);
    assert_int_equal(snapshot->threads[0].entry.tid, 77);
    assert_int_equal(snapshot->record_count, 2);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        assert_int_not_equal(snapshot->records[i].thread, 0);
    }
    sbx_snapshot_destroy(snapshot);
    sbx_recording_builder_destroy(builder);
}

static void test_run_that_is_being_written_is_counted_and_left_out(void **unused)
{
    (void)unused;
    struct sbx_recording_builder *builder = make_run();
    sbx_run_open(&builder->threads[0].own); /* the writer was killed at this point */
    int fd = temporary_file();
    assert_int_equal(copy_to(builder, fd), 0);
    struct sbx_snapshot *snapshot = read_copy(fd);
    assert_int_equal(snapshot->record_count, 1);
    assert_int_equal(snapshot->drops[SBX_DROP_TORN_RUN], 1);
    sbx_snapshot_destroy(snapshot);
    close(fd);
    sbx_recording_builder_destroy(builder);
}

static void test_runs_of_nonsense_are_no_records(void **unused)
{
    (void)unused;
    struct sbx_recording_builder *builder = make_run();
    struct sbx_repeat *run = &builder->threads[0].own, good = *run;
    run->kind = SBX_RECORD_LOCK; /* not a sample */
    struct sbx_snapshot *snapshot = sbx_recording_read_back(builder);
    assert_int_equal(snapshot->drops[SBX_DROP_BAD_RECORD], 1);
    sbx_snapshot_destroy(snapshot);
    *run = good;
    run->begin_ns = run->end_ns + 1;
    snapshot = sbx_recording_read_back(builder);
    assert_int_equal(snapshot->drops[SBX_DROP_BAD_RECORD], 1);
    sbx_snapshot_destroy(snapshot);
    *run = good;
    run->op = 250;
    run->flags = 0xff;
    run->fd_class = 99;
    run->stack = 0x01fffff0; /* an id that leads nowhere */
    snapshot = sbx_recording_read_back(builder);
    assert_int_equal(snapshot->record_count, 2);
    const struct sbx_record *record = &snapshot->records[1];
    assert_int_equal(record->op, SBX_OP_NONE);
    assert_int_equal(record->fd_class, SBX_FD_UNKNOWN);
    assert_int_equal(record->flags & SBX_FLAG_USAGE, 0);
    assert_int_equal(record->stack, SBX_STACK_NONE);
    assert_int_equal(snapshot->drops[SBX_DROP_STALE_STACK], 1);
    sbx_snapshot_destroy(snapshot);
    sbx_recording_builder_destroy(builder);
}

/* ---- C1, C2: four writers, epochs turning, copy after copy ---- */

enum {
    WRITERS = 4,
    STACKS = 1500,
    DEPTH = 6,
    COPIES = 40 / ROUNDS_DIVISOR
};

struct crowd {
    struct sbx_recording_builder *builder;
    uint32_t stop;
    uint64_t put[WRITERS];
};

struct crowd_writer {
    struct crowd *crowd;
    uint32_t thread;
};

/* Frame `level` of stack `seed`, leaf at level 0. */
static uint64_t frame_of(uint64_t seed, uint32_t level)
{
    return sbx_frame_word(level % 2, 0x1000 + (seed >> level) * 16 + level, 0);
}

/* Everything in a record is calculated from its thread and number; `object` lets the reader check it. */
static struct sbx_record crowd_record(uint32_t thread, uint64_t number)
{
    struct sbx_record record = {.kind = SBX_RECORD_LOCK,
                                .op = SBX_OP_MUTEX_LOCK,
                                .thread = thread,
                                .begin_ns = number * SBX_TIME_UNIT_NS * 10,
                                .end_ns = (number * 10 + number % 9) * SBX_TIME_UNIT_NS,
                                .cpu_ns = (1 + number * 7) * SBX_TIME_UNIT_NS,
                                .alloc_count = number * 3,
                                .alloc_bytes = number * 77,
                                .message = number / 10,
                                .amount = number};
    record.object = (record.end_ns * 31 + record.cpu_ns) * 31 + record.alloc_bytes * 17 + thread;
    return record;
}

static void *write_in_the_crowd(void *argument)
{
    struct crowd_writer *writer = argument;
    struct crowd *crowd = writer->crowd;
    struct sbx_recording_builder *builder = crowd->builder;
    uint64_t number = 1;
    while (sbx_load_relaxed(&crowd->stop) == 0) {
        struct sbx_record record = crowd_record(writer->thread, number);
        /* One epoch for the whole stack, as captures do: the id of a frame has no meaning two epochs later. */
        uint32_t frame_ids[DEPTH], epoch = sbx_callstack_epoch(&builder->table);
        for (uint32_t level = 0; level < DEPTH; level++) {
            frame_ids[level] = sbx_frame_intern(&builder->table, epoch, frame_of(number % STACKS, level));
        }
        record.stack = sbx_callstack_intern(&builder->table, epoch, frame_ids, DEPTH);
        uint64_t put = crowd->put[writer->thread];
        put += (uint64_t)sbx_ring_put(&builder->ring, &builder->writers[writer->thread], writer->thread, 1,
                                      100 + writer->thread, &record);
        sbx_store_relaxed(&crowd->put[writer->thread], put);
        number++;
        if (number % 5000 == 0) {
            sbx_ring_close(&builder->writers[writer->thread]);
        }
    }
    return NULL;
}

static void check_crowd_copy(const struct sbx_snapshot *snapshot, uint64_t *stacks_seen)
{
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        assert_in_range(record->thread, 0, WRITERS - 1);
        struct sbx_record expected = crowd_record(record->thread, record->amount);
        assert_int_equal(record->object, expected.object);
        assert_int_equal(record->begin_ns, expected.begin_ns);
        assert_int_equal(record->end_ns, expected.end_ns);
        assert_int_equal(record->cpu_ns, expected.cpu_ns);
        assert_int_equal(record->alloc_count, expected.alloc_count);
        assert_int_equal(record->alloc_bytes, expected.alloc_bytes);
        assert_int_equal(record->message, expected.message);
        if (record->stack == SBX_STACK_NONE || record->stack == SBX_STACK_OVERFLOW) {
            continue;
        }
        uint64_t frames[DEPTH];
        assert_int_equal(sbx_snapshot_stack(snapshot, record->stack, frames, DEPTH), DEPTH);
        for (uint32_t level = 0; level < DEPTH; level++) {
            assert_int_equal(frames[level], frame_of(record->amount % STACKS, level));
        }
        ++*stacks_seen;
    }
}

static void test_every_record_of_a_copy_taken_among_writers_is_one_that_was_written(void **unused)
{
    (void)unused;
    struct sbx_recording_shape shape = {4, 8, 16384, 8192, 24, 16}; /* few chunks: recycled all the time */
    struct sbx_recording_builder *builder = sbx_recording_builder_create(shape, NULL);
    struct crowd crowd = {.builder = builder};
    struct crowd_writer writers[WRITERS];
    pthread_t threads[WRITERS];
    sbx_recording_add_module(builder, "/usr/bin/application", 0x550000000000, 0x100000, SBX_MODULE_MAIN);
    sbx_recording_add_module(builder, "/usr/lib/libc.so.6", 0x7f0000000000, 0x100000, 0);
    for (uint32_t i = 0; i < WRITERS; i++) {
        sbx_recording_add_thread(builder, 100 + i, "writer", i == 0);
    }
    for (uint32_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct crowd_writer){&crowd, i};
        assert_int_equal(pthread_create(&threads[i], NULL, write_in_the_crowd, &writers[i]), 0);
    }
    for (uint32_t i = 0; i < WRITERS; i++) { /* every writer must have run, or there is little to copy */
        while (sbx_load_relaxed(&crowd.put[i]) < 1000) {
            sched_yield();
        }
    }
    uint64_t records = 0, stacks = 0, turns = 0;
    for (int i = 0; i < COPIES; i++) {
        int fd = temporary_file();
        assert_int_equal(copy_to(builder, fd), 0);
        struct sbx_snapshot *snapshot = read_copy(fd);
        assert_int_equal(snapshot->drops[SBX_DROP_BAD_RECORD], 0);
        /* There is room. But a writer that did not run while an epoch ended gives up the stack that it was
         * interning. */
        assert_in_range(snapshot->drops[SBX_DROP_FRAME_OVERFLOW], 0, turns * WRITERS * DEPTH);
        assert_int_equal(snapshot->thread_count, WRITERS); /* no extra threads: every chunk was of a known one */
        check_crowd_copy(snapshot, &stacks);
        records += snapshot->record_count;
        sbx_snapshot_destroy(snapshot);
        close(fd);
        if (i % 4 == 3) { /* more often than the table needs it */
            uint32_t epoch = builder->header->epoch;
            sbx_store_relaxed(&builder->table.node_used[epoch & 1], builder->table.node_mask + 1);
            turns += (uint64_t)sbx_callstack_table_turn_if_full(&builder->table);
        }
    }
    sbx_store_relaxed(&crowd.stop, 1);
    for (uint32_t i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_true(records > COPIES * 100);
    assert_true(stacks > records / 4);
    assert_int_equal(turns, COPIES / 4);
    sbx_recording_builder_destroy(builder);
}

/* ---- failures ---- */

static void test_failed_write_is_reported_and_leaves_no_recording(void **unused)
{
    (void)unused;
    struct sbx_recording_builder *builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, NULL);
    struct rlimit limit, small;
    struct sbx_recording_header header = {.magic = {1}};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    int fd = temporary_file();
    small = (struct rlimit){builder->header->file_bytes - 1, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(copy_to(builder, fd), -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    close(fd);

    /* The file gets its length, and then the first write fails. */
    sbx_recording_add_thread(builder, 10, "main", 1);
    struct sbx_record record = plain_record(0, 1);
    assert_int_equal(sbx_recording_put(builder, &record), 1);
    fd = memfd_create("full", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)builder->header->file_bytes), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE),
                     0); /* every write fails, ftruncate to the same length does not */
    assert_int_equal(copy_to(builder, fd), -EPERM);
    assert_int_equal(pread(fd, &header, sizeof header, 0), sizeof header);
    assert_int_equal(header.magic[0], 0); /* C3 */
    close(fd);
    sbx_recording_builder_destroy(builder);
}

static void test_bad_arguments_are_refused_before_anything_is_written(void **unused)
{
    (void)unused;
    struct sbx_recording_builder *builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, NULL);
    int fd = temporary_file();
    struct stat status;
    assert_int_equal(sbx_snapshot_copy(builder->header, fd, NULL, an_id, 1, scratch, sizeof scratch - 8), -EINVAL);
    assert_int_equal(sbx_snapshot_copy(builder->header, fd, NULL, an_id, 1, NULL, sizeof scratch), -EINVAL);
    builder->header->chunks.at = builder->header->file_bytes;
    assert_int_equal(copy_to(builder, fd), -EINVAL);
    builder->header->version = 99;
    assert_int_equal(copy_to(builder, fd), -EPROTO);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_size, 0);
    assert_int_equal(copy_to(builder, -1), -EPROTO);
    builder->header->version = SBX_RECORDING_VERSION;
    builder->header->chunks.at = builder->header->nodes.at;
    assert_int_equal(copy_to(builder, -1), -EBADF);
    close(fd);
    sbx_recording_builder_destroy(builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_that_was_not_told_is_read_from_its_thread),
        cmocka_unit_test(test_run_told_between_the_copies_of_runs_and_ring_is_told_once),
        cmocka_unit_test(test_run_told_after_the_ring_was_copied_is_not_lost),
        cmocka_unit_test(test_run_of_a_thread_that_ended_during_the_copy_is_not_its_successors),
        cmocka_unit_test(test_run_written_down_when_the_next_thread_sat_there_is_not_the_next_ones),
        cmocka_unit_test(test_run_that_is_being_written_is_counted_and_left_out),
        cmocka_unit_test(test_runs_of_nonsense_are_no_records),
        cmocka_unit_test(test_copy_of_a_resting_recording_equals_it),
        cmocka_unit_test(test_chunk_recycled_during_the_copy_is_counted_and_not_misread),
        cmocka_unit_test(test_record_put_during_the_copy_is_left_to_the_next_one),
        cmocka_unit_test(test_what_a_copied_record_refers_to_is_in_the_copy),
        cmocka_unit_test(test_what_begins_after_its_table_was_copied_is_not_part_of_the_copy),
        cmocka_unit_test(test_every_record_of_a_copy_taken_among_writers_is_one_that_was_written),
        cmocka_unit_test(test_failed_write_is_reported_and_leaves_no_recording),
        cmocka_unit_test(test_bad_arguments_are_refused_before_anything_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
