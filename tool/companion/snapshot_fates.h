/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_fates.h - what became of the snapshots of one run, looked up in the spool by their ids.
 *
 * Others may use the spool at the same time and may have packed or sent them: counting one's own work would give their
 * numbers. Each snapshot is counted once, so that the numbers add up. */
#ifndef SBX_SNAPSHOT_FATES_H
#define SBX_SNAPSHOT_FATES_H

#include <stdint.h>

#include "roster.h"

struct sbx_snapshot_fates {
    uint32_t made;      /* as the roster says: the sum of what follows */
    uint32_t waiting;   /* payloads in the spool */
    uint32_t delivered; /* the server has them */
    uint32_t unkept;    /* of those: no longer in SPOOL/sent, which keeps the newest few; not in the sum */
    uint32_t raw;       /* not packed yet */
    uint32_t bad;       /* nobody could read them, or the server refused them for good */
    uint32_t gone;      /* packed, and removed unsent: no room, or too old */
    uint32_t withheld;  /* never packed: the policy takes a sample, or forbids it, or the user said no */
    uint32_t older;     /* more than the roster has ids of: not looked up */
};

void sbx_snapshot_fates_find(const char *spool_path, const struct sbx_roster *roster,
                             struct sbx_snapshot_fates *fates_out);

#endif
