/* SPDX-License-Identifier: Apache-2.0 */
/* split_files.h - finds the files with the split debug information of a program, for processes that may open files.
 *
 * A program names the file of each split unit. No file is opened by such a name, because it may lead to a pipe, or to
 * another user's file. Parts are searched where they are expected, and identified by the id that both they and the
 * program have. */
#ifndef SBX_SPLIT_FILES_H
#define SBX_SPLIT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "split_parts.h"

struct sbx_split_files {
    int descriptors[SBX_SPLIT_PARTS_MAX];
    size_t count;
    struct sbx_bundle_writer *bundle; /* NULL: no bundle. Else files are copied into it, and none stays open */
};

/* Whether a file has the name of a part. */
bool sbx_split_files_is_part(const char *path);
/* Open PATH.dwp (for PATH.debug also that of PATH) and the .dwo files in its folder: only regular files, as many as
 * there is room for. Descriptors are given. */
void sbx_split_files_open_beside(struct sbx_split_files *files, const char *path);
/* Open `path` if it has the name of a part and is a regular file. */
void sbx_split_files_open(struct sbx_split_files *files, const char *path);

#endif
