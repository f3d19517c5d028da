/* SPDX-License-Identifier: Apache-2.0 */
/* recording_room.h - how large a recording may be where it lies, so that the host keeps its share.
 *
 * A recording is shared memory: it fills the file system that it lies in (64 MiB is what containers have for /dev/shm), and its
 * pages count to the memory limit of the control group. The host's own shared memory dies of SIGBUS when the one is full, and
 * the host of the other. So, all recordings of a user together
 *
 *   - take a quarter of their file system at most, and leave half of it free, or 256 MiB where that is less;
 *   - take an eighth of the control group's memory limit at most.
 *
 * A recording that does not fit is made as small as they get; if that does not fit either, the program runs without one. */
#ifndef SBX_RECORDING_ROOM_H
#define SBX_RECORDING_ROOM_H

#include <stdint.h>

#include "marks.h"

struct sbx_recording_room {
    uint64_t total_bytes, free_bytes; /* of the file system; total 0: it does not tell */
    uint64_t taken_bytes;             /* by the recordings that lie there, whole */
    uint64_t limit_bytes;             /* of the control group's memory; UINT64_MAX: none */
};

/* Pure: how large a recording may be there. */
uint64_t sbx_recording_room(const struct sbx_recording_room *room);

/* Look at the open `folder` of recordings, and at our control group. */
void sbx_recording_room_look(int folder, struct sbx_recording_room *room_out);
/* The same where the group's limit is known: of a forked worker, whose parent has asked every group above. */
void sbx_recording_room_look_below(int folder, uint64_t limit_bytes, struct sbx_recording_room *room_out);

#endif
