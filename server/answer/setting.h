/* SPDX-License-Identifier: Apache-2.0 */
/* setting.h - one option that a server runs with, in words: the server writes it, a page shows it. */
#ifndef SBX_SETTING_H
#define SBX_SETTING_H

enum {
    SBX_SETTING_BYTES = 200
};

struct sbx_setting { /* all strings are literals, except the value */
    const char *group, *name;
    const char *option; /* the option that sets it; "": none */
    char value[SBX_SETTING_BYTES];
};

#endif
