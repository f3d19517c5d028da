/* SPDX-License-Identifier: Apache-2.0 */
/* script_source.h - the functions of a JavaScript file, with the ids that the provider gives them.
 *
 *    id     FNV-1a of "FILE:PLACE:BEGIN"; PLACE in units of UTF-16 where V8 says that the function begins (its
 *           parameters, or `async`), BEGIN the first SBX_SCRIPT_BEGIN units of the source from there, as UTF-8, control
 *           characters as '?'
 *
 * An id needs no name, because V8 guesses names in ways that only V8 knows. So everything that may be a function is
 * listed: an unused id does no harm. Names are the declared ones, or what the function is assigned to. */
#ifndef SBX_SCRIPT_SOURCE_H
#define SBX_SCRIPT_SOURCE_H

#include "name_list.h"

enum {
    SBX_SCRIPT_BEGIN = 48 /* units: JS_BEGIN_UNITS of runtimes/v8 */
};

/* Add the functions of `text`. `file`: the script's name without the package's folder. `map_json`: its source map, or
 * nothing. With a map, names, files and lines are those of the original source, as far as the map has them. Returns 0
 * or -errno. An invalid map is ignored with -EBADMSG, and the functions are listed by the script alone. */
int sbx_script_source_read(struct sbx_name_list *list, struct sbx_name_text file, struct sbx_name_text text,
                           struct sbx_name_text map_json);

#endif
