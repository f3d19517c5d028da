/* SPDX-License-Identifier: Apache-2.0 */
/* dying_process.h - a child process that runs the recorder and ends as the test says, and what it leaves behind.
 * Folders, options and the single snapshot are those of stalling_process.h. */
#ifndef DYING_PROCESS_H
#define DYING_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "recording_recover.h"
#include "stalling_process.h"

#define DYING_PROCESS_TEST(test) \
    cmocka_unit_test_setup_teardown(test, stalling_process_set_up, stalling_process_tear_down)

#define KEEP_FRAME() __asm__ volatile("") /* keeps the last call from becoming a tail call */

/* ---- in the child ---- */

/* Remove cmocka's signal handlers, so that a fault ends the process. dying_process_begin() calls this. */
void dying_take_no_handlers_along(void);

/* Begin to record; every trigger is set to a minute. */
void dying_start(bool leave_crashes);

/* A loop, and then a message that is open for longer than note_ms (500 by default). */
void dying_stall(void);

/* ---- in the test ---- */

/* Run `body` in a forked child, which has no signal handlers of ours; it ends with 0 if `body` returns. */
pid_t dying_process_begin(void (*body)(void));
int dying_process_end(pid_t pid);          /* waits; returns the status of waitpid() */
int dying_process_run(void (*body)(void)); /* begin and end */
bool died_by(int status, int number);
bool exited_with(int status, int code);

/* Wait for at most 20 s until holds() is true; fails the test if it never is. */
void dying_process_wait_until(bool (*holds)(void), const char *what);

/* Counts of recordings, of snapshots, and of the snapshot files with a given suffix. */
int dying_process_recordings_left(void);
int dying_process_snapshots_left(void);
int dying_process_snapshots_of(const char *suffix);

/* Recover dead processes as `stallbox run` does; nothing may fail. */
struct sbx_recovery_counts dying_process_recover(void);

/* Recover and expect: no recording and no snapshot; or exactly one snapshot of kind `killed`. */
void dying_process_expect_nothing(void);
void dying_process_expect_killed(void);

#endif
