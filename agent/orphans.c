/* SPDX-License-Identifier: Apache-2.0 */
/* orphans.c - an application without a companion looks after what the last one left, perhaps its own former life.
 *
 * On the module thread, when it has nothing else to do: never on a thread of the host's, at most a few recordings, each
 * in memory that is given back. What is not done now is done at the next start. */
#include "orphans.h"

#include <string.h>

#include "the_capture.h"
#include "recording_recover.h"
#include "the_agent.h"

enum {
    ORPHANS_A_START = 4,                 /* a copy of a recording and two fsyncs each */
    ORPHAN_BYTES_MAX = 32 * 1024 * 1024, /* of memory for a moment; a recording has 6 MiB by default */
};

void sbx_agent_recover_orphans(void)
{
    char folder[SBX_RECORDING_PATH_MAX];
    if (!sbx_root_is_unchanged()) {
        return; /* both paths lead elsewhere now */
    }
    memcpy(folder, sbx_the_agent.recording.path, sizeof folder);
    char *slash = strrchr(folder, '/');
    if (slash == NULL) {
        return;
    }
    *slash = 0;
    struct sbx_recovery_counts counts;
    const struct sbx_recovery_order order = {.folder = folder,
                                             .spool = sbx_the_capture.header->spool_path,
                                             .snapshots_max = ORPHANS_A_START,
                                             .bytes_max = ORPHAN_BYTES_MAX};
    int result = sbx_recording_recover(&order, &counts);
    if (result != 0) { /* what failed is still there for the next who looks */
        sbx_store_relaxed(&sbx_the_capture.header->last_error, (uint32_t)-result);
    }
}
