/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_folder.h - counts and reads what a recorder left in a folder. For programs that check recorded processes. */
#ifndef SBX_SNAPSHOT_FOLDER_H
#define SBX_SNAPSHOT_FOLDER_H

#include <stddef.h>

#include "snapshot.h"

/* Count the files whose names end in `suffix`, hidden ones too ("" for all; "." and ".." are not counted). 0 if the
 * folder does not exist. The path of the last of them goes to `path_out`, which may be NULL. */
unsigned snapshot_folder_find(const char *folder, const char *suffix, char *path_out, size_t path_bytes);

/* The same without a path. */
unsigned snapshot_folder_count(const char *folder, const char *suffix);

/* Pass every snapshot in the folder to `visit`, which takes it (sbx_snapshot_destroy). `visit` returns NULL to go on,
 * or a sentence. Returns 0, or -1 with a sentence in `why` at the first snapshot that is damaged or for which `visit`
 * returns a sentence. */
typedef const char *snapshot_folder_visitor(void *context, const char *path, struct sbx_snapshot *snapshot);
int snapshot_folder_visit(const char *folder, snapshot_folder_visitor *visit, void *context, char *why,
                          size_t why_bytes);

/* Read every snapshot in the folder that reports a stall, without those that report how one ended (SBX_TRIGGER_END).
 * Returns how many there are, all of them in snapshots_out (given: sbx_snapshot_destroy), ordered by the end of their
 * triggers. At the first damaged one, or when there are more than `max`, returns 0 and a sentence in `why`. */
unsigned snapshot_folder_read(const char *folder, struct sbx_snapshot **snapshots_out, unsigned max, char *why,
                              size_t why_bytes);

/* The same, including the ends. */
unsigned snapshot_folder_read_with_ends(const char *folder, struct sbx_snapshot **snapshots_out, unsigned max,
                                        char *why, size_t why_bytes);

/* The only snapshot that reports a stall. NULL and a sentence in `why` when there is none, or more than one, or it is
 * damaged. */
struct sbx_snapshot *snapshot_folder_read_only(const char *folder, char *why, size_t why_bytes);

#endif
