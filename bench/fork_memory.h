/* SPDX-License-Identifier: Apache-2.0 */
/* fork_memory.h - what idle children of a recorded program take, beside those of a bare one.
 *
 * A family of 8, 64 and 256 children, each of which polls ten times a second. When as many are recorded as there are seats for, and the rest has asked in vain,
 * of each child is read:
 *
 *   private    Private_Clean and Private_Dirty of smaps_rollup: pages that no other process has. Pages of its recording that it has touched are among them
 *   recording  how much of its recording's file lies in memory (st_blocks), touched or not
 *   pages of tables (VmPTE) and threads, of /proc/PID/status
 *
 * `beyond`: private pages without those of the recording, and the recording's file, and page tables, less the same of the median bare child. Not in it are the
 * kernel's stacks of threads, 16 KiB each. Medians, of children with a seat and without one apart. */
#ifndef SBX_BENCH_FORK_MEMORY_H
#define SBX_BENCH_FORK_MEMORY_H

/* Prints the table. `recordings` is where the recorded ones lie. */
void fork_memory_measure(const char *folder, const char *recordings);

#endif
