/* SPDX-License-Identifier: Apache-2.0 */
/* frame_names.h - names of the code addresses that looks met, each asked for once. */
#ifndef SBX_FRAME_NAMES_H
#define SBX_FRAME_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process_modules.h"
#include "stack_reader.h"

struct sbx_frame_name {
    const char *function; /* NULL: nothing names it */
    const char *file;     /* NULL: not known */
    uint32_t line;        /* 0: not known */
    bool is_inlined;      /* into the next one */
};

struct sbx_frame_names;

struct sbx_frame_names *sbx_frame_names_create(void); /* NULL without memory */
void sbx_frame_names_destroy(struct sbx_frame_names *names);

/* The functions at the frame, innermost first: more than one where a compiler put one into another. Returns how many (0: nothing
 * names it, or no memory). All are the table's, until it is destroyed. */
size_t sbx_frame_names_find(struct sbx_frame_names *names, struct sbx_process_modules *modules,
                            const struct sbx_stack_frame *frame, const struct sbx_frame_name **names_out);

#endif
