/* SPDX-License-Identifier: Apache-2.0 */
/* module_map.h - the modules of the process: entries in the recording, ranges for the walker.
 *
 * Only one thread at a time changes them: first the starting thread, later always the module thread.
 *
 * Where the work is done: the loader's list is read under the loader's lock, which delays every dlopen, every dlclose
 * and, with older runtimes, every C++ throw. So a visit only describes what is new, from headers and notes. Rows come
 * from the cache on disk, which does not need the loader, or they are compiled from a copy of the module's .eh_frame
 * that is taken without the lock: process_vm_readv fails where a load would fault, and afterwards the loader's count of
 * unloaded modules shows whether the module was there all the time. The copy is made inside the loader only where that
 * system call is forbidden.
 *
 * The protocol of maps and rows:
 *
 *   M1  A published map is immutable and has its own copy of each module's row descriptor. New rows, new modules and
 *       unloaded modules all make a new map with a new generation. Caches that were filled under another generation are
 *       stale.
 *   M2  Pages to which a map leads (rows) are unmapped only after a map without them was published, and then only when
 *       no walk can hold the old map, as parked_pages.h says.
 *   M3  An entry in the recording is never given to another module, because frames name it for ever. A module that
 *       comes back (same build-id, path and layout) gets its entry and its rows again, wherever it lies now.
 *   M4  The rows of unloaded modules are kept for their return, up to DEPARTED_ROWS_BYTES. The rows of modules unloaded
 *       first are dropped first. They can be found again in the cache.
 *
 * The map is stale between an unmapping and the next look (the dlclose hook first asks for a look, which then comes
 * within 1 ms, unless the loader is busy for longer). If other code was loaded at the same address meanwhile, a walk
 * through it finds the rows of the unloaded module. Its frame gets the wrong module and offset, and the step to its
 * caller may go wrong, so that the frames further out are wrong as well, or missing. The walk cannot crash, because the
 * rows are in the agent's memory and every word of the stack is read through the window. */
#ifndef SBX_MODULE_MAP_H
#define SBX_MODULE_MAP_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "eh_frame_copy.h"
#include "marks.h"
#include "recording_format.h"
#include "unwind_rows.h"

/* Look at the loader's list. If it changed, or on the first call, update the entries and publish a new map. New modules
 * have no rows until sbx_module_rows_get_next(). Returns true when a module came or went since the last call, even if
 * it came back to its old place, because its slots are new. May wait for the loader's lock. The caller must be inside a
 * visit (loader_visit.h). */
bool sbx_module_map_refresh(void);

/* In a forked child, before its first look and before sbx_capture_forget_parent(): modules that lie where they lay in
 * the parent take over the rows that the parent had for them. */
void sbx_module_map_inherit(void);

/* ---- for module_rows.c ---- */

enum sbx_rows_state {
    SBX_ROWS_WANTED = 0, /* the cache was not asked yet */
    SBX_ROWS_MISSING,    /* the cache does not have them; they must be built */
    SBX_ROWS_READY,
    SBX_ROWS_NONE
};

/* The order in which modules get rows. Walks begin in the agent's own code, pass libc, and end in the executable. */
enum sbx_module_rank {
    SBX_RANK_AGENT = 0,
    SBX_RANK_EXECUTABLE,
    SBX_RANK_LIBC,
    SBX_RANK_OTHER
};

/* The private data of a module. Its entry in the recording has the same index. No walk reads it: M1. */
struct sbx_module {
    struct sbx_unwind_rows rows;
    struct sbx_eh_frame_place place; /* where its unwind data is; eh_frame_hdr_bytes 0: it has none */
    const ElfW(Phdr) * headers;
    uint32_t departed;  /* order in which modules were unloaded */
    uint8_t rows_state; /* enum sbx_rows_state */
    uint8_t rank;       /* enum sbx_module_rank */
    bool alive, seen;
    bool is_unsaved; /* its rows were built and are not in the cache yet */
};
extern struct sbx_module sbx_modules[SBX_MODULES_MAX];

/* Make and publish a new code map of the loaded modules; keeps M1. Returns false when there is no memory for it, or no
 * room to park the old one. Then the old map stays, and walks end at new modules as unknown, which is counted. */
bool sbx_module_map_publish(void);

/* There are new rows. Publish them now if that is urgent; otherwise only if the last map has been in force for some
 * milliseconds. */
void sbx_module_map_have_rows(bool is_urgent);

/* Publish rows that were not published yet. */
void sbx_module_map_publish_rest(void);

/* How many modules the loader has loaded so far, as of the last refresh; 0: it does not count. For the module
 * thread. */
uint64_t sbx_module_map_loads(void);

/* Has no module been unloaded since the last look? False also where the loader does not count. Makes a visit of its
 * own. */
bool sbx_module_map_is_current(void);

/* Look at the loader's list in a visit of its own. The next sbx_module_map_refresh() reports what changed. */
void sbx_module_map_look_again(void);

/* Call `visitor` inside the loader, where module `index` cannot be unloaded. Returns false when it was unloaded
 * before. */
bool sbx_module_map_visit(uint32_t index, void (*visitor)(uint32_t index, void *context), void *context);

#endif
