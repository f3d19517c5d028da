/* SPDX-License-Identifier: Apache-2.0 */
/* folder_list.h - walks the result of getdents64(2) for a folder. It replaces opendir(), which would call the program's
 * malloc, whose lock may be held by the thread that hangs. */
#ifndef SBX_FOLDER_LIST_H
#define SBX_FOLDER_LIST_H

#include <stdint.h>

struct sbx_folder_entry { /* struct linux_dirent64 */
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

/* The name in the entry at `*at_inout` bytes into the listing, which is aligned to 8 bytes. Moves on to the next entry.
 * Any thread; no allocation, no lock. */
static inline const char *sbx_folder_list_next(const void *listing, long *at_inout)
{
    const struct sbx_folder_entry *entry =
        (const struct sbx_folder_entry *)(const void *)((const uint8_t *)listing + *at_inout);
    *at_inout += entry->bytes;
    return entry->name;
}

#endif
