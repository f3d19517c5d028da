/* SPDX-License-Identifier: Apache-2.0 */
/* fork_memory.h - the memory of idle children of a recorded program, compared with children of a bare one.
 *
 * A family has 8, 64 or 256 children, each of which polls ten times a second. Once as many are recorded as there are
 * seats, and the others have tried without success, these values of each child are read:
 *
 *   private    Private_Clean and Private_Dirty of smaps_rollup: pages that no other process has. They include the pages
 *              of its recording that it has touched
 *   recording  how much of its recording's file is in memory (st_blocks), touched or not
 *   pages of tables (VmPTE) and threads, of /proc/PID/status
 *
 * `beyond`: private pages without those of the recording, plus the recording's file and the page tables, minus the same
 * for the median bare child. It does not include the kernel's stacks of threads, 16 KiB each. All are medians, separate
 * for children with and without a seat. */
#ifndef SBX_BENCH_FORK_MEMORY_H
#define SBX_BENCH_FORK_MEMORY_H

/* Prints the table. `recordings` is the folder of the recordings. */
void fork_memory_measure(const char *folder, const char *recordings);

#endif
