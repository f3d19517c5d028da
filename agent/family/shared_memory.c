/* SPDX-License-Identifier: Apache-2.0 */
/* shared_memory.c - finds an address in the mapping lists of two processes. */
#include "shared_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PART_BYTES = 4096,
    PARTS_MAX = 256 /* of a list: some 10,000 mappings */
};

/* The byte of a file that an address maps. */
struct place {
    uint64_t inode, offset;
    char device[16];
};

/* "7f00-7f10 rw-s 00001000 00:01 1026    /dev/zero (deleted)": does this line contain the address, and is it a shared
 * mapping? */
static bool read_line(const char *line, uint64_t address, struct place *place_out)
{
    char *at;
    uint64_t begin = strtoull(line, &at, 16);
    uint64_t end = *at == '-' ? strtoull(at + 1, &at, 16) : 0;
    if (*at != ' ' || address < begin || address >= end || strlen(at) < sizeof " rw-s " || at[4] != 's') {
        return false;
    }
    place_out->offset = strtoull(at + sizeof " rw-s", &at, 16) + (address - begin);
    size_t length = *at == ' ' ? strcspn(at + 1, " ") : 0;
    if (length == 0 || length >= sizeof place_out->device) {
        return false;
    }
    memcpy(place_out->device, at + 1, length);
    place_out->device[length] = '\0';
    place_out->inode = strtoull(at + 1 + length, &at, 10);
    return place_out->inode != 0;
}

static bool find(const char *path, uint64_t address, struct place *place_out)
{
    char text[PART_BYTES + 1];
    size_t have = 0;
    bool is_found = false;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    for (unsigned part = 0; file >= 0 && !is_found && part < PARTS_MAX; part++) {
        ssize_t got = read(file, text + have, PART_BYTES - have);
        if (got <= 0) {
            break;
        }
        have += (size_t)got;
        char *line = text, *end;
        text[have] = '\0';
        while (!is_found && (end = strchr(line, '\n')) != NULL) {
            *end = '\0';
            is_found = read_line(line, address, place_out);
            line = end + 1;
        }
        have -= (size_t)(line - text);
        have = have < PART_BYTES ? have : 0; /* the kernel writes no line without an end */
        memmove(text, line, have);
    }
    if (file >= 0) {
        close(file);
    }
    return is_found;
}

bool sbx_memory_is_shared(uint64_t address, uint32_t pid)
{
    char path[32];
    struct place here, there;
    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    return find("/proc/self/maps", address, &here) && find(path, address, &there) && here.inode == there.inode &&
           here.offset == there.offset && strcmp(here.device, there.device) == 0;
}
