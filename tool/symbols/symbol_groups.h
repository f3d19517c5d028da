/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_groups.h - groups files by build-id: a program, its debug file, and all other files with the same build-id. */
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

/* Open the files that may have been split off the files of a group: those next to them, then the parts. Descriptors are
 * given. When there are more than may be open, they are copied into a bundle. Returns 0, or -errno when that failed. */
int sbx_symbol_groups_open_parts(const struct sbx_symbol_groups *groups, const struct sbx_symbol_group *group,
                                 struct sbx_split_files *files);

/* Make one unnamed file (symbol_bundle.h) of the files of the group, the part that dwz moved out of them, and the parts
 * that were split off: *fd_out (given); -1 when there is nothing but the files. Returns 0 or -errno. */
int sbx_symbol_groups_bundle(const struct sbx_symbol_groups *groups, const struct sbx_symbol_group *group, int *fd_out);

/* The name of the group's module for people: the base name of the file that is no debug file; without such a file, the
 * base name without ".debug"; "" when there is none. */
void sbx_symbol_group_name(const struct sbx_symbol_group *group, char *out, size_t bytes);

#endif
