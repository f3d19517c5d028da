/* SPDX-License-Identifier: Apache-2.0 */
/* hearing.h - may a thread be asked by signal? It must not block that signal, and its handler needs room.
 * docs/SIGNAL_SAFETY.md has the reasons. All functions: the watch thread only. */
#ifndef SBX_HEARING_H
#define SBX_HEARING_H

#include <stdbool.h>
#include <stdint.h>

#include "thread_block.h"

/* Would signal `number` reach a handler of ours on that thread? A thread for which the answer stays false is counted,
 * once. The kernel is asked once a second. */
SBX_MUST_CHECK bool sbx_thread_hears(struct sbx_thread *thread, int number, uint64_t now_ns);

/* Does the thread block that signal? The hooks' knowledge of its mask counts, unless the kernel said otherwise since
 * the mask last changed. */
bool sbx_thread_is_told_to_block(const struct sbx_thread *thread, int number);

#endif
