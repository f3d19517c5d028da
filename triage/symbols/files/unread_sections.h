/* SPDX-License-Identifier: Apache-2.0 */
/* unread_sections.h - sections of debug information that nobody here reads: where variables are, macros, call frames, indexes by name. */
#ifndef SBX_UNREAD_SECTIONS_H
#define SBX_UNREAD_SECTIONS_H

#include <stdbool.h>

/* By its name, `.debug_loclists` or `.zdebug_loc`, as it was once called when it was compressed. */
bool sbx_section_is_unread(const char *name);

#endif
