/* SPDX-License-Identifier: Apache-2.0 */
/* raw_snapshot.h - where snapshots lie before they are packed: SPOOL/raw/ID.raw. The agent, the recovery and the
 * companion all write to this place. Without allocation, because the agent's own threads use it as well. */
#ifndef SBX_RAW_SNAPSHOT_H
#define SBX_RAW_SNAPSHOT_H

#include <stdint.h>

#include "marks.h"

enum {
    SBX_RAW_NAME_BYTES = 40 /* 32 digits, ".raw" and the end */
};

/* Open SPOOL/raw; both folders are created when missing. Both must be ours alone: in another user's spool `raw` could
 * lead anywhere. Returns a descriptor, or -errno as sbx_own_folder_open() does. */
SBX_MUST_CHECK int sbx_raw_folder_open(const char *spool_path);

/* The name of snapshot `id` in that folder. */
void sbx_raw_name_print(const uint8_t id[16], char name_out[SBX_RAW_NAME_BYTES]);

/* Rename a complete file in `folder`, and never replace one: a file that already has the name is an equally good
 * snapshot. On a file system that cannot guarantee this (NFS), the name is checked first. Returns 0 or -errno: -EEXIST
 * when the name is taken. */
SBX_MUST_CHECK int sbx_raw_name_give(int folder, const char *temporary, const char *name);

#endif
