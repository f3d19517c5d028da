/* SPDX-License-Identifier: Apache-2.0 */
/* elf_finder.h - from a build-id to the files that have it: ELF files, and Mach-O files by the UUIDs in them. */
#ifndef SBX_ELF_FINDER_H
#define SBX_ELF_FINDER_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct sbx_elf_finder;

enum {
    SBX_ELF_PATHS_MAX = 8
};

/* Files whose build-id note was read and is equal. Order: by the module index first, then files with the wanted base
 * name, then the rest. They may be several names of one file, or a program and its separate debug file. */
struct sbx_elf_paths {
    size_t count;
    char paths[SBX_ELF_PATHS_MAX][PATH_MAX];
};

/* `dirs` is copied. NULL if memory runs out. */
struct sbx_elf_finder *sbx_elf_finder_create(const char *const *dirs, size_t dir_count);
void sbx_elf_finder_destroy(struct sbx_elf_finder *finder);

/* Use `now_s` as the clock: seconds from any start, never 0, and never going back. Default: CLOCK_MONOTONIC. */
void sbx_elf_finder_use_clock(struct sbx_elf_finder *finder, time_t (*now_s)(void));

/* From now on search only the given folders and the files in the index, not what this machine has installed or what
 * runs on it. For a machine that runs none of the programs whose names are wanted. */
void sbx_elf_finder_skip_local(struct sbx_elf_finder *finder);

/* Read a file of lines "BUILD-ID-HEX PATH", such as a spool's SPOOL/modules. Other lines are skipped. SPOOL/images,
 * with copies of executables that were deleted or replaced while they ran, is searched like a given folder. Returns 0
 * or -errno. */
int sbx_elf_finder_add_index(struct sbx_elf_finder *finder, const char *index_path);

/* `name` (may be NULL): the likely base name. Searches the cheap places first. Only if nothing was found: the usual
 * folders, and then the files of running processes (/proc/PID/exe), which may have been deleted or replaced since they
 * started. Returns 0 (paths_out->count may be 0) or -ENOMEM. */
int sbx_elf_finder_find(struct sbx_elf_finder *finder, const uint8_t *build_id, size_t bytes, const char *name,
                        struct sbx_elf_paths *paths_out);

/* The path of a file of that build-id when it was recorded, by the index. The file may have been deleted or replaced
 * since, but this was its name. NULL: not in the index. Borrowed until the index grows. */
const char *sbx_elf_finder_index_path(const struct sbx_elf_finder *finder, const uint8_t *build_id, size_t bytes);

#endif
