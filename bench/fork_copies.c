/* SPDX-License-Identifier: Apache-2.0 */
/* fork_copies.c - reads the mappings from /proc/PID/smaps, with a flag for those that a child does not get, and their
 * pages from /proc/PID/pagemap (the kernel's admin-guide/mm/pagemap.rst). */
#include "fork_copies.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    TABLE_SHIFT = 21
};

static bool is_copied(int pagemap, unsigned long at, unsigned long page)
{
    uint64_t entry = 0;
    bool is_told = pread(pagemap, &entry, sizeof entry, (off_t)(at / page * sizeof entry)) == (ssize_t)sizeof entry;
    return is_told && (entry >> 63) != 0 && (entry >> 61 & 1) == 0;
}

/* In smaps, a mapping has a line with its addresses, and one with flags. The flag "dc" means that a child does not get
 * it. */
bool fork_copies_count(pid_t pid, struct fork_copies *copies_out)
{
    char path[64], line[512], mode[5] = "";
    unsigned long begin = 0, end = 0, last_table = 0, page = (unsigned long)sysconf(_SC_PAGESIZE);
    memset(copies_out, 0, sizeof *copies_out);
    snprintf(path, sizeof path, "/proc/%d/smaps", (int)pid);
    FILE *maps = fopen(path, "re");
    snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
    int pagemap = open(path, O_RDONLY | O_CLOEXEC);
    while (maps != NULL && pagemap >= 0 && fgets(line, sizeof line, maps) != NULL) {
        unsigned long first, last;
        if (sscanf(line, "%lx-%lx %4s", &first, &last, mode) == 3) { /* "Fi..." begins with a hexadecimal digit */
            begin = first;
            end = last;
        }
        if (strncmp(line, "VmFlags:", 8) != 0 || strstr(line, " dc") != NULL) {
            continue;
        }
        copies_out->mappings++;
        for (unsigned long at = begin; mode[3] == 'p' && at < end; at += page) {
            if (is_copied(pagemap, at, page)) {
                copies_out->pages++;
                copies_out->tables += at >> TABLE_SHIFT != last_table;
                last_table = at >> TABLE_SHIFT;
            }
        }
    }
    bool is_told = maps != NULL && pagemap >= 0;
    if (maps != NULL) {
        fclose(maps);
    }
    if (pagemap >= 0) {
        close(pagemap);
    }
    return is_told;
}
