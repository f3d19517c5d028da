/* SPDX-License-Identifier: Apache-2.0 */
/* worker_seat.h - a forked worker's seat among the recorded ones of its family (family.h), and what becomes of its recorder without one.
 *
 *   SITS --it rests, or a minute is over, and another has worked longer--> AWAY --it works again, and there is a seat--> SITS
 *
 * Away, the recorder stays as it is: threads, hooks and the file, because calls of the program may be in the middle of a hook, whose pages may never go
 * (the_capture.h). But the gate is shut, and the memory of the ring and of the callstack table is given back. The watch thread wakes every few
 * seconds to see whether the program works.
 *
 * Of a process that is no worker all of it says that it sits. Watch thread. */
#ifndef SBX_WORKER_SEAT_H
#define SBX_WORKER_SEAT_H

#include <stdbool.h>
#include <stdint.h>

/* The watch thread is up: a worker has its seat by now. */
void sbx_worker_seat_begin(uint64_t now_ns);

bool sbx_worker_sits(void);

/* May sbx_worker_seat_look() find anything? */
bool sbx_worker_seat_is_due(uint64_t now_ns);

/* Look whether the seat is to be passed on, or whether there is one again. `is_free_to_go`: nothing is open that could become a stall, and no
 * snapshot is to be made. Returns whether sbx_worker_sits() says something else now: then the gate follows, and who does not sit any more calls
 * sbx_worker_seat_pass_on(). */
bool sbx_worker_seat_look(uint64_t now_ns, bool is_free_to_go);

/* The gate is shut: give the memory back, and the seat to others. False: it could not be, and the worker sits as before. */
bool sbx_worker_seat_pass_on(uint64_t now_ns);

/* Would the seat of one who rests now go to another? */
bool sbx_worker_seat_is_wanted(uint64_t now_ns);

/* When to look next; UINT64_MAX: there is nothing to look for while the program rests. */
uint64_t sbx_worker_seat_due_ns(void);

#endif
