/* SPDX-License-Identifier: Apache-2.0 */
/* submitters.h - which function queued most of some tasks. Pure. */
#ifndef SBX_SUBMITTERS_H
#define SBX_SUBMITTERS_H

#include <stddef.h>

#include "report.h"

enum {
    SBX_SUBMITTERS_MAX = 16 /* functions counted apart; tasks of further functions are only counted */
};

struct sbx_submitter {
    const struct sbx_location *location;
    const struct sbx_stall_task *first, *newest; /* of its tasks, in the order of counting */
    size_t tasks;
};

/* All zero: no tasks. */
struct sbx_submitters {
    struct sbx_submitter of[SBX_SUBMITTERS_MAX];
    size_t count, most; /* the one with the most tasks is of[most] */
    size_t tasks;       /* of all functions */
};

/* Count a task that the function at `location` queued. */
void sbx_submitters_add(struct sbx_submitters *submitters, const struct sbx_location *location,
                        const struct sbx_stall_task *task);

#endif
