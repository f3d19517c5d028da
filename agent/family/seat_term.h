/* SPDX-License-Identifier: Apache-2.0 */
/* seat_term.h - how long a worker may keep its seat when others want it. Pure.
 *
 * Who rests gives way to anybody who works. Who works keeps its seat for a minute, and gives way then to who has worked half as long as it has
 * in that minute, or longer: so those who work take turns, and those who work most sit most of the time. */
#ifndef SBX_SEAT_TERM_H
#define SBX_SEAT_TERM_H

#include <stdbool.h>
#include <stdint.h>

#define SBX_SEAT_KEPT    UINT64_MAX
#define SBX_SEAT_TERM_NS UINT64_C(60000000000)
#define SBX_SEAT_REST_NS UINT64_C(5000000000) /* how long a worker is watched before it counts as one that rests */

struct sbx_seat_term {
    uint64_t since_ns, worked_ns; /* when the seat was taken, and what the process had worked by then */
    uint64_t window_ns, window_worked_ns;
    bool rests; /* in the last whole window */
};

/* The seat was taken. `worked_ns`: the processor time that the program has used, ever. */
void sbx_seat_term_begin(struct sbx_seat_term *term, uint64_t now_ns, uint64_t worked_ns);

/* Who has worked much longer than what this returns may have the seat now. SBX_SEAT_KEPT: nobody. */
uint64_t sbx_seat_term_look(struct sbx_seat_term *term, uint64_t now_ns, uint64_t worked_ns);

#endif
