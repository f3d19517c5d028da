/* SPDX-License-Identifier: Apache-2.0 */
/* attendance.h - what this process reports to the roster of its companion (snapshot/roster.h). Without a companion
 * these functions do nothing. */
#ifndef SBX_ATTENDANCE_H
#define SBX_ATTENDANCE_H

#include <stdint.h>

#include "roster.h"

/* Called before the start, or as soon as a start is possible: says where the roster is. `number` 0: there is none. May
 * be called twice. */
void sbx_attendance_join(const char *recordings_folder, uint64_t number);
uint64_t sbx_attendance_roster(void); /* its number; 0: there is no roster */

/* Report the result of sbx_agent_start(). Workers are counted, and not reported one by one. */
void sbx_attendance_began(int result);

/* A forked child should be recorded but is not, or not always. Called in that child; counted once. */
void sbx_attendance_unrecorded_child(void);

/* The same for a child that is put off because of the cost of its family's starts (agent/family/start_account.h). */
void sbx_attendance_put_off_child(void);

/* In a forked child, before its start. */
void sbx_attendance_forget_parent(void);

/* The recorder has stopped for the program's sake, and will not come back. */
void sbx_attendance_left(void);

/* Check whether the program has anything that can be judged: a message loop, frames, watches. Called by the watch
 * thread, and by a thread that exits. */
void sbx_attendance_look(void);

/* Something slow got no snapshot, because one was just made. Watch thread. */
void sbx_attendance_left_out(void);

/* A snapshot was made, and has its name. Watch thread. */
void sbx_attendance_made(const uint8_t id[16]);

#endif
