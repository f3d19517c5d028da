/* SPDX-License-Identifier: Apache-2.0 */
/* submitters.c - tasks counted by the name of the function that queued them. */
#include "submitters.h"

#include <string.h>

void sbx_submitters_add(struct sbx_submitters *submitters, const struct sbx_location *location,
                        const struct sbx_stall_task *task)
{
    size_t at = 0;
    while (at < submitters->count && strcmp(submitters->of[at].location->function, location->function) != 0) {
        at++;
    }
    submitters->tasks++;
    if (at == submitters->count) {
        if (submitters->count == SBX_SUBMITTERS_MAX) {
            return;
        }
        submitters->of[submitters->count++] = (struct sbx_submitter){.location = location, .first = task};
    }
    struct sbx_submitter *submitter = &submitters->of[at];
    submitter->newest = task;
    submitters->most = ++submitter->tasks > submitters->of[submitters->most].tasks ? at : submitters->most;
}
