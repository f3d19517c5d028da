/* SPDX-License-Identifier: Apache-2.0 */
/* process_maps.h - the mappings of another process: /proc/PID/maps. */
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
    const char *path; /* "": none; as the process sees it, perhaps followed by " (deleted)" */
};

struct sbx_process_maps {
    struct sbx_mapping *mappings; /* sorted by address */
    size_t count;
    char *text; /* the paths point into this text */
};

/* Pure. Takes `text` (malloc'ed, NUL-terminated), also on failure. Invalid lines are left out. Returns 0 or -ENOMEM. */
int sbx_process_maps_parse(char *text, struct sbx_process_maps *maps_out);

/* Read the maps of a process. Returns 0 or -errno. Release them. */
int sbx_process_maps_read(pid_t pid, struct sbx_process_maps *maps_out);
void sbx_process_maps_release(struct sbx_process_maps *maps);

/* The mapping that holds `address`, or NULL. */
const struct sbx_mapping *sbx_process_maps_find(const struct sbx_process_maps *maps, uint64_t address);

#endif
