/* SPDX-License-Identifier: Apache-2.0 */
/* look_turns.h - who is looked at in a tick, where more threads want it than one tick pays for.
 *
 * Looks that go on as threads do would cost what threads are many: a pool of a thousand whose waits last a tenth of a second would want
 * eight thousand a second, at 8 us each. Threads without an open message take turns instead: their points tell of each wait at its end,
 * and a trigger looks at everybody. The watch thread alone. */
#ifndef SBX_LOOK_TURNS_H
#define SBX_LOOK_TURNS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    /* 200 threads do not cost 200 signals a tick (async-profiler takes 8 as well), nor 200 looks at short calls: those of a pool whose
     * workers wait for a task and get one are as many as its threads. Whose message is open is looked at all the same. */
    SBX_LOOKS_A_TICK = 8,
};

/* Zeroed: before the first tick. */
struct sbx_look_turns {
    uint32_t first;          /* of the threads that the tick goes round, so that the caps do not favour low indexes */
    uint32_t next;           /* the first one that was turned away in it */
    unsigned looks, sleeper; /* left in it: signals and looks at short calls; looks at who sleeps */
    bool has_turned_away;
};

static inline void sbx_look_turns_begin(struct sbx_look_turns *turns)
{
    turns->looks = turns->sleeper = SBX_LOOKS_A_TICK;
    turns->has_turned_away = false;
}

/* The thread at `index` sleeps, at no message, and wants a look. True: it has it in this tick. */
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

/* All `count` were asked. Whom there was no look for begins the next tick. */
static inline void sbx_look_turns_end(struct sbx_look_turns *turns, uint32_t count)
{
    uint32_t next = turns->has_turned_away ? turns->next : turns->first + 1;
    turns->first = count != 0 ? next % count : 0;
}

#endif
