/* SPDX-License-Identifier: Apache-2.0 */
/* name_ring.h - names of functions, on their way from the walk that met them first to a thread that writes them down.
 *
 * A function may be gone when a snapshot is made, and its address another's; so its name is told when its id is made, in a
 * hook or in a handler, where nothing may be written to a file. Bounded: who finds the ring full is told so, and comes again.
 *
 * Slot t % SBX_NAMES is written by who took ticket t, when its turn is 2 * (t / SBX_NAMES); then the turn is one more, and
 * two more when it was read. A child of fork() finds an empty ring: the pages are wiped.
 *
 * Synchronization:        [1] [2] [3]      [1] tell (any thread, any handler)
 *     [1] tell             -   -   -       [2] take (one thread)
 *     [2] take             -   X   -       [3] prepare (one at a time) */
#ifndef SBX_NAME_RING_H
#define SBX_NAME_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"

enum {
    SBX_NAMES = 1024,
    SBX_NAME_SOURCE_MAX = 200, /* bytes; of a longer one the end is kept */
    SBX_NAME_FUNCTION_MAX = 96,
};

struct sbx_told_name {
    uint64_t function;
    uint32_t provider; /* its index */
    uint32_t line;     /* of the definition; 0: not known */
    uint32_t source_bytes, name_bytes;
    char source[SBX_NAME_SOURCE_MAX]; /* not terminated */
    char name[SBX_NAME_FUNCTION_MAX];
};

/* Map the ring. Any time, more than once; false: no memory, and names are not taken. */
bool sbx_name_ring_prepare(void);

/* Tell a name; text is copied, and cut. Returns false when there is no room: tell it again later. */
SBX_SIGNAL_SAFE bool sbx_name_ring_tell(uint32_t provider, uint64_t function, uint32_t line, const char *source,
                                        size_t source_bytes, const char *name, size_t name_bytes);

/* Take the oldest; false: there is none. */
bool sbx_name_ring_take(struct sbx_told_name *name_out);

/* How often there was no room. */
uint64_t sbx_name_ring_full_count(void);

#endif
