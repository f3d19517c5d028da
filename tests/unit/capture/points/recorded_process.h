/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_process.h - what the tests of the capture points have in common: a child process that runs the recorder,
 * looks into its own recording and switches groups of points, and a parent that reads what it left. */
#ifndef SBX_TEST_RECORDED_PROCESS_H
#define SBX_TEST_RECORDED_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_format.h"
#include "snapshot.h"

/* Of the test at hand: made by the first, removed by the second. cmocka set-up and tear-down. */
int recorded_process_set_up(void **state);
int recorded_process_tear_down(void **state);

/* Folder for the test's own files. */
const char *recorded_process_folder(void);

/* Run `body` in a forked child; returns its wait status. */
int recorded_process_run(void (*body)(void));

/* The one snapshot that the child left. Given: sbx_snapshot_destroy(). */
struct sbx_snapshot *recorded_process_snapshot(void);

/* ---- in the child ---- */

/* End the child with a message unless `holds`. */
void child_expect(bool holds, const char *what);

/* Start the recorder with every point, and records of what takes a millisecond. */
void child_start(void);

/* Keep a snapshot and stop. */
void child_finish(void);

void child_pause_ms(long ms);

/* The live recording: its header, and the entry of the calling thread. */
struct sbx_recording_header *child_header(void);
struct sbx_thread_entry *child_entry(void);

/* Put in the hooks of exactly these groups (and the loader's), and wait until they are. */
void child_set_points(uint32_t points);

#endif
