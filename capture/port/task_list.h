/* SPDX-License-Identifier: Apache-2.0 */
/* task_list.h - reads the threads from a listing of /proc/PID/task. */
#ifndef SBX_TASK_LIST_H
#define SBX_TASK_LIST_H

#include <stdint.h>
#include <stdlib.h>

#include "folder_list.h"

/* The thread in the entry at `*at_inout` bytes into the listing, which is aligned to 8 bytes; 0 for "." and "..". Moves
 * on to the next entry. Any thread; no allocation, no lock. */
static inline uint32_t sbx_task_list_next(const uint8_t *listing, long *at_inout)
{
    return (uint32_t)strtoul(sbx_folder_list_next(listing, at_inout), NULL, 10);
}

#endif
