/* SPDX-License-Identifier: Apache-2.0 */
/* hearing.h - may a thread be asked by signal: does it block that signal, and has its handler room? docs/SIGNAL_SAFETY.md has the
 * reasons. All functions: the watch thread only. */
#ifndef SBX_HEARING_H
#define SBX_HEARING_H

#include <stdbool.h>
#include <stdint.h>

#include "thread_block.h"

/* Would signal `number` reach a handler of ours on that thread? False for long is counted, once. The kernel is asked once a second. */
SBX_MUST_CHECK bool sbx_thread_hears(struct sbx_thread *thread, int number, uint64_t now_ns);

/* Does it block that signal as the hooks know its mask, unless the kernel said otherwise since it last changed? */
bool sbx_thread_is_told_to_block(const struct sbx_thread *thread, int number);

#endif
