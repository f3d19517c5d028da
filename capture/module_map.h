/* SPDX-License-Identifier: Apache-2.0 */
/* module_map.h - the modules of the process: entries in the recording, ranges for the walker, unwind rows.
 *
 * Changed by one thread at a time: the starting thread first, the module thread ever after. Published maps are never
 * freed: a walk may hold one for as long as the scheduler pleases, and a map is some kilobytes. */
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
