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

/* Files whose build-id note was read and equals, most telling first: as the module index gives it, then those with the
 * wanted base name, then the rest. They may be names of one file, or a program and its separate debug file. */
struct sbx_elf_paths {
    size_t count;
    char paths[SBX_ELF_PATHS_MAX][PATH_MAX];
};

/* `dirs` is copied. NULL without memory. */
struct sbx_elf_finder *sbx_elf_finder_create(const char *const *dirs, size_t dir_count);
void sbx_elf_finder_destroy(struct sbx_elf_finder *finder);

/* Ask `now_s` for the time, which is seconds from anywhere, never 0, and does not go back. Without this: CLOCK_MONOTONIC. */
void sbx_elf_finder_use_clock(struct sbx_elf_finder *finder, time_t (*now_s)(void));

/* From now on look only through the given folders and what the index names: not through what this machine has installed, nor at what
 * it runs. For a machine that runs none of the programs whose names are wanted. */
void sbx_elf_finder_skip_local(struct sbx_elf_finder *finder);

/* Take in a file of lines "BUILD-ID-HEX PATH", a spool's SPOOL/modules. Lines that are no such line are skipped. SPOOL/images, copies of
 * executables that were deleted or replaced while they ran, is looked through as a given folder is. Returns 0 or -errno. */
int sbx_elf_finder_add_index(struct sbx_elf_finder *finder, const char *index_path);

/* `name` (may be NULL): the base name it probably has. Looks where a look is cheap first; at what processes run
 * (/proc/PID/exe), for files that were deleted or replaced since they started, and then through the usual folders only when nothing
 * else found the file. Returns 0 (paths_out->count may be 0) or -ENOMEM. */
int sbx_elf_finder_find(struct sbx_elf_finder *finder, const uint8_t *build_id, size_t bytes, const char *name,
                        struct sbx_elf_paths *paths_out);

/* Where a file of that build-id was when it was recorded, by the index: it may have been deleted or replaced since, but this is
 * what it was called. NULL: the index does not tell. Borrowed until the index grows. */
const char *sbx_elf_finder_index_path(const struct sbx_elf_finder *finder, const uint8_t *build_id, size_t bytes);

#endif
