/* SPDX-License-Identifier: Apache-2.0 */
/* upload_jitter.c - derives a share of the jitter from the id. */
#include "upload_jitter.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "spool_folders.h"

static uint64_t ms_of(struct timespec time)
{
    return time.tv_sec > 0 ? (uint64_t)time.tv_sec * 1000u + (uint64_t)time.tv_nsec / 1000000u : 0;
}

uint64_t sbx_upload_jitter_of(const uint8_t id[16], uint32_t jitter_s, uint64_t written_ms, uint64_t now_ms)
{
    uint64_t random = 0;
    for (unsigned i = 0; i < 4; i++) {
        random = random << 8 | id[i + 8];
    }
    uint64_t wait_ms = (uint64_t)jitter_s * 1000u * random >> 32;
    uint64_t age_ms = now_ms >= written_ms ? now_ms - written_ms : UINT64_MAX;
    return age_ms < wait_ms ? wait_ms - age_ms : 0;
}

uint64_t sbx_upload_jitter_left_ms(int folder, const uint8_t id[16], uint32_t jitter_s)
{
    char name[SBX_SPOOL_NAME_BYTES];
    struct stat status;
    struct timespec now;
    if (jitter_s == 0) {
        return 0;
    }
    sbx_spool_name(id, ".sbx", name);
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return 0;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    return sbx_upload_jitter_of(id, jitter_s, ms_of(status.st_mtim), ms_of(now));
}
