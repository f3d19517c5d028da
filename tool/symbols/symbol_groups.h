/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_groups.h - files by build-id: a program, its debug file, and whatever else has the same one. */
#ifndef SBX_SYMBOL_GROUPS_H
#define SBX_SYMBOL_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "build_id.h"
#include "elf_finder.h"
#include "split_files.h"

struct sbx_symbol_group {
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    size_t build_id_bytes;
    char *paths[SBX_ELF_PATHS_MAX];
    size_t path_count;
};

struct sbx_symbol_groups {
    struct sbx_symbol_group *groups;
    size_t count, room;
    char **part_paths; /* .dwo files and .dwp packages, which may belong to any of them */
    size_t part_count, part_room;
};

/* Add a file, with its debug file where that lies beside it or in /usr/lib/debug (by .gnu_debuglink or build-id, or as a
 * dSYM); or all files below a folder that have a build-id. A Mach-O file for several processors is in several groups; .dwo files
 * and .dwp packages become parts.
 * Returns 0, -ENOEXEC for a file without a build-id, with the reason in *why_out where it is known, else NULL; or -errno.
 */
int sbx_symbol_groups_add(struct sbx_symbol_groups *groups, const char *path, const char **why_out);
void sbx_symbol_groups_finish(struct sbx_symbol_groups *groups);

/* Open what may have been split off the files of a group: what lies beside them, then the parts. Descriptors are given. More than may be
 * open are copied into a bundle. Returns 0, or -errno when that could not be. */
int sbx_symbol_groups_open_parts(const struct sbx_symbol_groups *groups, const struct sbx_symbol_group *group,
                                 struct sbx_split_files *files);

/* The files of a group, what dwz moved out of them and what was split off them, as one file without a name (symbol_bundle.h) at
 * *fd_out (given); -1 where there is nothing but the files. Returns 0 or -errno. */
int sbx_symbol_groups_bundle(const struct sbx_symbol_groups *groups, const struct sbx_symbol_group *group, int *fd_out);

/* What a person calls what the files are of: the base name of the one that is no debug file, without ".debug" where
 * there is no other; "" when none tells. */
void sbx_symbol_group_name(const struct sbx_symbol_group *group, char *out, size_t bytes);

#endif
