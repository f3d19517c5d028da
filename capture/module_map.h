/* SPDX-License-Identifier: Apache-2.0 */
/* module_map.h - the modules of the process: entries in the recording, ranges for the walker, unwind rows.
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

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

/* Look at the loader's list; when it changed (or on the first call) update entries, publish a new map. New modules are
 * without rows until sbx_module_map_build_rows(). Returns true when something changed. May wait for the loader's lock.
 * Inside a visit (loader_visit.h) of the caller's. */
bool sbx_module_map_refresh(void);

/* Keep rows in `folder` from now on (absolute, existing; borrowed), and look for them there. NULL, "" and folders that
 * are not ours alone: rows are built in every process. */
void sbx_module_map_open_cache(const char *folder);

/* Get the rows of one module that has none yet: the agent's own first, the executable, libc, then what the cache has,
 * then the rest, small ones first. When none is left, give some of those built to the cache. Returns false when there
 * is nothing more to do and all is published. Outside of any visit: it makes its own, of microseconds. */
bool sbx_module_map_build_rows(void);

#endif
