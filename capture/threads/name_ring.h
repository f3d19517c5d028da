/* SPDX-License-Identifier: Apache-2.0 */
/* name_ring.h - names of functions, on their way from the walk that met them first to the thread that writes them to a
 * file.
 *
 * When a snapshot is made, a function may be gone and its address reused. So its name is stored when its id is made.
 * That happens in a hook or in a handler, where no file may be written. The ring is bounded: a writer that finds it
 * full gets false, and tries again later.
 *
 * The writer that took ticket t writes slot t % SBX_NAMES, when the slot's turn is 2 * (t / SBX_NAMES). The turn is one
 * more after the write, and two more after the read. A child of fork() finds an empty ring, because the pages are wiped
 * on fork.
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
    SBX_NAME_SOURCE_MAX = 200, /* bytes; of a longer name the end is kept */
    SBX_NAME_FUNCTION_MAX = 96,
};

struct sbx_told_name {
    uint64_t function;
    uint32_t provider; /* index of the provider */
    uint32_t line;     /* line of the definition; 0: not known */
    uint32_t source_bytes, name_bytes;
    char source[SBX_NAME_SOURCE_MAX]; /* not terminated */
    char name[SBX_NAME_FUNCTION_MAX];
};

/* Map the ring. May be called at any time, more than once. False: no memory, and no names are taken. */
bool sbx_name_ring_prepare(void);

/* Store a name. The text is copied, and cut if it is too long. Returns false when there is no room: store it again
 * later. */
SBX_SIGNAL_SAFE bool sbx_name_ring_tell(uint32_t provider, uint64_t function, uint32_t line, const char *source,
                                        size_t source_bytes, const char *name, size_t name_bytes);

/* Take the oldest name; false: there is none. */
bool sbx_name_ring_take(struct sbx_told_name *name_out);

/* How often there was no room. */
uint64_t sbx_name_ring_full_count(void);

#endif
