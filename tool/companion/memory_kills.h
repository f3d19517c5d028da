/* SPDX-License-Identifier: Apache-2.0 */
/* memory_kills.h - whether the kernel has killed somebody for want of memory where our program runs.
 *
 * A process that is killed so cannot say it, and its parent sees a SIGKILL like any other. The kernel counts such kills by
 * control group, before it sends the signal: memory.events of version 2, memory.oom_control of version 1, and where a
 * group has neither, /proc/vmstat for the whole machine. */
#ifndef SBX_MEMORY_KILLS_H
#define SBX_MEMORY_KILLS_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct sbx_memory_kills {
    char path[PATH_MAX]; /* of the file that counts; "": none can be read */
    long count;          /* what it said at the last look */
};

/* How often it should be looked: only what was counted since then can be this process. */
#define SBX_MEMORY_KILLS_EVERY_MS 30000

/* Note what is counted now in the group of process `pid`, which may have moved since. */
void sbx_memory_kills_look(struct sbx_memory_kills *kills, pid_t pid);

/* Has it grown since? */
bool sbx_memory_kills_have_grown(const struct sbx_memory_kills *kills);

#endif
