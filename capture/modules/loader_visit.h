/* SPDX-License-Identifier: Apache-2.0 */
/* loader_visit.h - whoever of us is inside the dynamic loader, so that a fork does not meet him there.
 *
 * A fork while a thread of ours is inside the loader would leave the loader's lock held in the child for ever (glibc
 * resets its other locks there, not that one; seen with 2.36: every dlopen of such a child hangs). So fork waits for a
 * visit to end, and visits are short: nothing is compiled, copied from disk or written in one. Not for a visitor that
 * waits for the loader's lock itself: a program may fork while it holds that. */
#ifndef SBX_LOADER_VISIT_H
#define SBX_LOADER_VISIT_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/* Around every sbx_loader_visit_each() on a thread of ours. Do not nest. The first waits for a fork under way. */
void sbx_loader_visit_begin(void);
void sbx_loader_visit_end(void);

/* dl_iterate_phdr(), and a fork beside it knows when the loader's lock is ours. It may nest. On a thread of ours, within a visit,
 * or before there are other threads. */
int sbx_loader_visit_each(int (*call)(struct dl_phdr_info *info, size_t bytes, void *context), void *context);

/* In a forked child: was none of ours in a visit at the fork? Else what a visit changes may have been copied in the middle of it. */
bool sbx_loader_was_left(void);

/* Once, before a thread of ours visits beside others. */
void sbx_loader_visit_start(void);

#endif
