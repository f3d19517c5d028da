/* SPDX-License-Identifier: Apache-2.0 */
/* recovery_place.h - where a recoverer writes: its own spool, which its caller has named.
 *
 * The spool path in a recording is not used: its process may have had fewer privileges than we when it last wrote.
 * Each folder is opened and must be ours alone. Symbolic links are never followed, and an existing file is never
 * written to. */
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

/* Identifies the spool (recording_name.h); 0 when it does not exist, or is not ours. */
uint64_t sbx_recovery_place_mark(const char *spool);

/* Has the user refused consent in the spool? An unreadable answer counts as a no. */
bool sbx_recovery_place_is_denied(const char *spool);

/* Open the place; folders are created as needed. Returns 0 or -errno. A repeated call does nothing. */
SBX_MUST_CHECK int sbx_recovery_place_open(struct sbx_recovery_place *place);
void sbx_recovery_place_close(struct sbx_recovery_place *place);

/* Write the snapshot `id` of `data`, a private copy of a complete recording, durably under a temporary name. First
 * removes what an earlier recoverer has left of it. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_recovery_place_write(const struct sbx_recovery_place *place,
                                            const struct sbx_recording_header *data, const uint8_t id[16],
                                            const struct sbx_trigger_entry *trigger);

/* Give the snapshot its name, durably. If there is no temporary file, it has the name already. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_recovery_place_name(const struct sbx_recovery_place *place, const uint8_t id[16],
                                           const uint8_t session_id[16], bool *has_named_out);

/* Remove unfinished files of the snapshot `id` that have no writer any more. */
void sbx_recovery_place_sweep(const struct sbx_recovery_place *place, const uint8_t id[16]);

#endif
