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

/* What came of the start: `result` of sbx_agent_start(). From here on children of fork() are counted. */
void sbx_attendance_began(int result);

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
