/* SPDX-License-Identifier: Apache-2.0 */
/* test_snapshot.c - the one reader: recorded data comes back; damage costs records, but never breaks the reader. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "whole_recording.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void) /* xorshift64: the same sequence in every run */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void test_recording_comes_back_whole_and_sorted(void **state)
{
    struct whole_recording *fixture = *state;
    fixture->builder->header->drops[SBX_DROP_NESTED] = 3;
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    assert_int_equal(snapshot->module_count, 2);
    assert_string_equal(snapshot->modules[1].path, "/usr/lib/libc.so.6");
    assert_int_equal(snapshot->thread_count, 3);
    assert_string_equal(snapshot->threads[WORKER].entry.name, "worker");
    assert_int_equal(snapshot->threads[WORKER].index, WORKER);
    assert_int_equal(snapshot->settings.anr_ms, 5000);
    assert_int_equal(snapshot->drops[SBX_DROP_NESTED], 3);
    assert_int_equal(snapshot->record_count, 3 * ROUNDS);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        const struct sbx_record *sample = &snapshot->records[3 * i], *wait = sample + 1, *seen = sample + 2;
        assert_int_equal(sample->kind, SBX_RECORD_ALLOC);
        assert_int_equal(sample->thread, MAIN);
        assert_int_equal(sample->end_ns, ROUND_NS(i));
        assert_int_equal(sample->cpu_ns, SBX_SAMPLE_UNIT_NS * (9 + i));
        assert_int_equal(sample->alloc_count, i);
        assert_int_equal(sample->alloc_bytes, i * 64);
        assert_int_equal(sample->message, 1 + i / 50);
        assert_int_equal(sample->stack, fixture->deep);
        assert_int_equal(wait->kind, SBX_RECORD_LOCK);
        assert_int_equal(wait->end_ns - wait->begin_ns, 1024);
        assert_int_equal(wait->object, 0x7ffe00001000);
        assert_int_equal(wait->peer, 4000);
        assert_int_equal(seen->thread, WORKER);
        assert_int_equal(seen->amount, 202);
        assert_int_equal(seen->flags, SBX_FLAG_AT_TRIGGER);
        assert_int_equal(seen->stack, fixture->broken_off);
    }
    sbx_snapshot_destroy(snapshot);
}

static void test_strings_end_within_their_fields(void **state)
{
    struct whole_recording *fixture = *state;
    struct sbx_recording_header *header = fixture->builder->header;
    memset(header->spool_path, 'x', sizeof header->spool_path);
    memset(header->executable_path, 'x', sizeof header->executable_path);
    memset(fixture->builder->modules[0].path, 'x', SBX_PATH_MAX);
    memset(fixture->builder->threads[0].name, 'x', 16);
    fixture->builder->modules[0].build_id_bytes = 4000;
    struct sbx_snapshot *snapshot = sbx_recording_read_back(fixture->builder);
    assert_int_equal(strlen(snapshot->header.spool_path), SBX_PATH_MAX - 1);
    assert_int_equal(strlen(snapshot->header.executable_path), SBX_PATH_MAX - 1);
    assert_int_equal(strlen(snapshot->modules[0].path), SBX_PATH_MAX - 1);
    assert_int_equal(strlen(snapshot->threads[0].entry.name), 15);
    assert_int_equal(snapshot->modules[0].build_id_bytes, SBX_BUILD_ID_MAX);
    sbx_snapshot_destroy(snapshot);
}

static void test_wrong_version_and_wrong_bytes_are_told_apart(void **state)
{
    struct whole_recording *fixture = *state;
    struct sbx_recording_header *header = fixture->builder->header;
    struct sbx_snapshot *snapshot = NULL;
    char why[128];
    header->version++;
    assert_int_equal(sbx_snapshot_read(header, header->file_bytes, &snapshot, why, sizeof why), -EPROTO);
    assert_non_null(strstr(why, "version"));
    header->version--;
    header->layout_hash++;
    assert_int_equal(sbx_snapshot_read(header, header->file_bytes, &snapshot, NULL, 0), -EPROTO);
    header->layout_hash--;
    header->magic[7] = '\r';
    assert_int_equal(sbx_snapshot_read(header, header->file_bytes, &snapshot, why, sizeof why), -EINVAL);
    assert_string_equal(why, "is not a recording");
    assert_null(snapshot);
}

static void test_sections_outside_the_file_are_refused(void **state)
{
    struct whole_recording *fixture = *state;
    struct sbx_recording_header *header = fixture->builder->header;
    struct sbx_section *sections[] = {&header->modules, &header->threads, &header->frames, &header->nodes,
                                      &header->chunks};
    struct sbx_snapshot *snapshot;
    for (size_t i = 0; i < SBX_COUNT_OF(sections); i++) {
        const struct sbx_section good = *sections[i];
        const struct sbx_section bad[] = {
            {UINT64_MAX - 7, good.count, good.entry_bytes}, /* at + size overflows */
            {header->file_bytes, good.count, good.entry_bytes},
            {header->file_bytes - 8, good.count, good.entry_bytes},
            {0, good.count, good.entry_bytes}, /* inside the header */
            {SBX_CONTROL_AT, good.count, good.entry_bytes},
            {good.at + 1, good.count, good.entry_bytes},
            {good.at, UINT32_MAX, good.entry_bytes},
            {good.at, good.count, good.entry_bytes + 8},
            {good.at, good.count, 0},
            {good.at, UINT32_MAX, UINT32_MAX},
        };
        for (size_t j = 0; j < SBX_COUNT_OF(bad); j++) {
            *sections[i] = bad[j];
            assert_int_equal(sbx_snapshot_read(header, header->file_bytes, &snapshot, NULL, 0), -EINVAL);
        }
        *sections[i] = good;
    }
    header->nodes.count--; /* two halves cannot have an odd number of slots */
    assert_int_equal(sbx_snapshot_read(header, header->file_bytes, &snapshot, NULL, 0), -EINVAL);
}

/* A snapshot that is read from mutated bytes must still hold what snapshot.h promises. */
static void check_promises(const struct sbx_snapshot *snapshot)
{
    uint64_t frames[16];
    assert_true(snapshot->thread_count >= 1 && snapshot->header.main_thread < snapshot->thread_count);
    assert_true(snapshot->header.trigger.thread < snapshot->thread_count);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        assert_true(record->thread < snapshot->thread_count);
        assert_true(record->kind > SBX_RECORD_NONE && record->kind < SBX_RECORD_KINDS);
        assert_true(record->begin_ns <= record->end_ns);
        assert_true(i == 0 || snapshot->records[i - 1].end_ns <= record->end_ns);
        size_t count = sbx_snapshot_stack(snapshot, record->stack, frames, 16);
        assert_true((count > 0) == (record->stack != 0 && record->stack != SBX_STACK_OVERFLOW));
        for (size_t j = 0; j < count && j < 16; j++) {
            uint32_t module = (uint32_t)(frames[j] >> SBX_FRAME_MODULE_SHIFT);
            assert_true(module < snapshot->module_count || module >= SBX_MODULE_NONE);
        }
    }
}

static void test_mutated_recordings_never_break_the_reader(void **state)
{
    struct whole_recording *fixture = *state;
    const struct sbx_recording_header *header = fixture->builder->header;
    size_t bytes = header->file_bytes;
    uint8_t *mutant = malloc(bytes); /* exact size: a sanitizer then sees a read past the end */
    assert_non_null(mutant);
    unsigned readable = 0;
    for (int round = 0; round < 1500; round++) {
        memcpy(mutant, header, bytes);
        for (uint64_t left = 1 + next_random() % 24; left > 0; left--) {
            /* Change mostly places that are in use: the header's fields, the tables' first pages, the ring. */
            uint64_t where = next_random() % 4;
            uint64_t at = where == 0   ? next_random() % 512
                          : where == 1 ? header->chunks.at + next_random() % (4 * SBX_CHUNK_BYTES)
                          : where == 2 ? header->threads.at + next_random() % 512
                                       : next_random() % bytes;
            if (round % 3 != 0 && at < 256) {
                at += 256; /* leave most section tables alone; otherwise few mutants are readable */
            }
            mutant[at] = (uint8_t)(next_random() % 3 == 0 ? 0xff : next_random());
        }
        struct sbx_snapshot *snapshot;
        if (sbx_snapshot_read(mutant, bytes, &snapshot, NULL, 0) == 0) {
            readable++;
            check_promises(snapshot);
            sbx_snapshot_destroy(snapshot);
        }
    }
    free(mutant);
    assert_in_range(readable, 500, 1490); /* both outcomes occurred */
}

static void test_truncated_recordings_are_refused_at_every_length(void **state)
{
    struct whole_recording *fixture = *state;
    const struct sbx_recording_header *header = fixture->builder->header;
    struct sbx_snapshot *snapshot;
    for (size_t bytes = 0; bytes < header->file_bytes; bytes += bytes < 9000 ? 61 : 4093) {
        uint8_t *exact = malloc(bytes == 0 ? 1 : bytes);
        assert_non_null(exact);
        memcpy(exact, header, bytes);
        assert_int_equal(sbx_snapshot_read(exact, bytes, &snapshot, NULL, 0), -EINVAL);
        free(exact);
    }
}

static void test_recording_at_an_odd_address_is_read_alike(void **state)
{
    struct whole_recording *fixture = *state;
    const struct sbx_recording_header *header = fixture->builder->header;
    uint8_t *odd = malloc(header->file_bytes + 1);
    assert_non_null(odd);
    memcpy(odd + 1, header, header->file_bytes);
    struct sbx_snapshot *snapshot;
    assert_int_equal(sbx_snapshot_read(odd + 1, header->file_bytes, &snapshot, NULL, 0), 0);
    assert_int_equal(snapshot->record_count, 3 * ROUNDS);
    sbx_snapshot_destroy(snapshot);
    free(odd);
}

static void test_open_watches_come_back_and_the_trigger_names_one(void **state)
{
    struct whole_recording *fixture = *state;
    struct sbx_recording_builder *builder = fixture->builder;
    sbx_recording_add_watch(builder, SBX_WATCH_WATCHDOG, "given back", 100, 1000, WORKER);
    sbx_recording_add_watch(builder, SBX_WATCH_WATCHDOG, "worker", 200, 2000, WORKER);
    uint32_t missed = sbx_recording_add_watch(builder, SBX_WATCH_DEADLINE, "save", 300, 3000, MAIN);
    builder->watches[0].word = sbx_watch_word(1, SBX_WATCH_FREE);
    const struct sbx_trigger_entry trigger = {
        .kind = SBX_TRIGGER_DEADLINE, .begin_ns = 1, .end_ns = 2, .watch = missed + 1};
    sbx_recording_set_trigger(builder, &trigger);
    struct sbx_snapshot *snapshot = sbx_recording_read_back(builder);
    assert_int_equal(snapshot->watch_count, 2);
    assert_string_equal(snapshot->watches[0].name, "worker");
    assert_int_equal(snapshot->watches[0].thread, WORKER);
    assert_int_equal(snapshot->header.trigger.watch, 2);
    assert_string_equal(snapshot->watches[1].name, "save");
    assert_int_equal(snapshot->watches[1].timeout_ms, 300);
    sbx_snapshot_destroy(snapshot);
}

static void test_watches_that_make_no_sense_are_left_out(void **state)
{
    struct whole_recording *fixture = *state;
    struct sbx_recording_builder *builder = fixture->builder;
    for (unsigned i = 0; i < 6; i++) {
        sbx_recording_add_watch(builder, SBX_WATCH_DEADLINE, "deadline", 100, 1000, WORKER);
    }
    builder->watches[0].kind = 77;
    builder->watches[1].word = sbx_watch_word(1, (enum sbx_watch_state)200);
    builder->watches[2].word = sbx_watch_word(1, SBX_WATCH_FILLING);
    builder->watches[3].thread = 5000;
    builder->watches[4].thread_generation = 9; /* its thread ended; the entry has a new thread */
    memset(builder->watches[5].name, 'x', sizeof builder->watches[5].name);
    const struct sbx_trigger_entry trigger = {.kind = SBX_TRIGGER_DEADLINE, .begin_ns = 1, .end_ns = 2, .watch = 1};
    sbx_recording_set_trigger(builder, &trigger);
    struct sbx_snapshot *snapshot = sbx_recording_read_back(builder);
    assert_int_equal(snapshot->watch_count, 3);
    assert_true(snapshot->watches[0].thread == UINT32_MAX && snapshot->watches[1].thread == UINT32_MAX);
    assert_int_equal(snapshot->watches[2].thread, WORKER);
    assert_int_equal(strlen(snapshot->watches[2].name), SBX_WATCH_NAME_MAX - 1);
    assert_int_equal(snapshot->header.trigger.watch, 0); /* the named watch does not exist */
    sbx_snapshot_destroy(snapshot);
}

static void test_files_are_read_or_refused_with_the_reason(void **state)
{
    struct whole_recording *fixture = *state;
    char folder[] = "/tmp/stallbox-test-snapshot-XXXXXX", path[64], why[160];
    struct sbx_snapshot *snapshot;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/one.raw", folder);

    assert_int_equal(sbx_snapshot_read_file(path, &snapshot, why, sizeof why), -ENOENT);
    assert_string_equal(why, "cannot be opened: No such file or directory");
    assert_int_equal(sbx_snapshot_read_file(folder, &snapshot, why, sizeof why), -EINVAL);
    assert_string_equal(why, "is not a regular file");

    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("not a recording", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(sbx_snapshot_read_file(path, &snapshot, why, sizeof why), -EINVAL);
    assert_string_equal(why, "is too short for a recording");

    sbx_recording_save(fixture->builder, path); /* live: the reader makes a copy */
    assert_int_equal(sbx_snapshot_read_file(path, &snapshot, why, sizeof why), 0);
    assert_int_equal(snapshot->record_count, 3 * ROUNDS);
    sbx_snapshot_destroy(snapshot);

    struct sbx_trigger_entry trigger = {.kind = SBX_TRIGGER_ANR, .thread = MAIN, .begin_ns = 1, .end_ns = 5300000};
    sbx_recording_set_trigger(fixture->builder, &trigger);
    sbx_recording_save(fixture->builder, path);
    assert_int_equal(sbx_snapshot_read_file(path, &snapshot, why, sizeof why), 0);
    assert_int_equal(snapshot->record_count, 3 * ROUNDS);
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_ANR);
    sbx_snapshot_destroy(snapshot);

    assert_int_equal(truncate(path, 100000), 0);
    assert_int_equal(sbx_snapshot_read_file(path, &snapshot, why, sizeof why), -EINVAL);
    assert_string_equal(why, "is a truncated recording");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_RECORDING(test_recording_comes_back_whole_and_sorted),
        WITH_RECORDING(test_strings_end_within_their_fields),
        WITH_RECORDING(test_wrong_version_and_wrong_bytes_are_told_apart),
        WITH_RECORDING(test_sections_outside_the_file_are_refused),
        WITH_RECORDING(test_mutated_recordings_never_break_the_reader),
        WITH_RECORDING(test_truncated_recordings_are_refused_at_every_length),
        WITH_RECORDING(test_recording_at_an_odd_address_is_read_alike),
        WITH_RECORDING(test_open_watches_come_back_and_the_trigger_names_one),
        WITH_RECORDING(test_watches_that_make_no_sense_are_left_out),
        WITH_RECORDING(test_files_are_read_or_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
