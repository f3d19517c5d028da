/* SPDX-License-Identifier: Apache-2.0 */
/* debuginfod_option.h - which debuginfod server a command asks for names: none, unless --debuginfod says so. */
#ifndef SBX_DEBUGINFOD_OPTION_H
#define SBX_DEBUGINFOD_OPTION_H

#include <limits.h>

#include "symbolizer.h"

/* Zero: no server. */
struct sbx_debuginfod_option {
    struct sbx_debuginfod server;
    char cache_folder[PATH_MAX];
};

/* Let `symbolizer` ask the server at `url` (NULL: none). All of `option` is borrowed until the symbolizer is destroyed.
 * Fetched files are kept in $XDG_CACHE_HOME/stallbox/debuginfod or ~/.cache/stallbox/debuginfod. Returns 0, or an exit
 * status after a message that names `command`. */
int sbx_debuginfod_option_use(const char *command, const char *url, struct sbx_debuginfod_option *option,
                              struct sbx_symbolizer *symbolizer);
/* If the server could not be reached, say why. Returns 0, or SBX_EXIT_FAILED after a message. */
int sbx_debuginfod_option_tell(const char *command, struct sbx_symbolizer *symbolizer);

#endif
