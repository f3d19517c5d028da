/* SPDX-License-Identifier: Apache-2.0 */
/* seat_term.h - how long a worker may keep its seat when others want it. Pure.
 *
 * A worker that rests gives way to any worker that works. A worker that works keeps its seat for a minute. After that
 * it gives way to a worker that has worked much longer than half of what this one has worked in that time. So busy
 * workers take turns, and the busiest ones have a seat most of the time. */
#ifndef SBX_SEAT_TERM_H
#define SBX_SEAT_TERM_H

#include <stdbool.h>
#include <stdint.h>

#define SBX_SEAT_KEPT    UINT64_MAX
#define SBX_SEAT_TERM_NS UINT64_C(60000000000)
#define SBX_SEAT_REST_NS UINT64_C(5000000000) /* how long a worker is watched before it counts as resting */

struct sbx_seat_term {
    uint64_t since_ns, worked_ns; /* when the seat was taken, and how much the process had worked by then */
    uint64_t window_ns, window_worked_ns;
    bool rests; /* in the last whole window */
};

/* The seat was taken. `worked_ns`: the processor time that the program has used, ever. */
void sbx_seat_term_begin(struct sbx_seat_term *term, uint64_t now_ns, uint64_t worked_ns);

/* A worker that has worked much longer than the returned time may take the seat now. SBX_SEAT_KEPT: no worker may. */
uint64_t sbx_seat_term_look(struct sbx_seat_term *term, uint64_t now_ns, uint64_t worked_ns);

#endif
