/* SPDX-License-Identifier: Apache-2.0 */
/* process_life.c - kill() with signal 0, and the line of /proc/PID/stat. */
#include "process_life.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "process_facts.h"
#include "raw_syscall.h"

/* Raw system calls, because open() and read() are cancellation points. */
static bool read_stat(uint32_t pid, struct sbx_process_stat *stat_out)
{
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    long file = sbx_raw_open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    long got = sbx_raw_syscall(SYS_read, file, (long)(uintptr_t)text, sizeof text - 1, 0, 0, 0);
    sbx_raw_close((int)file);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 && sbx_process_stat_parse(text, stat_out) == 0;
}

static uint32_t began_of(const struct sbx_process_stat *stat)
{
    uint32_t began = (uint32_t)stat->start_ticks;
    return began != 0 ? began : 1;
}

uint32_t sbx_process_began(uint32_t pid)
{
    struct sbx_process_stat stat;
    return read_stat(pid, &stat) ? began_of(&stat) : 0;
}

bool sbx_process_lives(uint32_t pid, uint32_t began)
{
    struct sbx_process_stat stat;
    if (sbx_raw_syscall(SYS_kill, (long)pid, 0, 0, 0, 0, 0) == -ESRCH) {
        return false;
    }
    if (!read_stat(pid, &stat)) {
        return true;
    }
    /* A first thread that has ended while others go on is shown as a zombie, too. */
    bool has_ended = (stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1;
    return !has_ended && (began == 0 || began == began_of(&stat));
}
