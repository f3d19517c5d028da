/* SPDX-License-Identifier: Apache-2.0 */
/* orphans.c - an application without a companion recovers what earlier processes left, perhaps an earlier run of
 * itself.
 *
 * Runs on the module thread when that thread has nothing else to do, and never on a thread of the host. It recovers a
 * few recordings at most, and each in memory that is released afterwards. The next start recovers the rest. */
#include "orphans.h"

#include <string.h>

#include "the_capture.h"
#include "recording_recover.h"
#include "the_agent.h"

enum {
    ORPHANS_A_START = 4,                 /* a copy of a recording and two fsyncs each */
    ORPHAN_BYTES_MAX = 32 * 1024 * 1024, /* of memory for a short time; a recording has 6 MiB by default */
};

void sbx_agent_recover_orphans(void)
{
    char folder[SBX_RECORDING_PATH_MAX];
    if (!sbx_root_is_unchanged()) {
        return; /* both paths mean other folders now */
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
    if (result != 0) { /* the recording that failed stays for the next process that looks */
        sbx_store_relaxed(&sbx_the_capture.header->last_error, (uint32_t)-result);
    }
}
