/* SPDX-License-Identifier: Apache-2.0 */
/* module_map.h - the modules of the process: entries in the recording, ranges for the walker, unwind rows.
 *
 * Changed by one thread at a time: the starting thread first, the module thread ever after.
 *
 * A map that was replaced is parked until no walk can hold it: walks load the map while their thread's `inside` is set, so
 * once every thread has been seen with `inside` clear after the replacement, the old map is nobody's. The two loads need an
 * order that would cost each walk a fence; membarrier(2) puts the cost here instead (the scheme of userspace RCU's
 * sys_membarrier flavour). Where the kernel has no membarrier, maps are never freed. */
#ifndef SBX_MODULE_MAP_H
#define SBX_MODULE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

/* Look at the loader's list; when it changed (or on the first call) update entries, publish a new map. New modules are
 * without rows until sbx_module_map_build_rows(). Returns true when something changed. May wait for the loader's lock.
 */
bool sbx_module_map_refresh(void);

/* Compile the rows of one module that has none yet, the agent's own first, then the executable. Returns false when
 * every module has its rows. */
bool sbx_module_map_build_rows(void);

#endif
