/* SPDX-License-Identifier: Apache-2.0 */
/* fork_copies.h - what a fork of a process copies, counted: the same on a busy machine. */
#ifndef FORK_COPIES_H
#define FORK_COPIES_H

#include <stdbool.h>
#include <sys/types.h>

struct fork_copies {
    unsigned mappings;
    unsigned pages;  /* that the kernel goes through one by one: present, and neither a file's nor shared memory */
    unsigned tables; /* of pages: each 2 MiB that have such a page want one (x86-64, and aarch64 with pages of 4 KiB) */
};

/* False: /proc does not tell. */
bool fork_copies_count(pid_t pid, struct fork_copies *copies_out);

#endif
