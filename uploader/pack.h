/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - snapshots the agent left in SPOOL/raw become payloads in SPOOL.
 *
 * The companion runs this after each snapshot and at its start. It may be killed anywhere and run twice at a time: a
 * raw snapshot goes away only when its payload is durable, and its payload has its id. */
#ifndef SBX_PACK_H
#define SBX_PACK_H

#include <stdint.h>

#include "redaction.h"
#include "spool.h"

struct sbx_pack_counts {
    uint32_t packed;     /* are payloads now */
    uint32_t unreadable; /* moved to bad/: nobody can read them, or nothing of them may leave */
    uint32_t later;      /* left where they are: no memory or no room now */
    char why[320];       /* "PATH: reason" of the last that was not packed; "" when all were */
};

/* Pack every raw/NAME.raw: read it, note where its modules lie, redact, encode, put, unlink. Returns 0, also when some
 * could not be packed (see *counts_out), or -errno when the folder cannot be read. */
int sbx_pack_raw_folder(struct sbx_spool *spool, const struct sbx_redaction *redaction,
                        struct sbx_pack_counts *counts_out);

#endif
