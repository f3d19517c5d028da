/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - snapshots the agent left in SPOOL/raw become payloads in SPOOL.
 *
 * The companion runs this after each snapshot and at its start. It may be killed anywhere and run twice at a time: a
 * raw snapshot goes away only when its payload is durable, and its payload has its id. */
#ifndef SBX_PACK_H
#define SBX_PACK_H

#include <stdint.h>

#include "delivery_gate.h"
#include "redaction.h"
#include "sealer.h"
#include "spool.h"

struct sbx_pack_counts {
    uint32_t packed;     /* are payloads now */
    uint32_t ends;       /* are payloads now that tell how a stall ended, which another payload told before */
    uint32_t early;      /* of `later`: ends whose stall is not packed yet */
    uint32_t unreadable; /* moved to bad/: nobody can read them, or nothing of them may leave */
    uint32_t withheld;   /* removed because the gate said so */
    uint32_t expired;    /* payloads and snapshots removed unsent: they had waited for too long (spool_ages.h) */
    uint32_t later;      /* left where they are: no memory or no room now, or no key */
    uint32_t unsealed;   /* of those, because sealing is demanded and no key holds now */
    char why[320];       /* "PATH: reason" of the last that was not packed; "" when all were */
};

/* Remove what has been in the spool for too long. Then pack every raw/NAME.raw: read it, note where its modules lie,
 * redact, encode, put, unlink. Returns 0, also when some could not be packed (see *counts_out), or -errno when the folder
 * cannot be read. `gate` (NULL: everything may) is asked for each snapshot that can be read. Where `sealer` (NULL: none)
 * demands it, what lies in SPOOL is sealed. Where the user has said no, also meanwhile, nothing waits afterwards. */
int sbx_pack_raw_folder(struct sbx_spool *spool, const struct sbx_redaction *redaction,
                        const struct sbx_delivery_gate *gate, struct sbx_sealer *sealer,
                        struct sbx_pack_counts *counts_out);

#endif
