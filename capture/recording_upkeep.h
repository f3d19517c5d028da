/* SPDX-License-Identifier: Apache-2.0 */
/* recording_upkeep.h - the watch thread's work for the recording, so that recording threads find room.
 *
 * It turns the epoch of the callstack table, and carries stacks that are still referenced into the new epoch. When
 * chunks are scarce, it takes back those of silent threads. No recording thread waits for any of it. */
#ifndef SBX_RECORDING_UPKEEP_H
#define SBX_RECORDING_UPKEEP_H

#include <stdbool.h>
#include <stdint.h>

/* Turn the epoch when its tables are over 3/4 full, and carry each thread's last stack over. Watch thread, each tick:
 * two loads when it does not turn. */
void sbx_upkeep_callstacks(void);

/* When over half of the chunks are open, or records were dropped because there was no chunk, take back the chunks of
 * threads that have recorded nothing for seconds (when records are being dropped: for a fifth of a second). Does
 * nothing where membarrier(2) is refused. Watch thread, each tick: a comparison or two unless there are many threads.
 * Returns how many chunks became free. */
uint32_t sbx_upkeep_chunks(uint64_t now_ns);

/* Let every thread begin another chunk with its next record, so that earlier and later records are in different chunks.
 * No thread waits for it. Watch thread. */
void sbx_upkeep_begin_anew(void);

/* Overwrite what was recorded, because the user does not want it. To be called once the gate is closed. Waits for
 * records that are being written, some 20 ms at most. Threads' names and the list of modules stay until the process
 * ends. Watch thread. */
void sbx_upkeep_wipe(void);

/* The memory of the ring and of the callstack table is about to be given back. After this no thread touches it until
 * the ring is opened again. To be called once the gate is closed. False: a thread still uses it; then nothing has
 * changed. Watch thread. */
bool sbx_upkeep_close(void);

#endif
