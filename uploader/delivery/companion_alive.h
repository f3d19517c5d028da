/* SPDX-License-Identifier: Apache-2.0 */
/* companion_alive.h - which of the companions that share a policy's folder live.
 *
 * Each holds a lock on a file "alive.PID.STARTTICKS" in it. In another pid namespace a pid is useless, and a start on trial
 * that looks dead would count as a crash of the policy (policy/crash_loop.h). */
#ifndef SBX_COMPANION_ALIVE_H
#define SBX_COMPANION_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

/* Show that we live, until the descriptor is closed. -1: it cannot be shown; then pid and start must do, in our own
 * namespace. */
int sbx_companion_show(int folder, uint32_t pid, uint64_t start_ticks);

/* Does that companion show that it lives? */
bool sbx_companion_lives(int folder, uint32_t pid, uint64_t start_ticks);

/* Remove the files of companions that have ended. Whether they ended well is in the policy's state. */
void sbx_companions_sweep(int folder);

#endif
