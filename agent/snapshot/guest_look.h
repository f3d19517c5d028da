/* SPDX-License-Identifier: Apache-2.0 */
/* guest_look.h - asks the recorder of another process to look at its threads.
 *
 * A process in which no message is open rests, and its recorder rests as well. If a thread of it has gone to sleep
 * since, its newest stack is from before that. When a thread of another process waits for something that this thread
 * holds, and a snapshot is about to be made, the resting recorder is woken by its bell. It may read its own process
 * where other processes may not (other privileges, Yama, a filter), and it has the module map.
 *
 * A guest may be stopped, get no processor, or cut its file short. So the caller waits for a limited time, and only the
 * kernel stores into the guest's file. No allocation, no lock. */
#ifndef SBX_GUEST_LOOK_H
#define SBX_GUEST_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_format.h"

/* Ask the recorder of `file`, a recording open for reading and writing, to look, unless it has looked since `since_ns`,
 * and wait for that until `until_ns`. Returns whether it has looked. */
bool sbx_guest_look(int file, uint64_t since_ns, uint64_t until_ns);

/* Ask all processes that held something during `trigger`, without waiting, so that sbx_guests_copy() finds fresh data
 * later. The arguments have the same meaning. */
void sbx_guests_call(const struct sbx_recording_header *host, uint64_t key, const struct sbx_trigger_entry *trigger,
                     int folder);

#endif
