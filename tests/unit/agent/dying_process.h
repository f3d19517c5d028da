/* SPDX-License-Identifier: Apache-2.0 */
/* dying_process.h - a child process with the recorder in it that ends as the test says, and what is found of it afterwards.
 * Folders, options and the one snapshot are those of stalling_process.h. */
#ifndef DYING_PROCESS_H
#define DYING_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "recording_recover.h"
#include "stalling_process.h"

#define DYING_PROCESS_TEST(test) \
    cmocka_unit_test_setup_teardown(test, stalling_process_set_up, stalling_process_tear_down)

#define KEEP_FRAME() __asm__ volatile("") /* the last call is then no tail call */

/* ---- in the child ---- */

/* Signal handlers of cmocka's are gone: a fault ends the process. dying_process_begin() does it. */
void dying_take_no_handlers_along(void);

/* Begin to record; every trigger is at a minute. */
void dying_start(bool leave_crashes);

/* A loop, and then a message that is open for longer than note_ms (500 by default). */
void dying_stall(void);

/* ---- in the test ---- */

/* Run `body` in a forked child, which has no signal handlers of ours; it ends with 0 if `body` returns. */
pid_t dying_process_begin(void (*body)(void));
int dying_process_end(pid_t pid);          /* waits; as waitpid() tells it */
int dying_process_run(void (*body)(void)); /* both */
bool died_by(int status, int number);
bool exited_with(int status, int code);

/* Wait for at most 20 s until it holds; fails the test if it never does. */
void dying_process_wait_until(bool (*holds)(void), const char *what);

/* Recordings, snapshots, and files of a suffix among these. */
int dying_process_recordings_left(void);
int dying_process_snapshots_left(void);
int dying_process_snapshots_of(const char *suffix);

/* Look for the dead as `stallbox run` does; nothing may fail. */
struct sbx_recovery_counts dying_process_recover(void);

/* Recover, and expect: no recording and no snapshot; one of kind `killed`, once. */
void dying_process_expect_nothing(void);
void dying_process_expect_killed(void);

#endif
