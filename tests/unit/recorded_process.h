/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_process.h - the recorder in a real process: a child of the test, forked and linked with the library as an
 * application is, and a parent that reads what the child left. */
#ifndef SBX_TEST_RECORDED_PROCESS_H
#define SBX_TEST_RECORDED_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "recording_format.h"
#include "snapshot.h"

/* ---- the parent ---- */

/* The folders of the current test: created by the first function, removed by the second. cmocka set-up and
 * tear-down. */
int recorded_process_set_up(void **state);
int recorded_process_tear_down(void **state);

/* The folder for the test's own files; the folders of the spool's raw snapshots, of recordings and of unwind rows
 * (which do not exist before the child makes them). */
const char *recorded_process_folder(void);
const char *recorded_process_raw(void);
const char *recorded_process_spool(void);
const char *recorded_process_recordings(void);
const char *recorded_process_rows(void);

/* Run `body` in a forked child; returns its wait status. */
int recorded_process_run(void (*body)(void));

/* The only snapshot that the child left. Given: sbx_snapshot_destroy(). */
struct sbx_snapshot *recorded_process_snapshot(void);

/* How many files in `folder` have that suffix; 0 if the folder does not exist. */
int count_files(const char *folder, const char *suffix);

/* Do everything for one `body`: make the folders, run a child that starts the recorder, calls `body`, keeps a snapshot
 * and stops. Fails the test when the child does not exit with 0. Needs no set-up. Given: sbx_snapshot_destroy(). */
struct sbx_snapshot *run_recorded(void (*body)(void));

/* Calls in a recorded child must give the same answers as in this process, where nothing is hooked. `ask` fills `count`
 * answers, once in each process. Fails the test at the first difference. Returns the answers, borrowed until the next
 * call. */
const int *expect_same_answers(void (*ask)(int *answers), int count);

/* ---- the child ---- */

/* Stands last in a function, so that the function's last call is not a tail call and its frame stays on the stack. */
#define KEEP_FRAME() __asm__ volatile("")

/* End the child with a message unless `holds`. */
void child_expect(bool holds, const char *what);

/* Start the recorder with every point, and with records of calls that take a millisecond. The limits are too long for
 * any trigger. */
void child_start(void);

/* The same with limits, and without a wait for unwind rows. */
void child_start_with(uint32_t anr_ms, uint32_t slow_message_ms);

/* Wait until walks can pass through the executable and the C library. On a busy machine that takes long. */
void child_wait_for_rows(void);

/* Wait until walks can also pass through every library that the program has loaded. Needed where a library's frames lie
 * between a call and the thread's begin. */
void child_wait_for_all_rows(void);

/* Keep a snapshot and stop. */
void child_finish(void);

void child_pause_ms(long ms); /* passes no capture point */
void child_sleep_ms(long ms); /* by nanosleep(), a capture point */

/* Some 15 ms or more in which no capture point is passed, so only the gap filler sees it. In the test and not in libc,
 * which may have no unwind data. */
static inline void compute_without_a_call(void)
{
    for (volatile int i = 0; i < 40000000; i++) {
    }
}

/* A loop like that of a main thread: `turns` polls of 10 ms from one place. After the poll with the number
 * `special_turn`, `handle` is called. */
void child_run_loop(int turns, volatile int special_turn, void (*handle)(void));

/* The live recording: its header, and the entry of the calling thread. */
struct sbx_recording_header *child_header(void);
struct sbx_thread_entry *child_entry(void);

/* Set the time between two asynchronous samples, as `stallbox ctl` or the governor would. No budget changes it
 * again. */
void child_set_gap(uint32_t gap_us);
/* The same for the time between two samples at points. */
void child_set_interval(uint32_t interval_us);
/* From now on a wait is recorded when it took that long. */
void child_set_wait_min(uint32_t wait_min_us);
/* Record as the governor does in a program that costs too much: samples far apart, and answers to clients followed
 * lightly (messages/client_message.h). Returns when ticks have applied it. On a machine where the recorder cannot follow
 * lightly, nothing is followed lightly. Any other order ends it. */
void child_follow_lightly(void);
/* The cost that captures at points and by signal have been charged with so far, as the governor reports it after two
 * more of its windows have ended. */
uint64_t child_charged_ns(void);
/* Install the hooks of exactly these groups (and the loader's), as `stallbox ctl` does, and wait until they are
 * installed. */
void child_set_points(uint64_t points);

/* Remove all hooks, or install them again; returns when that is done. */
void child_set_recording(bool enabled);

/* A thread that is about to wait says so. The thread that will release the waiters waits for `count` of them, and then
 * long enough that they are asleep and their waits are worth a record. */
void say_about_to_wait(void);
void let_them_wait(int count);

/* An end time for timed calls, too far away to be reached. */
struct timespec in_ten_seconds(clockid_t clock);

/* ---- what the snapshot tells ---- */

/* Is it the stack of a walk that came to the begin of the thread? With musl: to libc, which has no unwind data. */
bool stack_is_whole(const struct sbx_snapshot *snapshot, uint32_t stack);

/* Does the stack pass through `function` of this executable? The compiler must not have inlined or split the
 * function. */
bool stack_passes(const struct sbx_snapshot *snapshot, uint32_t stack, void *function);

/* Both questions about a record's stack. */
bool passes_through(const struct sbx_snapshot *snapshot, const struct sbx_record *record, void *function);

/* Modules whose path holds `name`; *flags_out: the flags of the last of them. */
unsigned find_modules(const struct sbx_snapshot *snapshot, const char *name, uint32_t *flags_out);

/* A wait, and the thread that ended it. */
struct expected_wait {
    uint8_t kind, op, wake_op;
    void *waiter, *waker; /* functions on their stacks; waker NULL: not checked */
};

/* Count the waits that are as expected and have a WAKE record of the same id: from another thread, for the same object,
 * naming the waiter. Fails the test if such a pair contradicts itself. */
int count_pairs(const struct sbx_snapshot *snapshot, const struct expected_wait *expected);

/* The only record of this kind and operation that passes through `function`; fails the test when there is not exactly
 * one. */
const struct sbx_record *only_record(const struct sbx_snapshot *snapshot, uint8_t kind, uint8_t op, void *function);

uint32_t tid_of_record(const struct sbx_snapshot *snapshot, const struct sbx_record *record);

#endif
