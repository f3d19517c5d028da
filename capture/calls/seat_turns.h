/* SPDX-License-Identifier: Apache-2.0 */
/* seat_turns.h - more threads than seats: a thread that waits gives its seat back, and takes one again afterwards.
 *
 * When seven eighths of the seats are taken, a thread that begins to wait gives its seat back, as at its end, and is then like a
 * thread that never had one: nothing of it points into the entry or the block. So threads that wait for ever hold seven eighths at
 * most, and the rest goes from one to the other. When the wait was long enough to be told, the thread sits down and tells it; else
 * it sits down at its next hook that is no wait. It finds its seat as it left it, if nobody else took it meanwhile, and goes on in the same chunk; else it
 * takes another that is free.
 *
 *   T1  A seat is given back by its own thread alone, in one piece: all signals but those of faults are blocked, and its TLS says
 *       GONE. So no handler of the host's finds half of it, and no jump leaves half of it.
 *   T2  No frame of ours that is further out on the stack holds the block: nothing of ours runs (`inside`), no call is open, and
 *       the thread is in no signal handler, which could have interrupted a hook anywhere (handler_frames.h).
 *   T3  Afterwards the thread's alternate stack is not the one in the block: the kernel is asked. Because of T2 there is no handler whose
 *       return would bring it back (the kernel restores it from the handler's frame).
 *   T4  entry.state and `owner` of the block (thread_seats.h) decide whose the seat is, for a thread that comes back as for any other.
 *   T5  The price is bounded: a thread gives its seat back once in 400 us at most, over 50 ms, so that 1 % of its time goes into it
 *       at the very worst; and threads that find their own seat taken sit down 100 times a second, all of them together, because each
 *       begins a chunk of the ring.
 *
 * Not given back: the seats of the main thread, of threads with messages, frames or watches, and of those that wait in a handler, on a
 * stack that is not their own, or more than SBX_LOOK_FOR_HANDLERS_MOST deep. */
#ifndef SBX_SEAT_TURNS_H
#define SBX_SEAT_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"
#include "former_seat.h"
#include "marks.h"
#include "thread_block.h"

/* Groups whose calls wait for something that may not come for long. */
#define SBX_GROUPS_THAT_WAIT                                                                                   \
    (SBX_POINT_BIT(SBX_GROUP_LOCK) | SBX_POINT_BIT(SBX_GROUP_COND) | SBX_POINT_BIT(SBX_GROUP_POLL) |           \
     SBX_POINT_BIT(SBX_GROUP_SLEEP) | SBX_POINT_BIT(SBX_GROUP_FILE) | SBX_POINT_BIT(SBX_GROUP_SOCKET) |        \
     SBX_POINT_BIT(SBX_GROUP_RWLOCK) | SBX_POINT_BIT(SBX_GROUP_SEMAPHORE) | SBX_POINT_BIT(SBX_GROUP_BARRIER) | \
     SBX_POINT_BIT(SBX_GROUP_JOIN) | SBX_POINT_BIT(SBX_GROUP_EVENTFD) | SBX_POINT_BIT(SBX_GROUP_FUTEX) |       \
     SBX_POINT_BIT(SBX_GROUP_FILE_LOCK))

/* `shield` of a call that began without a seat: no block, and equal to none. */
#define SBX_WITHOUT_SEAT ((struct sbx_thread *)2)

/* The calling thread, whose block this is, is about to wait, at `here`: give its seat back. True: nothing of the block may be touched
 * any more. Keeps errno. */
SBX_HOOK_SAFE SBX_NOINLINE bool sbx_seat_give(struct sbx_thread *thread, uint64_t here, uint64_t now_ns);

#endif
