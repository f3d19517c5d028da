/* SPDX-License-Identifier: Apache-2.0 */
/* own_descriptors.h - our threads open files in a table of their own. */
#ifndef SBX_OWN_DESCRIPTORS_H
#define SBX_OWN_DESCRIPTORS_H

#include <stdbool.h>

/* Give the calling thread a descriptor table of its own, empty but for three that lead to /dev/null. From then on
 *
 *   - the host may close or replace any number it likes (closefrom, dup2) and hits nothing of ours: we never write
 *     into a file of its own that got our number;
 *   - it never finds a number taken by us, whatever its RLIMIT_NOFILE;
 *   - a child it forks while we have a file open inherits none;
 *   - a host of one thread is one for the kernel again: its table has one user, and its system calls take descriptors
 *     without counting references.
 *
 * To be called before the thread opens anything. Before Linux 5.9, or where it is forbidden, the table stays the
 * host's, with all of these but the last as small windows, and nothing may be kept open in it. Returns whether it is
 * the thread's own. */
bool sbx_descriptors_become_own(void);

#endif
