/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.h - the query arguments of a request, borrowed. routes.c has the arguments that each path takes. */
#ifndef SBX_ARGUMENTS_H
#define SBX_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

struct sbx_arguments {
    struct {
        const char *name, *value;
    } each[16];
    size_t count;
    bool is_broken; /* too many, one without a value, or one with a zero byte: the request is refused */
};

#endif
