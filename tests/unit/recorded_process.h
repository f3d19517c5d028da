/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_process.h - the recorder in a real process: a child, forked of the test and linked with the library as an
 * application is, and a parent that reads what it left. */
#ifndef SBX_TEST_RECORDED_PROCESS_H
#define SBX_TEST_RECORDED_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "recording_format.h"
#include "snapshot.h"

/* ---- the parent ---- */

/* The folders of the test at hand: made by the first, removed by the second. cmocka set-up and tear-down. */
int recorded_process_set_up(void **state);
int recorded_process_tear_down(void **state);

/* Folder for the test's own files; the spool's raw snapshots, recordings and rows of unwind data (which are not there
 * before the child makes them). */
const char *recorded_process_folder(void);
const char *recorded_process_raw(void);
const char *recorded_process_spool(void);
const char *recorded_process_recordings(void);
const char *recorded_process_rows(void);

/* Run `body` in a forked child; returns its wait status. */
int recorded_process_run(void (*body)(void));

/* The one snapshot that the child left. Given: sbx_snapshot_destroy(). */
struct sbx_snapshot *recorded_process_snapshot(void);

/* How many files in `folder` have that suffix; none where there is no folder. */
int count_files(const char *folder, const char *suffix);

/* All of it for one `body`: folders, a child that starts the recorder, calls it, keeps a snapshot and stops; fails the
 * test when that does not end in order. Needs no set-up. Given: sbx_snapshot_destroy(). */
struct sbx_snapshot *run_recorded(void (*body)(void));

/* What calls answer in a child that is recorded is what they answer here, where nothing is hooked: `ask` fills `count`
 * answers, once in either. Fails the test at the first that differs. Returns what they are, borrowed until the next
 * call. */
const int *expect_same_answers(void (*ask)(int *answers), int count);

/* ---- the child ---- */

/* Last in a function: its last call is then no tail call, and its frame stays on the stack. */
#define KEEP_FRAME() __asm__ volatile("")

/* End the child with a message unless `holds`. */
void child_expect(bool holds, const char *what);

/* Start the recorder with every point, and records of what takes a millisecond; no time is long enough for a trigger.
 */
void child_start(void);

/* The same with limits, and without a wait for unwind rows. */
void child_start_with(uint32_t anr_ms, uint32_t slow_message_ms);

/* Wait until walks can leave the executable and the C library, which a busy machine makes long. */
void child_wait_for_rows(void);

/* And until they can leave every library that the program has loaded: where frames of one lie between a call and where the thread begins. */
void child_wait_for_all_rows(void);

/* Keep a snapshot and stop. */
void child_finish(void);

void child_pause_ms(long ms); /* past every point */
void child_sleep_ms(long ms); /* by nanosleep(), which is one */

/* Some 15 ms and more in which no capture point is passed: only the gap filler sees it. In the test and not in libc,
 * which may have no unwind data. */
static inline void compute_without_a_call(void)
{
    for (volatile int i = 0; i < 40000000; i++) {
    }
}

/* A loop as the main thread's: `turns` polls of 10 ms from one place; after the one with the number `special_turn`,
 * `handle` is called. */
void child_run_loop(int turns, volatile int special_turn, void (*handle)(void));

/* The live recording: its header, and the entry of the calling thread. */
struct sbx_recording_header *child_header(void);
struct sbx_thread_entry *child_entry(void);

/* The time between two asynchronous samples, as `stallbox ctl` or the governor sets it; no budget changes it again. */
void child_set_gap(uint32_t gap_us);
/* The same of the time between two samples at points. */
void child_set_interval(uint32_t interval_us);
/* As the governor has it of a program that costs too much: samples far apart, and answers to clients followed lightly (calls/lone_call.h). Returns when
 * ticks have seen that; on a machine where the recorder cannot do so nothing is followed lightly. Undone by any other order. */
void child_follow_lightly(void);
/* What captures at points and by signal have been charged with by now: as the governor says when two of its windows have ended since. */
uint64_t child_charged_ns(void);
/* Put in the hooks of exactly these groups (and the loader's) as `stallbox ctl` does, and wait until they are. */
void child_set_points(uint64_t points);

/* Take all hooks out, or put them in again; returns when it is done. */
void child_set_recording(bool enabled);

/* Threads that are about to wait say so; who lets them go waits for `count` of them, and then long enough for them to
 * be asleep, and for their waits to be worth a record. */
void say_about_to_wait(void);
void let_them_wait(int count);

/* An end for timed calls that nobody waits for. */
struct timespec in_ten_seconds(clockid_t clock);

/* ---- what the snapshot tells ---- */

/* Is it the stack of a walk that came to where threads begin? With musl: to libc, which has no unwind data. */
bool stack_is_whole(const struct sbx_snapshot *snapshot, uint32_t stack);

/* Does it pass through `function` of this executable? One that the compiler has not inlined or split. */
bool stack_passes(const struct sbx_snapshot *snapshot, uint32_t stack, void *function);

/* Both, of a record's stack. */
bool passes_through(const struct sbx_snapshot *snapshot, const struct sbx_record *record, void *function);

/* Modules whose path holds `name`; *flags_out: the flags of the last of them. */
unsigned find_modules(const struct sbx_snapshot *snapshot, const char *name, uint32_t *flags_out);

/* A wait and who ended it. */
struct expected_wait {
    uint8_t kind, op, wake_op;
    void *waiter, *waker; /* functions on their stacks; waker NULL: not asked */
};

/* Count the waits as expected, each with a WAKE record of the same id: of another thread, for the same object, naming
 * the waiter. Fails the test where such a pair contradicts itself. */
int count_pairs(const struct sbx_snapshot *snapshot, const struct expected_wait *expected);

/* The only record of this kind and operation that passes through `function`; fails the test when there is not one. */
const struct sbx_record *only_record(const struct sbx_snapshot *snapshot, uint8_t kind, uint8_t op, void *function);

uint32_t tid_of_record(const struct sbx_snapshot *snapshot, const struct sbx_record *record);

#endif
