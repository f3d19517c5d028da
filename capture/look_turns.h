/* SPDX-License-Identifier: Apache-2.0 */
/* look_turns.h - chooses the threads that are looked at in a tick, when more threads want a look than one tick can pay
 * for.
 *
 * Without a limit the cost of looks would grow with the number of threads: a pool of a thousand threads whose waits
 * last a tenth of a second would want eight thousand looks a second, at 8 us each. So threads without an open message
 * take turns. Their points record each wait at its end, and a trigger looks at all threads. Watch thread only. */
#ifndef SBX_LOOK_TURNS_H
#define SBX_LOOK_TURNS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    /* With this limit, 200 threads do not cost 200 signals a tick (async-profiler uses 8 as well), nor 200 looks at
     * short calls. A pool whose workers wait for tasks and get them has as many such calls as threads. A thread with an
     * open message is always looked at. */
    SBX_LOOKS_A_TICK = 8,
};

/* All zero before the first tick. */
struct sbx_look_turns {
    uint32_t first;          /* thread at which the tick begins, so that the limits do not favour low indexes */
    uint32_t next;           /* first thread that got no look in this tick */
    unsigned looks, sleeper; /* left in this tick: signals and looks at short calls; looks at sleeping threads */
    bool has_turned_away;
};

static inline void sbx_look_turns_begin(struct sbx_look_turns *turns)
{
    turns->looks = turns->sleeper = SBX_LOOKS_A_TICK;
    turns->has_turned_away = false;
}

/* The thread at `index` sleeps, serves no message, and wants a look. True: it gets one in this tick. */
static inline bool sbx_look_turns_take_sleeper(struct sbx_look_turns *turns, uint32_t index)
{
    if (turns->sleeper > 0) {
        turns->sleeper--;
        return true;
    }
    turns->next = turns->has_turned_away ? turns->next : index;
    turns->has_turned_away = true;
    return false;
}

/* All `count` threads were asked. The next tick begins with the first one that got no look. */
static inline void sbx_look_turns_end(struct sbx_look_turns *turns, uint32_t count)
{
    uint32_t next = turns->has_turned_away ? turns->next : turns->first + 1;
    turns->first = count != 0 ? next % count : 0;
}

#endif
