/* SPDX-License-Identifier: Apache-2.0 */
/* process_modules.h - the programs and libraries that another process has mapped: found in its maps, read from its memory, so
 * that neither a file replaced since nor another root folder matters; named by the files with their build-ids. */
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
    char *path;       /* as the maps give it; its own. "[vdso]" */
    const char *name; /* the end of it */
    uint64_t bias;
    uint64_t map_begin, map_end; /* of its first mapping: names the file in /proc/PID/map_files */
    uint64_t device, inode;      /* of the file */
    bool is_mapped;              /* still, when the maps were read last */
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    size_t build_id_bytes;
    struct sbx_eh_frame_place place;
    struct sbx_unwind_rows rows;
    struct sbx_symbol_file *symbols; /* opened when a frame asks; NULL: none, or not asked yet */
    uint8_t *eh_frame_hdr;           /* a copy (function_starts.h); NULL: none, or not asked yet */
    bool has_rows, rows_were_asked, symbols_were_asked, header_was_asked;
};

struct sbx_process_modules {
    pid_t pid;
    struct sbx_process_maps maps;
    struct sbx_process_module
        *modules; /* never taken out: who has an index has the module, also when it was unmapped */
    size_t count, room;
    bool may_refresh;               /* the maps were not read yet in this look */
    struct sbx_code_map *map;       /* ranges of the modules that are mapped; `module` is the index above */
    struct sbx_rows_cache *cache;   /* borrowed; NULL: rows are built anew */
    bool may_fill_cache;            /* the process is our own user\'s: it may say which rows belong to a build-id */
    const char *const *symbol_dirs; /* borrowed: folders of debug files, searched first */
    size_t symbol_dir_count;
};

/* Find the modules of `pid`. Returns 0, -ENOMEM, or why its maps cannot be read (-ESRCH, -EACCES, -EPERM). Release it. */
int sbx_process_modules_read(struct sbx_process_modules *modules_out, pid_t pid, struct sbx_rows_cache *cache,
                             const char *const *symbol_dirs, size_t symbol_dir_count);
void sbx_process_modules_release(struct sbx_process_modules *modules);

/* Read the maps again: modules that have come are added, those that have gone are no more looked for. Once a look, where a walk
 * met code of no module (sets may_refresh to false). Returns 1 when something has changed; 0; or -errno. */
int sbx_process_modules_refresh(struct sbx_process_modules *modules);

/* Get the unwind rows of the module that holds `address`. Returns true when a walk that ended there may go on now. */
bool sbx_process_modules_want_rows(struct sbx_process_modules *modules, uint64_t address);

/* The module's symbol file, or NULL. The modules' until they are released. */
struct sbx_symbol_file *sbx_process_module_symbols(struct sbx_process_modules *modules,
                                                   struct sbx_process_module *module);

#endif
