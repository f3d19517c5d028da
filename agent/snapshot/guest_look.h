/* SPDX-License-Identifier: Apache-2.0 */
/* guest_look.h - the recorder of another process is asked to look at its threads.
 *
 * A process in which nothing is open rests, and so does its recorder: of a thread that went to sleep since, the newest stack is of
 * before. When another one waits for what that thread has, and this is about to be told, the recorder that rests is woken by its
 * bell: it may read its own process where nobody else may (another user's rights, Yama, a filter), and has the map of its code.
 *
 * A guest may be stopped, have no processor, or cut its file short: who asks waits for so long and no longer, and no store of
 * his goes to that file, only the kernel's. No allocation, no lock. */
#ifndef SBX_GUEST_LOOK_H
#define SBX_GUEST_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_format.h"

/* Ask the recorder whose recording is open for reading and writing to look, unless it has since `since_ns`, and wait for that until
 * `until_ns`. Returns whether it has. */
bool sbx_guest_look(int file, uint64_t since_ns, uint64_t until_ns);

/* Ask all that held something during `trigger`, and do not wait: what sbx_guests_copy() will copy is fresh by then. The arguments are
 * as there. */
void sbx_guests_call(const struct sbx_recording_header *host, uint64_t key, const struct sbx_trigger_entry *trigger,
                     int folder);

#endif
