/* SPDX-License-Identifier: Apache-2.0 */
/* worker_seat.h - a forked worker's seat among the recorded workers of its family (family.h), and its recorder without
 * a seat.
 *
 *   SITS --it rests, or a minute is over, and another has worked longer--> AWAY --it works again, and there is a seat--> SITS
 *
 * In the state AWAY the recorder keeps its threads, hooks and file, because calls of the program may be in the middle
 * of a hook, whose pages must stay mapped (the_capture.h). But the gate is shut, and the memory of the ring and of the
 * callstack table is released. The watch thread wakes every few seconds to check whether the program works.
 *
 * A process that is no worker always counts as having a seat. Watch thread. */
#ifndef SBX_WORKER_SEAT_H
#define SBX_WORKER_SEAT_H

#include <stdbool.h>
#include <stdint.h>

/* The watch thread has started: a worker has its seat by now. */
void sbx_worker_seat_begin(uint64_t now_ns);

bool sbx_worker_sits(void);

/* Is it time to call sbx_worker_seat_look()? */
bool sbx_worker_seat_is_due(uint64_t now_ns);

/* Check whether the seat must be passed on, or whether there is a seat again. `is_free_to_go`: nothing is open that
 * could become a stall, and no snapshot is to be made. Returns whether sbx_worker_sits() has changed. Then the caller
 * must adapt the gate, and without a seat call sbx_worker_seat_pass_on(). */
bool sbx_worker_seat_look(uint64_t now_ns, bool is_free_to_go);

/* The gate is shut: release the memory, and pass the seat on. False: impossible, and the worker keeps its seat. */
bool sbx_worker_seat_pass_on(uint64_t now_ns);

/* Would another worker get the seat of this one now, if this one rests? */
bool sbx_worker_seat_is_wanted(uint64_t now_ns);

/* When to look next; UINT64_MAX: nothing to look for while the program rests. */
uint64_t sbx_worker_seat_due_ns(void);

#endif
