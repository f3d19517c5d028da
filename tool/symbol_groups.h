/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_groups.h - files by build-id: a program, its debug file, and whatever else has the same one. */
#ifndef SBX_SYMBOL_GROUPS_H
#define SBX_SYMBOL_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "build_id.h"
#include "elf_finder.h"

struct sbx_symbol_group {
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    size_t build_id_bytes;
    char *paths[SBX_ELF_PATHS_MAX];
    size_t path_count;
};

struct sbx_symbol_groups {
    struct sbx_symbol_group *groups;
    size_t count, room;
};

/* Add a file, with its debug file where that lies beside it or in /usr/lib/debug (by .gnu_debuglink or build-id, or as a
 * dSYM); or all files below a folder that have a build-id. A Mach-O file for several processors is in several groups.
 * Returns 0, -ENOEXEC for a file without a build-id, with the reason in *why_out where it is known, else NULL; or -errno.
 */
int sbx_symbol_groups_add(struct sbx_symbol_groups *groups, const char *path, const char **why_out);
void sbx_symbol_groups_finish(struct sbx_symbol_groups *groups);

/* What a person calls what the files are of: the base name of the one that is no debug file, without ".debug" where
 * there is no other; "" when none tells. */
void sbx_symbol_group_name(const struct sbx_symbol_group *group, char *out, size_t bytes);

#endif
