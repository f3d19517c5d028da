/* SPDX-License-Identifier: Apache-2.0 */
/* module_rows.h - unwind rows for the modules of module_map.h: from the cache on disk, or compiled and left there.
 *
 * By the thread that changes the map, outside of any visit to the loader: a module's unwind data is copied without the
 * loader's lock (module_map.h says how that is sound), and compiling, reading and writing files hold up nobody. */
#ifndef SBX_MODULE_ROWS_H
#define SBX_MODULE_ROWS_H

#include <stdbool.h>

/* Keep rows in `folder` from now on (absolute, existing; borrowed), and look for them there. NULL, "" and folders that
 * are not ours alone: rows are built in every process. */
void sbx_module_rows_open_cache(const char *folder);

/* Has any module no rows yet? */
bool sbx_module_rows_are_wanted(void);

/* Get the rows of one module that has none yet: the agent's own first, the executable, libc, then what the cache has,
 * then the rest, small ones first. When none is left, give some of those built to the cache. Returns false when there
 * is nothing more to do and all is published. Makes visits of its own, of microseconds. */
bool sbx_module_rows_get_next(void);

#endif
