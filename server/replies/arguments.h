/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.h - a request's arguments, as they stand behind its '?': borrowed. Which ones a path takes: routes.c. */
#ifndef SBX_ARGUMENTS_H
#define SBX_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

struct sbx_arguments {
    struct {
        const char *name, *value;
    } each[16];
    size_t count;
    bool is_broken; /* more of them, one without a value, or with a zero byte: refused before anything is looked at */
};

#endif
