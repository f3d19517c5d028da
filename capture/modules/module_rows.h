/* SPDX-License-Identifier: Apache-2.0 */
/* module_rows.h - unwind rows for the modules of module_map.h: from the cache on disk, or compiled and then put into
 * it.
 *
 * The thread that changes the map does this outside of any visit to the loader. A module's unwind data is copied
 * without the loader's lock (module_map.h says why that is safe), and compiling, reading and writing files delay no
 * other thread. */
#ifndef SBX_MODULE_ROWS_H
#define SBX_MODULE_ROWS_H

#include <stdbool.h>

/* From now on keep rows in `folder` (absolute, existing; borrowed), and look for them there. With NULL, "" and folders
 * that other users can write to, rows are built in every process. */
void sbx_module_rows_open_cache(const char *folder);

/* Is there a module that has no rows yet? */
bool sbx_module_rows_are_wanted(void);

/* Get the rows of one module that has none yet: first the agent's own, then the executable, libc, modules that the
 * cache has, and the rest, small ones first. When no module is left, put some of the built rows into the cache. Returns
 * false when there is nothing more to do and everything is published. Makes visits of its own, which take
 * microseconds. */
bool sbx_module_rows_get_next(void);

/* Rows that are built from now on share a memory file, which stays open until all modules have theirs: this needs a
 * thread with descriptors of its own. false: that file is sealed and closed. */
void sbx_module_rows_share_a_file(bool has_own_descriptors);

#endif
