/* SPDX-License-Identifier: Apache-2.0 */
/* stalling_process.h - a child process that runs the recorder and stalls as the test says, and the snapshots that it
 * leaves. */
#ifndef STALLING_PROCESS_H
#define STALLING_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot.h"
#include "stallbox/stallbox.h"

/* Set-up and tear-down of cmocka: the folders of the current test. */
int stalling_process_set_up(void **state);
int stalling_process_tear_down(void **state);
const char *stalling_process_spool(void);
const char *stalling_process_recordings(void);

/* Run `body` in a forked child; the child must exit with 0. */
void stalling_process_run(void (*body)(void));

/* Read all snapshots, in the order in which their triggers ended; fails the test when there are not `count`. Given:
 * sbx_snapshot_destroy() of each. */
enum {
    SNAPSHOTS_MAX = 8
};
void stalling_process_snapshots(unsigned count, struct sbx_snapshot *snapshots_out[SNAPSHOTS_MAX]);

/* The only snapshot; fails the test when there is not exactly one. */
struct sbx_snapshot *stalling_process_snapshot(void);

/* ---- in the child ---- */

/* Options with the test's folders and every trigger at a minute. Change them before stallbox_start(). */
struct stallbox_options stalling_options(void);
void stalling_start(const struct stallbox_options *options);
void stalling_expect(bool holds, const char *what);
void stalling_pause_ms(long ms);
/* The process's own recording, as a tool sees it (live_recording.h). */
struct sbx_recording_header *stalling_own_recording(void);
/* Order these settings. False: the watch thread did not apply them within a minute. */
bool stalling_order(struct sbx_recording_header *header, const struct sbx_capture_settings *wanted);
uint64_t stalling_now_ms(void);
/* Call `spend` until the governor has shed the allocation points; the test expects that within a minute. */
void stalling_spend_until_shed(const struct sbx_overhead *overhead, void (*spend)(void));

#endif
