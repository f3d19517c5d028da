/* SPDX-License-Identifier: Apache-2.0 */
/* conditions.c - one line, written aside and renamed. */
#include "conditions.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "recording_file.h"

/* In the order of the bits. */
static const char *const words[] = {" unmetered", " charging", " idle"};

int sbx_conditions_write(const char *spool_path, uint32_t pid, uint64_t start_ticks, uint32_t conditions)
{
    char line[96], temporary[48];
    int used = snprintf(line, sizeof line, "%" PRIu32 " %" PRIu64, pid, start_ticks);
    for (unsigned i = 0; i < 3; i++) {
        used += snprintf(line + used, sizeof line - (size_t)used, "%s", (conditions >> i & 1) != 0 ? words[i] : "");
    }
    used += snprintf(line + used, sizeof line - (size_t)used, "\n");
    int result = sbx_make_folders(spool_path);
    int folder = result == 0 ? open(spool_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder < 0) {
        return result != 0 ? result : -errno;
    }
    snprintf(temporary, sizeof temporary, "." SBX_CONDITIONS_FILE ".%u.tmp", pid);
    int file = openat(folder, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    result = file < 0 ? -errno : 0;
    if (file >= 0) {
        ssize_t wrote = write(file, line, (size_t)used);
        result = wrote == used ? 0 : wrote < 0 ? -errno : -ENOSPC;
        if (close(file) != 0 && result == 0) {
            result = -errno;
        }
        if (result == 0 && renameat(folder, temporary, folder, SBX_CONDITIONS_FILE) != 0) {
            result = -errno;
        }
        if (result != 0) {
            unlinkat(folder, temporary, 0);
        }
    }
    close(folder);
    return result;
}
