/* SPDX-License-Identifier: Apache-2.0 */
/* raw_snapshot.c - the folder, the names in it, and the rename of a finished file. */
#include "raw_snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own_folder.h"
#include "recording_format.h"

enum {
    NO_REPLACE = 1 /* RENAME_NOREPLACE */
};

int sbx_raw_folder_open(const char *spool_path)
{
    int spool = sbx_own_folder_make(spool_path);
    if (spool < 0) {
        return spool;
    }
    int folder = sbx_own_folder_open_at(spool, "raw", true);
    close(spool);
    return folder;
}

void sbx_raw_name_print(const uint8_t id[16], char name_out[SBX_RAW_NAME_BYTES])
{
    for (unsigned i = 0; i < 16; i++) {
        snprintf(name_out + 2 * i, 3, "%02x", id[i]);
    }
    memcpy(name_out + 32, SBX_RAW_SUFFIX, sizeof SBX_RAW_SUFFIX);
}

int sbx_raw_name_give(int folder, const char *temporary, const char *name)
{
    struct stat status;
    if (syscall(SYS_renameat2, folder, temporary, folder, name, NO_REPLACE) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return -errno;
    }
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        return -EEXIST;
    }
    if (errno != ENOENT) {
        return -errno;
    }
    return renameat(folder, temporary, folder, name) == 0 ? 0 : -errno;
}
