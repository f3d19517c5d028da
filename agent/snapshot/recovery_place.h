/* SPDX-License-Identifier: Apache-2.0 */
/* recovery_place.h - where a recoverer puts what it makes: its own spool, the one that it was told itself.
 *
 * What a recording says of its spool is not looked at: its process may have had fewer rights than we when it was written
 * last. Each folder is opened and must be ours alone; a name is never followed, an existing file never written to. */
#ifndef SBX_RECOVERY_PLACE_H
#define SBX_RECOVERY_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"

struct sbx_recovery_place {
    const char *spool; /* borrowed */
    int folder;        /* of snapshots, SPOOL/raw; -1: not opened yet */
};

/* Which spool it is (recording_name.h); 0 when it is not there, or not ours. */
uint64_t sbx_recovery_place_mark(const char *spool);

/* Has the user said no in it? A word that cannot be read is a no. */
bool sbx_recovery_place_is_denied(const char *spool);

/* Open it, with the folders made as needed. Returns 0 or -errno; again after the first time: nothing. */
SBX_MUST_CHECK int sbx_recovery_place_open(struct sbx_recovery_place *place);
void sbx_recovery_place_close(struct sbx_recovery_place *place);

/* Write the snapshot `id` of `data`, a private copy of a whole recording, durably under a temporary name. What an earlier
 * recoverer has left of it goes first. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_recovery_place_write(const struct sbx_recovery_place *place,
                                            const struct sbx_recording_header *data, const uint8_t id[16],
                                            const struct sbx_trigger_entry *trigger);

/* Give it its name, durably; without a temporary file it has it already. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_recovery_place_name(const struct sbx_recovery_place *place, const uint8_t id[16],
                                           const uint8_t session_id[16], bool *has_named_out);

/* Take away what was begun of the snapshot `id` and has no writer any more. */
void sbx_recovery_place_sweep(const struct sbx_recovery_place *place, const uint8_t id[16]);

#endif
