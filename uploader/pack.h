/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - makes payloads in SPOOL from the snapshots that the agent left in SPOOL/raw.
 *
 * The companion runs this after each snapshot and when it starts. It may be killed at any point, and two may run at the
 * same time. A raw snapshot is removed only when its payload is durable, and the payload has the snapshot's id. */
#ifndef SBX_PACK_H
#define SBX_PACK_H

#include <stdint.h>

#include "delivery_gate.h"
#include "redaction.h"
#include "sealer.h"
#include "spool.h"

struct sbx_pack_counts {
    uint32_t packed;     /* packed into payloads */
    uint32_t ends;       /* packed into payloads about the end of a stall that another payload is about */
    uint32_t early;      /* part of `later`: ends whose stall is not packed yet */
    uint32_t unreadable; /* moved to bad/: they cannot be read, or nothing of them may be sent */
    uint32_t withheld;   /* removed because the gate refused them */
    uint32_t expired;    /* payloads and snapshots that were removed unsent after waiting too long (spool_ages.h) */
    uint32_t later;      /* left in place: no memory, no space, or no key now */
    uint32_t unsealed;   /* part of `later`: sealing is required and no key is valid now */
    char why[320];       /* "PATH: reason" of the last one that was not packed; "" if all were packed */
};

/* Remove what has been in the spool for too long. Then pack every raw/NAME.raw: read it, note the paths of its modules,
 * redact, encode, put, unlink. Returns 0, even if some could not be packed (see *counts_out), or -errno if the folder
 * cannot be read. `gate` (NULL: everything is allowed) is asked for each snapshot that can be read. If `sealer` (NULL:
 * none) requires it, the payloads in SPOOL are sealed. If the user has said no, even meanwhile, nothing is waiting
 * afterwards. */
int sbx_pack_raw_folder(struct sbx_spool *spool, const struct sbx_redaction *redaction,
                        const struct sbx_delivery_gate *gate, struct sbx_sealer *sealer,
                        struct sbx_pack_counts *counts_out);

#endif
