/* SPDX-License-Identifier: Apache-2.0 */
/* process_modules.h - the programs and libraries that another process has mapped. They are found in its maps and read
 * from its memory, so it does not matter that a file was replaced, or that the process has another root. Files with the
 * same build-id give the names. */
#ifndef SBX_PROCESS_MODULES_H
#define SBX_PROCESS_MODULES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "build_id.h"
#include "eh_frame_copy.h"
#include "frame_walker.h"
#include "process_maps.h"
#include "rows_cache.h"
#include "symbol_file.h"

struct sbx_process_module {
    char *path;       /* as in the maps, owned; "[vdso]" */
    const char *name; /* last part of the path */
    uint64_t bias;
    uint64_t map_begin, map_end; /* first mapping; its addresses name the file in /proc/PID/map_files */
    uint64_t device, inode;      /* of the file */
    bool is_mapped;              /* it was in the maps at their last reading */
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    size_t build_id_bytes;
    struct sbx_eh_frame_place place;
    struct sbx_unwind_rows rows;
    struct sbx_symbol_file *symbols; /* opened when a frame needs it; NULL: none, or not needed yet */
    uint8_t *eh_frame_hdr;           /* a copy (function_starts.h); NULL: none, or not needed yet */
    bool has_rows, rows_were_asked, symbols_were_asked, header_was_asked;
};

struct sbx_process_modules {
    pid_t pid;
    struct sbx_process_maps maps;
    struct sbx_process_module *modules; /* never removed, so an index stays valid after the module is unmapped */
    size_t count, room;
    bool may_refresh;               /* the maps have not been read in this look */
    struct sbx_code_map *map;       /* ranges of the mapped modules; its `module` is an index into `modules` */
    struct sbx_rows_cache *cache;   /* borrowed; NULL: rows are built each time */
    bool may_fill_cache;            /* the process belongs to our own user, so its rows may go into the cache */
    const char *const *symbol_dirs; /* borrowed: folders with debug files, searched first */
    size_t symbol_dir_count;
};

/* Find the modules of `pid`. Returns 0, -ENOMEM, or why its maps cannot be read (-ESRCH, -EACCES, -EPERM). Release it. */
int sbx_process_modules_read(struct sbx_process_modules *modules_out, pid_t pid, struct sbx_rows_cache *cache,
                             const char *const *symbol_dirs, size_t symbol_dir_count);
void sbx_process_modules_release(struct sbx_process_modules *modules);

/* Read the maps again: add new modules, and mark those that are gone. At most once per look, when a walk met code of no
 * module (sets may_refresh to false). Returns 1 when something has changed; 0; or -errno. */
int sbx_process_modules_refresh(struct sbx_process_modules *modules);

/* Get the unwind rows of the module with `address`. Returns true when a walk that stopped there can go on. */
bool sbx_process_modules_want_rows(struct sbx_process_modules *modules, uint64_t address);

/* The module's symbol file, or NULL. `modules` owns it until they are released. */
struct sbx_symbol_file *sbx_process_module_symbols(struct sbx_process_modules *modules,
                                                   struct sbx_process_module *module);

#endif
