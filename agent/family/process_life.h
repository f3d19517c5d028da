/* SPDX-License-Identifier: Apache-2.0 */
/* process_life.h - whether a process is still the one that it was.
 *
 * The watch thread, and a thread that begins a recorder: no allocation, no lock, no cancellation point. Four system calls at most. */
#ifndef SBX_PROCESS_LIFE_H
#define SBX_PROCESS_LIFE_H

#include <stdbool.h>
#include <stdint.h>

/* When process `pid` began: the low bits of field 22 of its stat, and never 0. 0: there is none, or /proc does not tell. */
uint32_t sbx_process_began(uint32_t pid);

/* Is there a process with that number, which is no zombie and, where both are known, began then? Where /proc does not tell, there being one is
 * enough. */
bool sbx_process_lives(uint32_t pid, uint32_t began);

#endif
