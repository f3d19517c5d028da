/* SPDX-License-Identifier: Apache-2.0 */
/* split_files.h - where the debug information lies that was split off a program: for whoever may open files.
 *
 * A program says in which file each unit is. No file is opened by such a name: it may be that of a pipe, or of another user's
 * file. Parts are looked for where they are expected, and known by the id that they and the program have. */
#ifndef SBX_SPLIT_FILES_H
#define SBX_SPLIT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "split_parts.h"

struct sbx_split_files {
    int descriptors[SBX_SPLIT_PARTS_MAX];
    size_t count;
    struct sbx_bundle_writer *bundle; /* NULL: none. Else files are copied into it, and none stays open */
};

/* Whether a file is called like a part. */
bool sbx_split_files_is_part(const char *path);
/* Open PATH.dwp (of PATH.debug also that of PATH) and the .dwo files in its folder: regular files, as many as there is room
 * for. Descriptors are given. */
void sbx_split_files_open_beside(struct sbx_split_files *files, const char *path);
/* Open `path` if it is called like a part and is a regular file. */
void sbx_split_files_open(struct sbx_split_files *files, const char *path);

#endif
