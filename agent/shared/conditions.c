/* SPDX-License-Identifier: Apache-2.0 */
/* conditions.c - one line, written to a temporary file that is then renamed. */
#include "conditions.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "own_folder.h"
#include "process_state.h"
#include "recording_file.h"
#include "temporary_file.h"

/* In the order of the bits. */
static const char *const words[] = {" unmetered", " charging", " idle"};

int sbx_conditions_write(const char *spool_path, uint32_t pid, uint64_t start_ticks, uint32_t conditions)
{
    char line[96], temporary[SBX_TEMPORARY_NAME_BYTES];
    int used = snprintf(line, sizeof line, "%" PRIu32 " %" PRIu64, pid, start_ticks);
    for (unsigned i = 0; i < 3; i++) {
        used += snprintf(line + used, sizeof line - (size_t)used, "%s", (conditions >> i & 1) != 0 ? words[i] : "");
    }
    used += snprintf(line + used, sizeof line - (size_t)used, "\n");
    int folder = sbx_own_folder_make(spool_path);
    if (folder < 0) {
        return folder;
    }
    int file = sbx_temporary_create(folder, SBX_CONDITIONS_FILE, temporary);
    int result = file < 0 ? file : 0;
    if (file >= 0) {
        ssize_t wrote = write(file, line, (size_t)used);
        result = wrote == used ? 0 : wrote < 0 ? -errno : -ENOSPC;
        if (result == 0 && renameat(folder, temporary, folder, SBX_CONDITIONS_FILE) != 0) {
            result = -errno;
        }
        /* A reader sees from the lock that we are alive, whatever pid namespace it runs in. One call at a time. */
        static void *kept;
        SBX_OF_ONE_PROCESS(kept);
        sbx_lock_drop(kept);
        kept = result == 0 ? sbx_lock_keep(file) : NULL;
        close(file);
        if (result != 0) {
            unlinkat(folder, temporary, 0);
        }
    }
    close(folder);
    return result;
}
