/* SPDX-License-Identifier: Apache-2.0 */
/* memory_kills.h - whether the kernel has killed a process for lack of memory in the control group of our program.
 *
 * A process that is killed so cannot report it, and its parent sees an ordinary SIGKILL. The kernel counts such kills
 * per control group, before it sends the signal: in memory.events (version 2) or memory.oom_control (version 1). A
 * group that has neither is covered by /proc/vmstat, for the whole machine. */
#ifndef SBX_MEMORY_KILLS_H
#define SBX_MEMORY_KILLS_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct sbx_memory_kills {
    char path[PATH_MAX]; /* file with the count; "": none can be read */
    long count;          /* the count at the look before the last one */
    long newest;         /* the count at the last look */
};

/* How often to look. A process that is still there at a look was not killed before the look before it. The last look
 * alone proves nothing: on a busy machine, a process that was killed takes a while to end. */
#define SBX_MEMORY_KILLS_EVERY_MS 30000

/* Note the present count for the group of process `pid`, which may have moved to another group. All fields are zero
 * before the first look. */
void sbx_memory_kills_look(struct sbx_memory_kills *kills, pid_t pid);

/* Has the count grown since the look before the last one? */
bool sbx_memory_kills_have_grown(const struct sbx_memory_kills *kills);

#endif
