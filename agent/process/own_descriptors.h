/* SPDX-License-Identifier: Apache-2.0 */
/* own_descriptors.h - our threads open files in a descriptor table of their own. */
#ifndef SBX_OWN_DESCRIPTORS_H
#define SBX_OWN_DESCRIPTORS_H

#include <stdbool.h>

/* Give the calling thread a descriptor table of its own, empty except for three descriptors of /dev/null. From then on
 *
 *   - the host may close or replace any descriptor (closefrom, dup2) without effect on ours, so we never write into a
 *     file of the host that got our number;
 *   - the host never finds a number taken by us, whatever its RLIMIT_NOFILE;
 *   - a child that the host forks while we have a file open inherits none of our descriptors;
 *   - a host of one thread counts as single-threaded again in the kernel: its table has one user, and its system calls
 *     use descriptors without counting references.
 *
 * Must be called before the thread opens anything. Before Linux 5.9, or where the call is forbidden, the table stays
 * the host's. Then nothing may be kept open in it, all of these guarantees but the last can fail for short moments, and
 * the last does not hold. Returns whether the table is the thread's own. */
bool sbx_descriptors_become_own(void);

#endif
