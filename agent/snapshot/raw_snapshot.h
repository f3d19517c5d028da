/* SPDX-License-Identifier: Apache-2.0 */
/* raw_snapshot.h - where snapshots lie before they are packed: SPOOL/raw/ID.raw. One place for the agent, for recovery and for
 * the companion, all of which put them there. Without allocation: the agent's own threads write so too. */
#ifndef SBX_RAW_SNAPSHOT_H
#define SBX_RAW_SNAPSHOT_H

#include <stdint.h>

#include "marks.h"

enum {
    SBX_RAW_NAME_BYTES = 40 /* 32 digits, ".raw" and the end */
};

/* Open SPOOL/raw; both folders are made when missing. Both must be ours alone: in another's spool `raw` could be a way to
 * anywhere. Returns a descriptor, or -errno as sbx_own_folder_open() does. */
SBX_MUST_CHECK int sbx_raw_folder_open(const char *spool_path);

/* The name of snapshot `id` in there. */
void sbx_raw_name_print(const uint8_t id[16], char name_out[SBX_RAW_NAME_BYTES]);

/* Rename a whole file in `folder` and never replace: what has the name already is a snapshot as good as this one. Where a file
 * system cannot promise that (NFS), it is looked first. Returns 0 or -errno: -EEXIST when the name is taken. */
SBX_MUST_CHECK int sbx_raw_name_give(int folder, const char *temporary, const char *name);

#endif
