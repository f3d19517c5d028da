/* SPDX-License-Identifier: Apache-2.0 */
/* unread_sections.c - the names of sections that are not read here. */
#include "unread_sections.h"

#include <stddef.h>
#include <string.h>

bool sbx_section_is_unread(const char *name)
{
    static const char *const unread[] = {"loc",          "loclists",    "frame",   "macro",        "macinfo",
                                         "pubnames",     "pubtypes",    "aranges", "gnu_pubnames", "gnu_pubtypes",
                                         "loclists.dwo", "macinfo.dwo", "loc.dwo", "macro.dwo"};
    const char *part = strncmp(name, ".debug_", 7) == 0    ? name + 7
                       : strncmp(name, ".zdebug_", 8) == 0 ? name + 8
                                                           : NULL;
    bool is_one = false;
    for (size_t i = 0; part != NULL && !is_one && i < sizeof unread / sizeof unread[0]; i++) {
        is_one = strcmp(part, unread[i]) == 0;
    }
    return is_one;
}
