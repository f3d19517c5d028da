/* SPDX-License-Identifier: Apache-2.0 */
/* guest_recording.h - the recording of another process of the family, which held what a thread of the host waited for.
 *
 * It is found by its name in the folder of recordings. guest_copy.h lists what is checked. No allocation, no lock. */
#ifndef SBX_GUEST_RECORDING_H
#define SBX_GUEST_RECORDING_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"

enum {
    SBX_GUESTS_WANTED_MAX = 2 * SBX_HOLDERS_MAX
};

/* Processes for which a thread waited, each once. Zeroed at first. */
struct sbx_guests_wanted {
    uint32_t pids[SBX_GUESTS_WANTED_MAX];
    uint32_t count;
};

/* Add the processes that, according to `header`, held something during `trigger`, except `host_pid`. Adds none for a
 * trigger that reports the end of a stall. */
void sbx_guests_want(struct sbx_guests_wanted *wanted, const struct sbx_recording_header *header,
                     const struct sbx_trigger_entry *trigger, uint32_t host_pid);

/* Open the recording of process `pid` for reading and for ringing its bell (guest_look.h), if it is of the host's
 * family and may be kept. *header_out: its header, checked. Returns a descriptor or -1. */
SBX_MUST_CHECK int sbx_guest_open(const struct sbx_recording_header *host, uint64_t key, uint32_t pid, int folder,
                                  struct sbx_recording_header *header_out);

/* Read all of these bytes. Returns 0, or -errno; -ENODATA if the file has fewer. */
SBX_MUST_CHECK int sbx_guest_read(int file, uint64_t at, void *to, size_t bytes);

#endif
