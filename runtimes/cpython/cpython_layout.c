/* SPDX-License-Identifier: Apache-2.0 */
/* cpython_layout.c - the table. */
#include "cpython_layout_rows.h"

#include <stddef.h>

static const struct cpython_layout layouts[] = {CPYTHON_LAYOUT_3_9, CPYTHON_LAYOUT_3_10, CPYTHON_LAYOUT_3_11,
                                                CPYTHON_LAYOUT_3_12, CPYTHON_LAYOUT_3_13};

const struct cpython_layout *cpython_layout_of(unsigned minor)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (layouts[i].minor == minor) {
            return &layouts[i];
        }
    }
    return NULL;
}
