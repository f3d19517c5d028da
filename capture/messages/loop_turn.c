/* SPDX-License-Identifier: Apache-2.0 */
/* loop_turn.c - tells turns from waits; it uses no clock, no thread and no state. */
#include "loop_turn.h"

enum {
    PLACE_PASSES = 4,   /* two places are not compared before each has had this many calls */
    IDLE_SHARE = 3,     /* how many times longer the loop's place must have waited */
    FEW_MESSAGES = 1,   /* a thread that pauses and has polled no more than this has shown no loop */
    WAITS_NS = 5000000, /* a thread whose polls waited less in all has shown no loop: it only looks */
};

static bool is_epoll(const struct sbx_poll_set *set)
{
    return set->epoll_fd >= 0;
}

/* Does the call look at everything that the loop always looks at, or at all of it that is not being handled now? */
static bool has_the_loops(const struct sbx_poll_facts *facts)
{
    const struct sbx_poll_set *polled = &facts->polled, *always = &facts->always;
    if (is_epoll(polled) || is_epoll(always)) {
        return polled->epoll_fd == always->epoll_fd;
    }
    uint64_t required = always->fds & ~facts->ready;
    required = required != 0 ? required : always->fds;
    return required != 0 && (polled->fds & required) == required;
}

/* Is the set enough to recognise the loop? A single descriptor may be the one from which a reply comes. A poll call for
 * a reply does not look at the other descriptors as well. */
static bool is_telling(const struct sbx_poll_set *always)
{
    return is_epoll(always) || (always->fds & (always->fds - 1)) != 0;
}

SBX_HOOK_SAFE enum sbx_poll_role sbx_poll_role(const struct sbx_poll_facts *facts)
{
    if (facts->is_inside && facts->awaits_key) {
        return SBX_POLL_IS_TURN;
    }
    if (has_the_loops(facts) && (facts->is_same_machinery || is_telling(&facts->always))) {
        return SBX_POLL_IS_TURN;
    }
    return facts->is_inside ? SBX_POLL_IS_WAIT : SBX_POLL_IS_UNKNOWN;
}

SBX_HOOK_SAFE bool sbx_place_is_inner(const struct sbx_poll_place *place, const struct sbx_poll_place *loop)
{
    return place->passes >= PLACE_PASSES && loop->passes >= PLACE_PASSES &&
           loop->waited_ns / IDLE_SHARE >= place->waited_ns && loop->waited_ns != 0;
}

SBX_HOOK_SAFE bool sbx_pace_is_its_own(const struct sbx_pace *pace)
{
    if (pace->messages <= FEW_MESSAGES || pace->waited_ns < WAITS_NS) {
        return pace->pauses;
    }
    return pace->paused * 2 >= pace->messages && pace->paused_ns > pace->waited_ns;
}
