/* SPDX-License-Identifier: Apache-2.0 */
/* own_folder.h - a folder that is ours, and that nobody else may write into: what lies there by name, we or another process
 * of this user have put there. What is in the files is another matter (recording_recover.h). */
#ifndef SBX_OWN_FOLDER_H
#define SBX_OWN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "marks.h"

/* Open it. A link in its place is not followed. Returns a descriptor, or -errno: -EPERM when it is another's, or others may
 * write there. */
SBX_MUST_CHECK int sbx_own_folder_open(const char *path);

/* The same of one to read in alone: root's is as good, since root could change ours as well. */
SBX_MUST_CHECK int sbx_believed_folder_open(const char *path);

/* Make every missing folder of `path`, 0700. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_make_folders(const char *path);

/* Both: make what is missing, and open it. */
SBX_MUST_CHECK int sbx_own_folder_make(const char *path);

/* Open the folder `name` in an open one; made (0700) when it is missing and `makes_it`. */
SBX_MUST_CHECK int sbx_own_folder_open_at(int parent, const char *name, bool makes_it);

/* Why not: "PATH: belongs to user 7, not to us" and the like, after `error` of the above. */
void sbx_own_folder_explain(const char *path, int error, char *why, size_t why_bytes);

#endif
