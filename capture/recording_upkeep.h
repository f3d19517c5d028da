/* SPDX-License-Identifier: Apache-2.0 */
/* recording_upkeep.h - what the watch thread does for the recording, so that whoever records finds room.
 *
 * It turns the epoch of the callstack table and carries what is still pointed at into the new one; and when chunks are
 * scarce it takes back those of threads that have been silent. Nobody who records waits for any of it. */
#ifndef SBX_RECORDING_UPKEEP_H
#define SBX_RECORDING_UPKEEP_H

#include <stdbool.h>
#include <stdint.h>

/* Turn the epoch when its tables are over 3/4 full, and carry each thread's last stack over. Watch thread, each tick:
 * two loads unless it turns. */
void sbx_upkeep_callstacks(void);

/* When over half of the chunks are open, or records were dropped for want of one, take back the chunks whose threads have
 * recorded nothing for seconds (when records are being dropped: for a fifth of a second). Nothing happens where
 * membarrier(2) is refused. Watch thread, each tick: a comparison or two unless threads are many. Returns how many
 * chunks were given free. */
uint32_t sbx_upkeep_chunks(uint64_t now_ns);

/* Let every thread begin another chunk with its next record, so that what was recorded up to now and what comes are in
 * chunks of their own. Nobody waits for it. Watch thread. */
void sbx_upkeep_begin_anew(void);

/* Overwrite what was recorded: the user does not want it. To be called once the gate is closed: waits for records that are
 * being written right now, some 20 ms at most. Threads' names and the list of modules stay until the process ends.
 * Watch thread. */
void sbx_upkeep_wipe(void);

/* The memory of the ring and of the callstack table is about to be given back: after this nobody touches it until the ring is opened again. To be
 * called once the gate is closed. False: a thread is still at it; then all is as before. Watch thread. */
bool sbx_upkeep_close(void);

#endif
