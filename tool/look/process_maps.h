/* SPDX-License-Identifier: Apache-2.0 */
/* process_maps.h - what is mapped where in another process: /proc/PID/maps. */
#ifndef SBX_PROCESS_MAPS_H
#define SBX_PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sbx_mapping {
    uint64_t begin, end; /* addresses */
    uint64_t offset;     /* in the file */
    uint64_t device;     /* major << 32 | minor */
    uint64_t inode;      /* 0: no file */
    bool is_readable, is_executable;
    const char *path; /* "" when it has none; as the process sees it, perhaps with " (deleted)" behind */
};

struct sbx_process_maps {
    struct sbx_mapping *mappings; /* by address */
    size_t count;
    char *text; /* what the paths point into */
};

/* Pure. Takes `text` (malloc'ed, NUL-terminated), also when it fails. Lines that are no mapping are left out. 0 or -ENOMEM. */
int sbx_process_maps_parse(char *text, struct sbx_process_maps *maps_out);

/* Of a process; 0 or -errno. Release it. */
int sbx_process_maps_read(pid_t pid, struct sbx_process_maps *maps_out);
void sbx_process_maps_release(struct sbx_process_maps *maps);

/* The mapping that holds `address`, or NULL. */
const struct sbx_mapping *sbx_process_maps_find(const struct sbx_process_maps *maps, uint64_t address);

#endif
