/* SPDX-License-Identifier: Apache-2.0 */
/* unread_sections.h - sections of debug information that are not read here: locations of variables, macros, call
 * frames, indexes by name. */
#ifndef SBX_UNREAD_SECTIONS_H
#define SBX_UNREAD_SECTIONS_H

#include <stdbool.h>

/* By its name: `.debug_loclists`, or `.zdebug_loc`, the older name for a compressed section. */
bool sbx_section_is_unread(const char *name);

#endif
