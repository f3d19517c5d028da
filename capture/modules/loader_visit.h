/* SPDX-License-Identifier: Apache-2.0 */
/* loader_visit.h - keeps a fork from happening while a thread of the agent is inside the dynamic loader.
 *
 * A fork while a thread of the agent is inside the loader would leave the loader's lock held in the child for ever
 * (glibc resets its other locks there, but not that one; seen with 2.36: every dlopen of such a child hangs). So fork
 * waits for a visit to end, and visits are short: nothing is compiled, copied from disk or written in one. Fork does
 * not wait for a visitor that waits for the loader's lock itself, because a program may fork while it holds that
 * lock. */
#ifndef SBX_LOADER_VISIT_H
#define SBX_LOADER_VISIT_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/* Called around every sbx_loader_visit_each() on a thread of the agent. They do not nest. sbx_loader_visit_begin()
 * waits for a fork in progress. */
void sbx_loader_visit_begin(void);
void sbx_loader_visit_end(void);

/* dl_iterate_phdr() that tells a concurrent fork when a visitor has the loader's lock. It may nest. Call it on a thread
 * of the agent within a visit, or before there are other threads. */
int sbx_loader_visit_each(int (*call)(struct dl_phdr_info *info, size_t bytes, void *context), void *context);

/* In a forked child: was no thread of the agent in a visit at the fork? If one was, the data that a visit changes may
 * have been copied in the middle of a change. */
bool sbx_loader_was_left(void);

/* Called once, before a thread of the agent visits the loader while other threads run. */
void sbx_loader_visit_start(void);

#endif
