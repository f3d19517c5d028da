/* SPDX-License-Identifier: Apache-2.0 */
/* id_table.h - the 64-bit ids of providers' functions, each once: an index of 13 bits stands for it in frame words.
 *
 * One open-addressed table in the recording, insertion by one compare-and-swap. Nothing is ever removed: a program has as
 * many functions as it has source, and what is full is counted by the caller, whose frame then has no function. An
 * index is known to a reader only through a frame word that was published after it, so relaxed loads suffice, as in
 * callstack_table.c.
 *
 * Any thread, any handler. */
#ifndef SBX_ID_TABLE_H
#define SBX_ID_TABLE_H

#include <stdint.h>

#include "marks.h"

/* The index of `id` among the `count` (a power of two, 16 and more) words at `ids`, inserted if new; 0 when there is no
 * room, and for id 0, which is nobody's. */
SBX_SIGNAL_SAFE uint32_t sbx_id_intern(uint64_t *ids, uint32_t count, uint64_t id);

#endif
