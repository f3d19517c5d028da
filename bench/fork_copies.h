/* SPDX-License-Identifier: Apache-2.0 */
/* fork_copies.h - counts what a fork of a process copies. The counts are the same on a busy machine. */
#ifndef FORK_COPIES_H
#define FORK_COPIES_H

#include <stdbool.h>
#include <sys/types.h>

struct fork_copies {
    unsigned mappings;
    unsigned pages;  /* that the kernel handles one by one: present, and neither of a file nor shared memory */
    unsigned tables; /* page tables: one for each 2 MiB with such a page (x86-64, and aarch64 with pages of 4 KiB) */
};

/* Returns false if /proc has no such information. */
bool fork_copies_count(pid_t pid, struct fork_copies *copies_out);

#endif
