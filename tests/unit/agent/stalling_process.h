/* SPDX-License-Identifier: Apache-2.0 */
/* stalling_process.h - a child process with the recorder in it that stalls as the test says, and the snapshots it left. */
#ifndef STALLING_PROCESS_H
#define STALLING_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot.h"
#include "stallbox/stallbox.h"

/* Folders of the test at hand. cmocka set-up and tear-down. */
int stalling_process_set_up(void **state);
int stalling_process_tear_down(void **state);
const char *stalling_process_spool(void);
const char *stalling_process_recordings(void);

/* Run `body` in a forked child; it must end in order. */
void stalling_process_run(void (*body)(void));

/* The snapshots there are, in the order in which their triggers ended; fails the test when there are not `count`. Given:
 * sbx_snapshot_destroy() of each. */
enum {
    SNAPSHOTS_MAX = 8
};
void stalling_process_snapshots(unsigned count, struct sbx_snapshot *snapshots_out[SNAPSHOTS_MAX]);

/* The one snapshot there is. */
struct sbx_snapshot *stalling_process_snapshot(void);

/* ---- in the child ---- */

/* Options with the test's folders, every trigger at a minute, to be changed before stallbox_start(). */
struct stallbox_options stalling_options(void);
void stalling_start(const struct stallbox_options *options);
void stalling_expect(bool holds, const char *what);
void stalling_pause_ms(long ms);
/* The process's own recording, as a tool sees it (live_recording.h). */
struct sbx_recording_header *stalling_own_recording(void);
/* Order these settings. False: the watch thread did not take them over within a minute. */
bool stalling_order(struct sbx_recording_header *header, const struct sbx_capture_settings *wanted);
uint64_t stalling_now_ms(void);
/* Spend, until the governor has shed the allocation points. That it does so within a minute is expected. */
void stalling_spend_until_shed(const struct sbx_overhead *overhead, void (*spend)(void));

#endif
