/* SPDX-License-Identifier: Apache-2.0 */
/* id_table.h - the 64-bit ids of providers' functions, each once: in frame words an index of 13 bits stands for an id.
 *
 * One open-addressed table in the recording, with insertion by one compare-and-swap. Nothing is removed, because a
 * program has only as many functions as its source. When the table is full, the caller counts it, and its frame has no
 * function. A reader knows an index only from a frame word that was published after it. So relaxed loads suffice, as in
 * callstack_table.c.
 *
 * Any thread, any handler. */
#ifndef SBX_ID_TABLE_H
#define SBX_ID_TABLE_H

#include <stdint.h>

#include "marks.h"

/* The index of `id` among the `count` words at `ids` (a power of two, at least 16), inserted if new. 0: there is no
 * room, or the id is 0, which is not an id. */
SBX_SIGNAL_SAFE uint32_t sbx_id_intern(uint64_t *ids, uint32_t count, uint64_t id);

#endif
