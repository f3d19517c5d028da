/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_fates.h - finds in the spool what happened to the snapshots of one run, by their ids. Other processes may
 * use the spool at the same time, and may have packed or sent some of them, so counting our own work would give other
 * numbers. Each snapshot is counted once, so the numbers add up. */
#ifndef SBX_SNAPSHOT_FATES_H
#define SBX_SNAPSHOT_FATES_H

#include <stdint.h>

#include "roster.h"

struct sbx_snapshot_fates {
    uint32_t made;      /* by the roster: the sum of the counts below, except `unkept` */
    uint32_t waiting;   /* payloads in the spool */
    uint32_t delivered; /* the server has them */
    uint32_t unkept;    /* of the delivered ones: no longer in SPOOL/sent, which keeps the newest few */
    uint32_t raw;       /* not packed yet */
    uint32_t bad;       /* cannot be read, or the server refused them for good */
    uint32_t gone;      /* packed, and removed unsent because of no room or their age */
    uint32_t withheld;  /* never packed: not in the policy's sample, forbidden by it, or the user denied consent */
    uint32_t older;     /* beyond the ids that the roster has; not looked up */
};

void sbx_snapshot_fates_find(const char *spool_path, const struct sbx_roster *roster,
                             struct sbx_snapshot_fates *fates_out);

#endif
