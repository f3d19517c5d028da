/* SPDX-License-Identifier: Apache-2.0 */
/* companion_alive.h - which of the companions that share a policy's folder are alive.
 *
 * Each companion holds a lock on a file "alive.PID.STARTTICKS" in this folder. A pid has no meaning in another pid
 * namespace. There, a start on trial would look dead, and would be counted as a crash of the policy
 * (policy/crash_loop.h). */
#ifndef SBX_COMPANION_ALIVE_H
#define SBX_COMPANION_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

/* Show that this process is alive, until the descriptor is closed. -1: this is not possible. Then the pid and the start
 * time must be enough, in our own pid namespace. */
int sbx_companion_show(int folder, uint32_t pid, uint64_t start_ticks);

/* Does this companion show that it is alive? */
bool sbx_companion_lives(int folder, uint32_t pid, uint64_t start_ticks);

/* Remove the files of companions that have ended. Whether they ended normally is in the policy's state. */
void sbx_companions_sweep(int folder);

#endif
