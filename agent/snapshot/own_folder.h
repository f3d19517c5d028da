/* SPDX-License-Identifier: Apache-2.0 */
/* own_folder.h - a folder that is ours, and that nobody else may write into: its entries were made by us or by another
 * process of this user. The files' contents are another matter (recording_recover.h). */
#ifndef SBX_OWN_FOLDER_H
#define SBX_OWN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "marks.h"

/* Open the folder. A symbolic link in its place is not followed. Returns a descriptor, or -errno: -EPERM if the folder
 * belongs to another user, or others may write to it. */
SBX_MUST_CHECK int sbx_own_folder_open(const char *path);

/* The same for a folder that is only read from: it may also belong to root, since root could change ours as well. */
SBX_MUST_CHECK int sbx_believed_folder_open(const char *path);

/* Create every missing folder of `path`, with mode 0700. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_make_folders(const char *path);

/* Both: create the missing folders, and open the last one. */
SBX_MUST_CHECK int sbx_own_folder_make(const char *path);

/* Open the folder `name` in an open one. If it is missing and `makes_it`, it is created (0700). */
SBX_MUST_CHECK int sbx_own_folder_open_at(int parent, const char *name, bool makes_it);

/* The reason for `error` of the functions above: "PATH: belongs to user 7, not to us" and the like. */
void sbx_own_folder_explain(const char *path, int error, char *why, size_t why_bytes);

#endif
