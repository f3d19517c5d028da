/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring_writer.c - chunks are claimed, filled, closed and recycled, and no writer touches another's. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

#include "ring_writer.h"

enum {
    CHUNKS = 8,
    WRITERS = 16
};

struct fixture {
    struct sbx_ring ring;
    uint64_t ticket;
    uint64_t drops[SBX_DROP_COUNT];
    struct sbx_chunk chunks[CHUNKS];
    struct sbx_ring_writer writers[WRITERS];
};

static int make_ring(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    if (fixture == NULL) {
        return -1;
    }
    fixture->ring = (struct sbx_ring){fixture->chunks, CHUNKS, &fixture->ticket, fixture->drops};
    *state = fixture;
    return 0;
}

static int free_ring(void **state)
{
    free(*state);
    return 0;
}

/* Record number `number` of thread `thread`: every field is calculated from both, so that a reader can check it. */
static struct sbx_record numbered(uint32_t thread, uint64_t number)
{
    return (struct sbx_record){.kind = SBX_RECORD_FILE,
                               .op = SBX_OP_READ,
                               .thread = thread,
                               .begin_ns = SBX_TIME_UNIT_NS * number * 8,
                               .end_ns = SBX_TIME_UNIT_NS * (number * 8 + thread),
                               .stack = (uint32_t)number + 1,
                               .alloc_count = number * 3,
                               .amount = number ^ thread};
}

static int put(struct fixture *fixture, uint32_t thread, uint64_t number)
{
    struct sbx_record record = numbered(thread, number);
    return sbx_ring_put(&fixture->ring, &fixture->writers[thread], thread, 1, 100 + thread, &record);
}

static uint64_t turn_of(const struct sbx_chunk *chunk)
{
    return sbx_chunk_turn_of(chunk->state);
}

static unsigned state_of(const struct sbx_chunk *chunk)
{
    return (unsigned)sbx_chunk_state_of(chunk->state);
}

/* Decode a chunk and check that it holds consecutive numbered records of its thread. Returns how many, and the first
 * one's number. */
static uint64_t check_chunk(const struct sbx_chunk *chunk, uint64_t *first_out)
{
    struct sbx_codec_state state = sbx_codec_begin(chunk);
    struct sbx_record record;
    uint64_t count = 0;
    assert_true(chunk->committed <= sizeof chunk->bytes);
    assert_int_equal(chunk->tid, 100 + chunk->thread);
    for (uint32_t at = 0; at < chunk->committed; count++) {
        size_t used = sbx_record_decode(&state, chunk->bytes + at, chunk->committed - at, &record);
        assert_true(used > 0);
        at += (uint32_t)used;
        uint64_t number = record.stack - 1;
        if (count == 0) {
            *first_out = number;
        }
        assert_int_equal(number, *first_out + count);
        struct sbx_record expected = numbered(chunk->thread, number);
        assert_int_equal(record.thread, expected.thread);
        assert_int_equal(record.begin_ns, expected.begin_ns);
        assert_int_equal(record.end_ns, expected.end_ns);
        assert_int_equal(record.alloc_count, expected.alloc_count);
        assert_int_equal(record.amount, expected.amount);
    }
    return count;
}

static void test_record_that_does_not_fit_begins_the_next_chunk(void **state)
{
    struct fixture *fixture = *state;
    uint64_t number = 0;
    while (fixture->ticket < 3) {
        assert_int_equal(put(fixture, 2, number), 1);
        number++;
    }
    uint64_t seen = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t first = UINT64_MAX;
        uint64_t count = check_chunk(&fixture->chunks[i], &first);
        assert_int_equal(first, seen); /* no gap between chunks */
        seen += count;
        assert_int_equal(turn_of(&fixture->chunks[i]), i + 1);
        assert_int_equal(state_of(&fixture->chunks[i]), i < 2 ? SBX_CHUNK_CLOSED : SBX_CHUNK_OPEN);
        if (i < 2) { /* closed only when the next record did not fit */
            assert_true(sizeof fixture->chunks[i].bytes - fixture->chunks[i].committed < 40);
        }
    }
    assert_int_equal(seen, number);
}

static void test_full_ring_recycles_the_oldest_chunk(void **state)
{
    struct fixture *fixture = *state;
    uint64_t number = 0;
    while (fixture->ticket < CHUNKS * 3 + 2) {
        assert_int_equal(put(fixture, 1, number), 1);
        number++;
    }
    uint64_t firsts[CHUNKS], kept = 0;
    for (int i = 0; i < CHUNKS; i++) {
        kept += check_chunk(&fixture->chunks[i], &firsts[i]);
        assert_int_equal(turn_of(&fixture->chunks[i]), (i < 2 ? CHUNKS * 3 : CHUNKS * 2) + i + 1);
    }
    assert_int_equal(firsts[2] + kept, number); /* the kept records are the newest, without a gap */
    assert_int_equal(fixture->drops[SBX_DROP_NO_CHUNK], 0);
}

static void test_open_chunk_is_passed_over_lap_after_lap(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(put(fixture, 0, 5), 1);
    struct sbx_chunk before = fixture->chunks[0];
    for (uint64_t number = 0; fixture->ticket < CHUNKS * 10; number++) {
        assert_int_equal(put(fixture, 1, number), 1);
    }
    assert_memory_equal(&fixture->chunks[0], &before, sizeof before);
    assert_int_equal(put(fixture, 0, 6), 1); /* its owner continues where it was */
    uint64_t first;
    assert_int_equal(check_chunk(&fixture->chunks[0], &first), 2);
}

static void test_ring_of_open_chunks_drops_and_counts(void **state)
{
    struct fixture *fixture = *state;
    for (uint32_t i = 0; i < CHUNKS; i++) {
        assert_int_equal(put(fixture, i, 0), 1);
    }
    assert_int_equal(put(fixture, CHUNKS, 0), 0);
    assert_int_equal(put(fixture, CHUNKS, 1), 0);
    assert_int_equal(fixture->drops[SBX_DROP_NO_CHUNK], 2);
    sbx_ring_close(&fixture->writers[3]);
    assert_int_equal(put(fixture, CHUNKS, 2), 1);
    assert_int_equal(fixture->chunks[3].thread, CHUNKS);
    assert_int_equal(fixture->drops[SBX_DROP_NO_CHUNK], 2);
}

static void test_writer_a_lap_late_leaves_the_newer_chunk_alone(void **state)
{
    struct fixture *fixture = *state;
    for (uint64_t number = 0; fixture->ticket < CHUNKS + 1; number++) {
        assert_int_equal(put(fixture, 0, number), 1);
    }
    sbx_ring_close(&fixture->writers[0]);
    struct sbx_chunk newer = fixture->chunks[0];
    assert_int_equal(turn_of(&newer), CHUNKS + 1);
    fixture->ticket = 0; /* as if a thread had drawn ticket 0 a lap ago and runs again only now */
    uint64_t turns[CHUNKS];
    for (int i = 0; i < CHUNKS; i++) {
        turns[i] = turn_of(&fixture->chunks[i]);
    }
    assert_int_equal(put(fixture, 1, 0), 1);
    assert_memory_equal(&fixture->chunks[0], &newer, sizeof newer);
    /* The thread went on to the first ticket that is newer than its chunk: the next one after the ticket that opened
     * chunk 0. */
    assert_ptr_equal(fixture->writers[1].chunk, &fixture->chunks[1]);
    for (int i = 0; i < CHUNKS; i++) {
        assert_int_equal(turn_of(&fixture->chunks[i]), i == 1 ? CHUNKS + 2 : turns[i]);
    }
}

/* Do both steps; the owner is not in the middle of a record. */
static void take_back(struct sbx_chunk *chunk)
{
    uint64_t opened = chunk->state;
    assert_true(sbx_ring_revoke(chunk, opened));
    sbx_ring_seal(chunk, opened);
}

static void test_writer_that_lost_its_chunk_does_not_write_to_it(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(put(fixture, 0, 0), 1);
    take_back(&fixture->chunks[0]);
    assert_int_equal(state_of(&fixture->chunks[0]), SBX_CHUNK_CLOSED);
    fixture->ticket = CHUNKS;
    assert_int_equal(put(fixture, 1, 0), 1);
    assert_ptr_equal(fixture->writers[1].chunk, &fixture->chunks[0]);
    struct sbx_chunk others = fixture->chunks[0];
    assert_int_equal(put(fixture, 0, 1), 1);
    assert_memory_equal(&fixture->chunks[0], &others, sizeof others);
    assert_ptr_equal(fixture->writers[0].chunk, &fixture->chunks[1]);
}

static void test_writer_does_not_append_to_a_chunk_that_was_taken_back(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(put(fixture, 0, 0), 1);
    take_back(&fixture->chunks[0]);
    struct sbx_chunk closed = fixture->chunks[0];
    assert_int_equal(put(fixture, 0, 1), 1);
    assert_memory_equal(&fixture->chunks[0], &closed, sizeof closed);
    assert_ptr_equal(fixture->writers[0].chunk, &fixture->chunks[1]);
}

static void test_revoked_chunk_is_nobodys_until_it_is_sealed(void **state)
{
    struct fixture *fixture = *state;
    for (uint32_t i = 0; i < CHUNKS; i++) {
        assert_int_equal(put(fixture, i, 0), 1);
    }
    uint64_t opened = fixture->chunks[3].state;
    assert_true(sbx_ring_revoke(&fixture->chunks[3], opened));
    assert_false(sbx_ring_revoke(&fixture->chunks[3], opened));
    assert_int_equal(state_of(&fixture->chunks[3]), SBX_CHUNK_REVOKED);
    assert_true(sbx_chunk_is_readable(fixture->chunks[3].state));
    assert_int_equal(put(fixture, CHUNKS, 0), 0); /* its owner may be in the middle of a record */
    sbx_ring_seal(&fixture->chunks[3], opened);
    assert_int_equal(put(fixture, CHUNKS, 1), 1);
    assert_ptr_equal(fixture->writers[CHUNKS].chunk, &fixture->chunks[3]);
    struct sbx_chunk others = fixture->chunks[3];
    sbx_ring_seal(&fixture->chunks[3], opened); /* late: it has another turn by now */
    assert_false(sbx_ring_revoke(&fixture->chunks[3], opened));
    assert_int_equal(put(fixture, 3, 1), 0); /* the owner notices, and there is no other chunk */
    assert_memory_equal(&fixture->chunks[3], &others, sizeof others);
    assert_null(fixture->writers[3].chunk);
}

static void test_owner_seals_its_revoked_chunk_itself(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(put(fixture, 0, 0), 1);
    assert_int_equal(put(fixture, 1, 0), 1);
    assert_true(sbx_ring_revoke(&fixture->chunks[0], fixture->chunks[0].state));
    assert_true(sbx_ring_revoke(&fixture->chunks[1], fixture->chunks[1].state));
    assert_int_equal(put(fixture, 0, 1), 1); /* on its next record */
    assert_int_equal(state_of(&fixture->chunks[0]), SBX_CHUNK_CLOSED);
    assert_ptr_equal(fixture->writers[0].chunk, &fixture->chunks[2]);
    sbx_ring_close(&fixture->writers[1]); /* or when it ends */
    assert_int_equal(state_of(&fixture->chunks[1]), SBX_CHUNK_CLOSED);
}

/* ---- the moment between opening a chunk and its first record ---- */

/* The chunk's bytes are on a page that cannot be written at first, so the writer stops right after it has opened the
 * chunk. */
static struct {
    struct sbx_chunk *chunk;
    uint8_t *page;
    unsigned state_then;
    uint32_t committed_then;
} just_opened;

static void look_at_chunk(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)context;
    if ((uint8_t *)info->si_addr < just_opened.page || mprotect(just_opened.page, 4096, PROT_READ | PROT_WRITE) != 0) {
        _exit(3); /* some other fault */
    }
    just_opened.state_then = state_of(just_opened.chunk);
    just_opened.committed_then = just_opened.chunk->committed;
}

static void test_recycled_chunk_is_empty_when_it_becomes_open(void **unused)
{
    (void)unused;
    uint8_t *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    just_opened.page = pages + 4096;
    just_opened.chunk = (struct sbx_chunk *)(void *)(just_opened.page - offsetof(struct sbx_chunk, bytes));
    uint64_t ticket = 0, drops[SBX_DROP_COUNT] = {0};
    struct sbx_ring ring = {just_opened.chunk, 1, &ticket, drops};
    struct sbx_ring_writer writer = {.chunk = NULL};
    struct sbx_record record = numbered(0, 1);
    assert_int_equal(sbx_ring_put(&ring, &writer, 0, 1, 100, &record), 1);
    assert_true(just_opened.chunk->committed > 0);
    sbx_ring_close(&writer);

    struct sigaction action = {.sa_sigaction = look_at_chunk, .sa_flags = SA_SIGINFO}, before;
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    assert_int_equal(mprotect(just_opened.page, 4096, PROT_READ), 0);
    assert_int_equal(sbx_ring_put(&ring, &writer, 0, 1, 100, &record), 1);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    assert_int_equal(just_opened.state_then, SBX_CHUNK_OPEN);
    assert_int_equal(just_opened.committed_then, 0);
    assert_true(just_opened.chunk->committed > 0);
    assert_int_equal(munmap(pages, 3 * 4096), 0);
}

static void test_next_life_of_an_entry_begins_a_new_chunk(void **state)
{
    struct fixture *fixture = *state;
    struct sbx_record record = numbered(4, 0);
    assert_int_equal(put(fixture, 4, 0), 1);
    assert_int_equal(sbx_ring_put(&fixture->ring, &fixture->writers[4], 4, 2, 555, &record), 1);
    assert_int_equal(state_of(&fixture->chunks[0]), SBX_CHUNK_CLOSED);
    assert_int_equal(fixture->chunks[1].thread_generation, 2);
    assert_int_equal(fixture->chunks[1].tid, 555);
}

static void test_closing_twice_or_nothing_is_harmless(void **state)
{
    struct fixture *fixture = *state;
    sbx_ring_close(&fixture->writers[0]);
    assert_int_equal(put(fixture, 0, 0), 1);
    sbx_ring_close(&fixture->writers[0]);
    uint64_t closed = fixture->chunks[0].state;
    sbx_ring_close(&fixture->writers[0]);
    sbx_ring_seal(&fixture->chunks[0], closed);
    assert_int_equal(fixture->chunks[0].state, closed);
}

static void test_observer_names_the_thread_in_its_records(void **state)
{
    struct fixture *fixture = *state;
    struct sbx_record record = numbered(0, 0), back;
    assert_int_equal(sbx_ring_put(&fixture->ring, &fixture->writers[9], 9, 1, 109, &record), 1);
    const struct sbx_chunk *chunk = &fixture->chunks[0];
    assert_int_equal(chunk->thread, 9);
    struct sbx_codec_state codec = sbx_codec_begin(chunk);
    assert_true(sbx_record_decode(&codec, chunk->bytes, chunk->committed, &back) > 0);
    assert_int_equal(back.thread, 0);
}

/* ---- many writers on few chunks ---- */

enum {
    CROWD_RECORDS = 200000 / ROUNDS_DIVISOR /* of each */
};

struct crowd_writer {
    struct fixture *fixture;
    uint32_t thread;
    uint64_t put;
};

static void *write_in_the_crowd(void *argument)
{
    struct crowd_writer *writer = argument;
    for (uint64_t number = 0; number < CROWD_RECORDS; number++) {
        writer->put += (uint64_t)put(writer->fixture, writer->thread, number);
        if (number % 1000 == 999) {
            sbx_ring_close(&writer->fixture->writers[writer->thread]);
        }
    }
    return NULL;
}

static void test_crowd_of_writers_never_shares_a_chunk(void **state)
{
    struct fixture *fixture = *state;
    enum {
        CROWD = 12
    }; /* more than chunks, so threads compete for every claim */
    struct crowd_writer writers[CROWD];
    pthread_t threads[CROWD];
    uint64_t put_count = 0;
    for (uint32_t i = 0; i < CROWD; i++) {
        writers[i] = (struct crowd_writer){fixture, i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, write_in_the_crowd, &writers[i]), 0);
    }
    for (uint32_t i = 0; i < CROWD; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        put_count += writers[i].put;
    }
    assert_int_equal(put_count + fixture->drops[SBX_DROP_NO_CHUNK], (uint64_t)CROWD * CROWD_RECORDS);
    for (int i = 0; i < CHUNKS; i++) {
        /* All records are of one thread and consecutive: a writer that has to drop a record has no open chunk. */
        uint64_t first;
        assert_true(check_chunk(&fixture->chunks[i], &first) > 0);
    }
}

static void test_ring_that_is_not_open_yet_takes_nothing_and_counts_nothing(void **state)
{
    struct fixture *fixture = *state;
    const struct sbx_recording_header header = {.chunks = {.count = CHUNKS}};
    sbx_ring_close_whole(&fixture->ring);
    assert_false(sbx_ring_is_open(&fixture->ring));
    assert_int_equal(put(fixture, 1, 1), 0);
    assert_int_equal(fixture->ticket, 0);
    assert_int_equal(fixture->drops[SBX_DROP_NO_CHUNK], 0);
    sbx_ring_open_whole(&fixture->ring, &header);
    assert_true(sbx_ring_is_open(&fixture->ring));
    assert_int_equal(put(fixture, 1, 2), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_record_that_does_not_fit_begins_the_next_chunk, make_ring, free_ring),
        cmocka_unit_test_setup_teardown(test_full_ring_recycles_the_oldest_chunk, make_ring, free_ring),
        cmocka_unit_test_setup_teardown(test_open_chunk_is_passed_over_lap_after_lap, make_ring, free_ring),
        cmocka_unit_test_setup_teardown(test_ring_of_open_chunks_drops_and_counts, make_ring, free_ring),
        cmocka_unit_test_setup_teardown(test_writer_a_lap_late_leaves_the_newer_chunk_alone, make_ring, free_ring),
        cmocka_unit_test_setup_teardown(test_writer_that_lost_its_chunk_does_not_write_to_it, make_ring, free_ring),
        cmocka_unit_test_setup_teardown(test_writer_does_not_append_to_a_chunk_that_was_taken_back, make_ring,
                                        free_ring),
        cmocka_unit_test_setup_teardown(test_revoked_chunk_is_nobodys_until_it_is_sealed, make_ring, free_ring),
        cmocka_unit_test_setup_teardown(test_owner_seals_its_revoked_chunk_itself, make_ring, free_ring),
        cmocka_unit_test(test_recycled_chunk_is_empty_when_it_becomes_open),
        cmocka_unit_test_setup_teardown(test_next_life_of_an_entry_begins_a_new_chunk, make_ring, free_ring),
        cmocka_unit_test_setup_teardown(test_closing_twice_or_nothing_is_harmless, make_ring, free_ring),
        cmocka_unit_test_setup_teardown(test_ring_that_is_not_open_yet_takes_nothing_and_counts_nothing, make_ring,
                                        free_ring),
        cmocka_unit_test_setup_teardown(test_observer_names_the_thread_in_its_records, make_ring, free_ring),
        cmocka_unit_test_setup_teardown(test_crowd_of_writers_never_shares_a_chunk, make_ring, free_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
