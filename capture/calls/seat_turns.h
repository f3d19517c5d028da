/* SPDX-License-Identifier: Apache-2.0 */
/* seat_turns.h - more threads than seats: a thread that waits gives its seat back, and takes one again afterwards.
 *
 * When seven eighths of the seats are taken, a thread that begins to wait gives its seat back, as it does when it ends.
 * It is then like a thread that never had a seat: it has no pointer into the entry or the block. So threads that wait
 * for ever hold at most seven eighths of the seats, and the other threads share the rest. When the wait was long enough
 * to be recorded, the thread takes a seat and records the wait. Otherwise it takes a seat at its next hook that is not
 * a wait. If no other thread took its old seat meanwhile, the thread finds it as it left it and continues in the same
 * chunk. Otherwise it takes another free seat.
 *
 *   T1  Only the thread itself gives its seat back, in one step: all signals except those of faults are blocked, and
 *       its TLS says GONE. So no signal handler of the program sees the step half done, and no jump leaves it half
 *       done.
 *   T2  No frame of the agent further out on the stack uses the block: the agent's code does not run (`inside`), no
 *       call is open, and the thread is in no signal handler, which could have interrupted a hook anywhere
 *       (handler_frames.h).
 *   T3  Afterwards the thread's alternate signal stack is not the one in the block; the kernel is asked whether that is
 *       so. When a handler returns, the kernel restores the alternate stack from the handler's frame. Because of T2
 *       there is no such handler.
 *   T4  entry.state and `owner` of the block (thread_seats.h) decide which thread has the seat. A thread that comes
 *       back gets no other treatment.
 *   T5  The cost is bounded. A thread gives its seat back at most once in 400 us, averaged over 50 ms, so this takes at
 *       most 1 % of its time. Threads that find their old seat taken take new seats at most 100 times a second, all
 *       threads together, because each of them begins a chunk of the ring.
 *
 * Some seats are not given back: that of the main thread, those of threads with messages, frames or watches, and those
 * of threads that wait in a signal handler, on a stack that is not their own, or more than SBX_LOOK_FOR_HANDLERS_MOST
 * deep. */
#ifndef SBX_SEAT_TURNS_H
#define SBX_SEAT_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"
#include "former_seat.h"
#include "marks.h"
#include "thread_block.h"

/* Groups whose calls may wait for a very long time. */
#define SBX_GROUPS_THAT_WAIT                                                                                   \
    (SBX_POINT_BIT(SBX_GROUP_LOCK) | SBX_POINT_BIT(SBX_GROUP_COND) | SBX_POINT_BIT(SBX_GROUP_POLL) |           \
     SBX_POINT_BIT(SBX_GROUP_SLEEP) | SBX_POINT_BIT(SBX_GROUP_FILE) | SBX_POINT_BIT(SBX_GROUP_SOCKET) |        \
     SBX_POINT_BIT(SBX_GROUP_RWLOCK) | SBX_POINT_BIT(SBX_GROUP_SEMAPHORE) | SBX_POINT_BIT(SBX_GROUP_BARRIER) | \
     SBX_POINT_BIT(SBX_GROUP_JOIN) | SBX_POINT_BIT(SBX_GROUP_EVENTFD) | SBX_POINT_BIT(SBX_GROUP_FUTEX) |       \
     SBX_POINT_BIT(SBX_GROUP_FILE_LOCK))

/* `shield` of a call that began without a seat. It is not the address of a block. */
#define SBX_WITHOUT_SEAT ((struct sbx_thread *)2)

/* The calling thread, whose block this is, is about to wait, at stack address `here`: give its seat back. True: the
 * caller may not touch the block any more. Keeps errno. */
SBX_HOOK_SAFE SBX_NOINLINE bool sbx_seat_give(struct sbx_thread *thread, uint64_t here, uint64_t now_ns);

#endif
