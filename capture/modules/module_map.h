/* SPDX-License-Identifier: Apache-2.0 */
/* module_map.h - the modules of the process: entries in the recording, ranges for the walker.
 *
 * Changed by one thread at a time: the starting thread first, the module thread ever after.
 *
 * What happens where. The loader's own list is read under its lock, which holds up every dlopen, dlclose and C++ throw
 * of older runtimes meanwhile; so a visit only describes what is new, from headers and notes. Rows come from the cache
 * on disk, which needs nothing of the loader, or are compiled from a copy of the module's .eh_frame, taken without the
 * lock: process_vm_readv fails where a load would fault, and afterwards the loader's count of unloaded modules tells
 * whether the module was there all the while. Only where that call is forbidden is the copy made inside the loader.
 *
 * The protocol of maps and rows:
 *
 *   M1  a published map is immutable, with its own copy of each module's row descriptor. New rows, new modules and gone
 *       modules all make a new map, with a new generation; caches filled under another generation are stale.
 *   M2  pages that a map leads to (rows) are unmapped only after a map without them was published, and then only as
 *       parked_pages.h says: when no walk can hold the old map.
 *   M3  an entry in the recording is never given to another module: frames name it for ever. A module that comes again
 *       (same build-id and path) gets its entry and its rows again, wherever it lies now.
 *   M4  rows of modules that went are kept for their return, up to DEPARTED_ROWS_BYTES; those gone longest are dropped
 *       first, and found again in the cache.
 *
 * Between an unmapping and our next look (the dlclose hook leaves word first, then 1 ms or less, unless the loader is
 * busy for longer) the map is stale. A walk through code that was loaded meanwhile at the same address then finds the
 * rows of the module that went: its frame gets the wrong module and offset, and the step to its caller may go wrong, so
 * that the frames behind it are wrong as well, or missing. It cannot crash: rows are our memory, and every word of the
 * stack is read through the window. */
#ifndef SBX_MODULE_MAP_H
#define SBX_MODULE_MAP_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "eh_frame_copy.h"
#include "marks.h"
#include "recording_format.h"
#include "unwind_rows.h"

/* Look at the loader's list; when it changed (or on the first call) update entries, publish a new map. New modules are
 * without rows until sbx_module_rows_get_next(). Returns true when something came or went since, even if it came back to where
 * it was: its slots are new. May wait for the loader's lock.
 * Inside a visit (loader_visit.h) of the caller's. */
bool sbx_module_map_refresh(void);

/* In a forked child, before its first look: modules that lie where they lay in the parent have the rows that it had for them.
 * Before sbx_capture_forget_parent(). */
void sbx_module_map_inherit(void);

/* ---- for module_rows.c ---- */

enum sbx_rows_state {
    SBX_ROWS_WANTED = 0, /* the cache was not asked yet */
    SBX_ROWS_MISSING,    /* the cache does not have them: to be built */
    SBX_ROWS_READY,
    SBX_ROWS_NONE
};

/* Whose rows come first: walks begin in our own code, pass libc, and end in the executable. */
enum sbx_module_rank {
    SBX_RANK_AGENT = 0,
    SBX_RANK_EXECUTABLE,
    SBX_RANK_LIBC,
    SBX_RANK_OTHER
};

/* What nobody else needs to know of a module; its entry in the recording has the same index. No walk reads it: M1. */
struct sbx_module {
    struct sbx_unwind_rows rows;
    struct sbx_eh_frame_place place; /* of its unwind data; eh_frame_hdr_bytes 0: it has none */
    const ElfW(Phdr) * headers;
    uint32_t departed;  /* order in which modules went */
    uint8_t rows_state; /* enum sbx_rows_state */
    uint8_t rank;       /* enum sbx_module_rank */
    bool alive, seen;
    bool is_unsaved; /* its rows were built and not given to the cache yet */
};
extern struct sbx_module sbx_modules[SBX_MODULES_MAX];

/* Make and publish a new code map of the modules alive; keeps M1. Returns false when there is no memory: the old one
 * stays, and new modules end walks as unknown, counted. */
bool sbx_module_map_publish(void);

/* Rows came: publish them, now when it is urgent, else when the last map has been in force for some milliseconds. */
void sbx_module_map_have_rows(bool is_urgent);

/* Publish what was put off. */
void sbx_module_map_publish_rest(void);

/* How many modules the loader has loaded ever, as of the last refresh; 0: it does not count. The module thread's. */
uint64_t sbx_module_map_loads(void);

/* Has nothing been unmapped since the last look? False also where the loader does not count. A visit of its own. */
bool sbx_module_map_is_current(void);

/* Look at the loader's list in a visit of its own; the next sbx_module_map_refresh() tells what changed. */
void sbx_module_map_look_again(void);

/* Call `visitor` inside the loader, where module `index` cannot go. Returns false when it went already. */
bool sbx_module_map_visit(uint32_t index, void (*visitor)(uint32_t index, void *context), void *context);

#endif
