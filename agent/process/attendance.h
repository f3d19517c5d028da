/* SPDX-License-Identifier: Apache-2.0 */
/* attendance.h - what this process tells the roster of its companion (snapshot/roster.h). Without a companion each of these
 * says nothing. */
#ifndef SBX_ATTENDANCE_H
#define SBX_ATTENDANCE_H

#include <stdint.h>

#include "roster.h"

/* Before the start, or as soon as a start is possible: where the roster is. 0: there is none. Twice is fine. */
void sbx_attendance_join(const char *recordings_folder, uint64_t number);
uint64_t sbx_attendance_roster(void); /* its number; 0: there is none */

/* What came of the start: `result` of sbx_agent_start(). Workers are counted, and not told one by one. */
void sbx_attendance_began(int result);

/* A forked child wanted to be recorded, and is not, or not always. In that child; counted once. */
void sbx_attendance_unrecorded_child(void);

/* The same of one that is put off because of what the starts of its family have cost (agent/family/start_account.h). */
void sbx_attendance_put_off_child(void);

/* In a forked child, before its start. */
void sbx_attendance_forget_parent(void);

/* The recorder has left to the program: it will not come back. */
void sbx_attendance_left(void);

/* Look whether there is something by which the program can be judged: a message loop, frames, watches. The watch thread, and
 * whoever exits. */
void sbx_attendance_look(void);

/* Something slow had no snapshot, because one was just made. Watch thread. */
void sbx_attendance_left_out(void);

/* A snapshot was made, and has its name. Watch thread. */
void sbx_attendance_made(const uint8_t id[16]);

#endif
