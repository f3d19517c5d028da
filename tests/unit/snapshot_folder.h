/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_folder.h - what a recorder left in a folder, counted and read. For judges of processes that were recorded. */
#ifndef SBX_SNAPSHOT_FOLDER_H
#define SBX_SNAPSHOT_FOLDER_H

#include <stddef.h>

#include "snapshot.h"

/* The files whose names end so, hidden ones too ("" for all; "." and ".." are none). 0 for a folder that is not there. The path
 * of the last of them goes to `path_out`, which may be NULL. */
unsigned snapshot_folder_find(const char *folder, const char *suffix, char *path_out, size_t path_bytes);

/* The same without a path. */
unsigned snapshot_folder_count(const char *folder, const char *suffix);

/* Show every snapshot in it to `visit`, which is given it (sbx_snapshot_destroy). 0, or -1 and a sentence in `why` at the first
 * that is damaged, or for which `visit` returns one (NULL: go on). */
typedef const char *snapshot_folder_visitor(void *context, const char *path, struct sbx_snapshot *snapshot);
int snapshot_folder_visit(const char *folder, snapshot_folder_visitor *visit, void *context, char *why,
                          size_t why_bytes);

/* Read every snapshot in it that tells a stall, and not how one ended (SBX_TRIGGER_END). Returns how many there are, all of them in snapshots_out (given: sbx_snapshot_destroy) ordered by
 * the end of their triggers; on the first one that is damaged, or at more than `max`, 0 and a sentence in `why`. */
unsigned snapshot_folder_read(const char *folder, struct sbx_snapshot **snapshots_out, unsigned max, char *why,
                              size_t why_bytes);

/* The same, with the ends. */
unsigned snapshot_folder_read_with_ends(const char *folder, struct sbx_snapshot **snapshots_out, unsigned max,
                                        char *why, size_t why_bytes);

/* The only one that tells a stall; NULL when there is none, or more, or it is damaged, and a sentence in `why`. */
struct sbx_snapshot *snapshot_folder_read_only(const char *folder, char *why, size_t why_bytes);

#endif
