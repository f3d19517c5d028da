/* SPDX-License-Identifier: Apache-2.0 */
/* task_list.h - what getdents64(2) says of /proc/PID/task, read without opendir(): that would call the host's malloc, whose
 * lock may be what the host hangs on. */
#ifndef SBX_TASK_LIST_H
#define SBX_TASK_LIST_H

#include <stdint.h>
#include <stdlib.h>

struct sbx_task_entry { /* struct linux_dirent64 */
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

/* The thread whose entry lies `*at_inout` bytes into the listing, 8 bytes aligned; 0 for "." and "..". Moves on to the
 * next entry. Any thread; no allocation, no lock. */
static inline uint32_t sbx_task_list_next(const uint8_t *listing, long *at_inout)
{
    const struct sbx_task_entry *task = (const struct sbx_task_entry *)(const void *)(listing + *at_inout);
    *at_inout += task->bytes;
    return (uint32_t)strtoul(task->name, NULL, 10);
}

#endif
