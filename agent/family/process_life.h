/* SPDX-License-Identifier: Apache-2.0 */
/* process_life.h - is a process still the same one?
 *
 * Watch thread, and a thread that starts a recorder: no allocation, no lock, no cancellation point. Four system calls
 * at most. */
#ifndef SBX_PROCESS_LIFE_H
#define SBX_PROCESS_LIFE_H

#include <stdbool.h>
#include <stdint.h>

/* When process `pid` began: the low bits of field 22 of its stat file, never 0. Returns 0 when there is no such
 * process, or /proc is not readable. */
uint32_t sbx_process_began(uint32_t pid);

/* Is there a process with that pid that is not a zombie? If both start times are known, they must be equal. If /proc is
 * not readable, it is enough that the process exists. */
bool sbx_process_lives(uint32_t pid, uint32_t began);

#endif
