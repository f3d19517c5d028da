/* SPDX-License-Identifier: Apache-2.0 */
/* frame_names.h - names of the code addresses that looks found, each looked up once. */
#ifndef SBX_FRAME_NAMES_H
#define SBX_FRAME_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process_modules.h"
#include "stack_reader.h"

struct sbx_frame_name {
    const char *function; /* NULL: no name is known */
    const char *file;     /* NULL: not known */
    uint32_t line;        /* 0: not known */
    bool is_inlined;      /* it is inlined into the next one */
};

struct sbx_frame_names;

struct sbx_frame_names *sbx_frame_names_create(void); /* NULL without memory */
void sbx_frame_names_destroy(struct sbx_frame_names *names);

/* Find the functions at the frame, innermost first: more than one when functions are inlined. Returns their number (0:
 * no name, or no memory). The table owns all of them until it is destroyed. */
size_t sbx_frame_names_find(struct sbx_frame_names *names, struct sbx_process_modules *modules,
                            const struct sbx_stack_frame *frame, const struct sbx_frame_name **names_out);

#endif
