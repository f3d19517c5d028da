/* SPDX-License-Identifier: Apache-2.0 */
/* recording_room.h - how large a recording may be in its folder, so that enough memory is left for the host.
 *
 * A recording is shared memory. It fills the file system that contains it (containers have 64 MiB for /dev/shm), and
 * its pages count towards the memory limit of the control group. If the file system is full, the host's use of its own
 * shared memory ends in SIGBUS; at the memory limit the host is killed. So all recordings of a user together
 *
 *   - take a quarter of their file system at most, and leave half of it free, or 256 MiB where that is less;
 *   - take an eighth of the control group's memory limit at most.
 *
 * A recording that does not fit is created with the smallest size. If that does not fit either, the program runs
 * without a recording. */
#ifndef SBX_RECORDING_ROOM_H
#define SBX_RECORDING_ROOM_H

#include <stdint.h>

#include "marks.h"

struct sbx_recording_room {
    uint64_t total_bytes, free_bytes; /* of the file system; total 0: it does not report its size */
    uint64_t taken_bytes;             /* by the recordings in the folder, with their full sizes */
    uint64_t limit_bytes;             /* of the control group's memory; UINT64_MAX: none */
};

/* How large a recording may be in that room. Pure. */
uint64_t sbx_recording_room(const struct sbx_recording_room *room);

/* Read the room in the open `folder` of recordings, and the limit of our control group. */
void sbx_recording_room_look(int folder, struct sbx_recording_room *room_out);
/* The same when the group's limit is known: for a forked worker, whose parent has read the limits of all groups. */
void sbx_recording_room_look_below(int folder, uint64_t limit_bytes, struct sbx_recording_room *room_out);

#endif
