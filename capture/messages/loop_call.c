/* SPDX-License-Identifier: Apache-2.0 */
/* loop_call.c - recognises the loop and its turns. */
#include "loop_call.h"

#include "capture_record.h"
#include "clock.h"
#include "loop_turn.h"
#include "registers.h"
#include "rest_place.h"
#include "the_capture.h"
#include "thread_stack.h"

enum {
    WALK_AGAIN_NS = 10000000, /* a loop whose activations are not known yet is walked once in this time */
    /* After this many passes at one place a loop is taken to be lasting. Code that connects at start-up polls fewer
     * times. */
    LOOP_PASSES = 4,
    WAIT_NS = 1000000, /* a shorter call has only looked */
    KEY_FRAMES = 3,    /* functions that name a place: a polling helper has several callers */
    REST_FRAMES = 2,   /* the same for a wait that is no poll: further out, a dialog may be the caller */
    /* The sets of select() must be copied before the call. This is done in the first passes, and then in one of this
     * many. */
    SETS_PASSES = 4,
    SETS_EVERY = 64,
    /* After this many waits in a row at a place that was taken for a handler's, without the loop being met, that place
     * is the loop's. The number is large because a handler may wait by calls of some milliseconds each. */
    INNER_MOST = 4096,
    /* The same for polls of another epoll set, while the agent knows of the loop only that it was met before. */
    ELSEWHERE_MOST = 64,
    QUESTIONS_MOST = 8, /* the same for polls before there is a loop: perhaps for the rest of a question */
};

/* Walk the caller's stack into thread->replay. */
static void walk_here(struct sbx_thread *thread)
{
    struct sbx_walk_registers here;
    sbx_registers_here(&here);
    if (thread->stack_high == 0) {
        sbx_thread_find_stack(thread);
    }
    sbx_capture_native_stack(thread, &here);
}

static bool is_our_code(uint64_t pc)
{
    return pc - sbx_the_capture.agent_begin < sbx_the_capture.agent_end - sbx_the_capture.agent_begin;
}

/* The number of frames outside the agent's own code. */
static uint32_t inmost_of(const struct sbx_replay *replay)
{
    uint32_t inmost = replay->depth;
    while (inmost > 0 && is_our_code(replay->frames[inmost - 1].pc)) {
        inmost--;
    }
    return inmost;
}

/* Remember the innermost activations at the loop's poll call. An activation is named by the stack slot of its return
 * address and the content of that slot. `main` and its callers do not count, unless the loop is in main itself: they
 * are on the stack whatever the program does.
 *
 * To find out whether a poll call from elsewhere is nested in the loop, the agent asks whether the function that polls
 * is still on the stack. If the loop itself polls (redis, libuv), that is the whole answer. If a helper polls and
 * returns before the message is handled (GLib), the callers of the helper are asked instead, but only once that habit
 * is proven: a sample in a message did not find the helper, and the helper polled again after it. Without this proof, a
 * connect_to_server() at start-up, which polls once and returns, would make every later loop of its caller look like a
 * handler of it.
 *
 * If the loop's messages are too short for any sample, the habit is never proven in this way. Then a poll call from
 * elsewhere is taken for a handler's, for one call, when the loop has gone on for some passes and a function that led
 * to the poller is still active. If the loop's own place is met next, that was right, and the habit is proven. If the
 * new place is met again, it is the loop's. */
static void name_activations(struct sbx_thread *thread)
{
    struct sbx_message_loop *loop = &thread->loop;
    const struct sbx_replay *replay = &thread->replay;
    loop->slot_count = 0;
    loop->walked_ns = sbx_thread_wall_ns(thread);
    loop->is_unclear = replay->end == SBX_WALK_ROWS_PENDING || replay->depth == 0; /* no modules are known yet */
    loop->poller_gone_in = 0;
    loop->poller_asked = false;
    loop->poller_returns = false;
    sbx_store_relaxed(&loop->poller_kept, 0); /* relaxed: the watch thread only looks */
    loop->poller_kept_in = 0;
    /* Frames are root first. A complete walk of the first thread begins with _start, __libc_start_main,
     * __libc_start_call_main, main. The slot of main's own return address is where main's caller was read. With musl a
     * walk begins with the marker of code without rows, a function of libc, main. */
    uint32_t inmost = inmost_of(replay);
    uint32_t main_at = replay->end == SBX_WALK_COMPLETE && inmost >= 4 ? 3 : 0;
    if (replay->end == SBX_WALK_NO_ROW && inmost >= 3) {
        main_at = 2;
    }
    loop->root_sp = sbx_replay_root_sp(replay);
    for (uint32_t i = 0; i < SBX_COUNT_OF(loop->slots) && i + 2 <= inmost; i++) {
        uint32_t frame = inmost - 1 - i; /* the activation; its caller is one further out */
        if (i > 0 && frame <= main_at) {
            break;
        }
        uint32_t check = frame >= 2 ? replay->frames[frame - 2].checks : 0; /* the first is the return address */
        loop->slots[i] = replay->checks[check].address;
        loop->callers[i] = replay->frames[frame - 1].pc;
        loop->slot_count++;
    }
}

/* Names a place by the functions that lead to it, from the stack just walked. Never 0. */
static uint64_t key_of(const struct sbx_thread *thread, uint64_t pc, uint64_t sp)
{
    const struct sbx_replay *replay = &thread->replay;
    uint32_t inmost = inmost_of(replay);
    uint64_t key = pc;
    for (uint32_t i = 1; i < KEY_FRAMES; i++) {
        key = key * UINT64_C(0x9e3779b97f4a7c15) ^ (inmost > i ? replay->frames[inmost - 1 - i].pc : sp);
    }
    return key != 0 ? key : 1;
}

static struct sbx_poll_place *find_place(struct sbx_message_loop *loop, uint64_t key)
{
    for (uint32_t i = 0; i < SBX_COUNT_OF(loop->places); i++) {
        if (loop->places[i].key == key) {
            return &loop->places[i];
        }
    }
    return NULL;
}

/* Has the thread polled at that place before, and then at the loop's present place? */
static bool takes_turns(struct sbx_thread *thread, uint64_t key)
{
    const struct sbx_poll_place *place = find_place(&thread->loop, key);
    return place != NULL && place != &thread->loop.places[thread->loop.place];
}

/* A place that was not met before. It takes the seat of the place that was left first, but not the loop's. */
static struct sbx_poll_place *new_place(struct sbx_message_loop *loop, uint64_t key)
{
    struct sbx_poll_place *place = &loop->places[loop->place == 0];
    for (uint32_t i = 0; i < SBX_COUNT_OF(loop->places); i++) {
        if (i != loop->place && loop->places[i].met < place->met) {
            place = &loop->places[i];
        }
    }
    *place = (struct sbx_poll_place){.key = key, .always = {.epoll_fd = -1}};
    return place;
}

/* From now on this poll call is the loop's. The stack has just been walked. */
static void move_site(struct sbx_thread *thread, uint64_t pc, uint64_t sp)
{
    thread->loop.plain_fd = -1;
    thread->loop.site_pc = pc;
    thread->loop.site_sp = sp;
    thread->loop.other_pc = 0;
    thread->loop.turn_pc = 0;
    thread->loop.inner_run = 0;
    thread->loop.elsewhere_run = 0;
    thread->loop.doubt_message = 0;
    thread->loop.maybe_pc = 0;
    name_activations(thread);
}

/* The same for another loop. */
static void adopt_site(struct sbx_thread *thread, uint64_t pc, uint64_t sp, struct sbx_poll_place *place)
{
    move_site(thread, pc, sp);
    sbx_store_relaxed(&thread->loop.hits, 0);
    thread->loop.elsewhere_is_inside = false;
    thread->loop.paused = 0;
    thread->loop.paused_ns = 0;
    thread->loop.pauses = false;
    thread->loop.place = (uint32_t)(place - thread->loop.places);
}

/* Is one of the loop's innermost activations on the stack just walked: the poller, or, with `callers`, one of the
 * functions that led to it? */
static bool loop_is_alive(const struct sbx_thread *thread, bool callers)
{
    const struct sbx_message_loop *loop = &thread->loop;
    for (uint32_t k = 0; k < loop->slot_count && (k == 0 || callers); k++) {
        if (sbx_replay_has_frame(&thread->replay, loop->slots[k], loop->callers[k])) {
            return true;
        }
    }
    return false;
}

/* Was this call reached through the same functions as the loop's poll call, called in the same places?
 *
 * Only functions that return before a message is handled are compared. The function that calls the handlers is the same
 * for both, and its callers do not matter (gtk_main() or gtk_dialog_run()). The stack just walked shows how many
 * functions to compare: those of the loop's activations that are not on it any more. */
static bool is_same_machinery(const struct sbx_thread *thread, uint64_t pc)
{
    const struct sbx_message_loop *loop = &thread->loop;
    const struct sbx_replay *replay = &thread->replay;
    uint32_t inmost = inmost_of(replay), alive = 0;
    while (alive < loop->slot_count && !sbx_replay_has_frame(replay, loop->slots[alive], loop->callers[alive])) {
        alive++;
    }
    if (pc != loop->site_pc) {
        return false;
    }
    for (uint32_t i = 0; i + 1 < alive; i++) {
        if (inmost < i + 2 || replay->frames[inmost - 2 - i].pc != loop->callers[i]) {
            return false;
        }
    }
    return true;
}

/* Tells the set of a call from the set of another call made at the same place: GLib and Qt keep an array for each of
 * their contexts, and an epoll set is named by its descriptor. */
static uint64_t what_of(const struct sbx_polled *polled)
{
    bool is_one = polled->form == SBX_POLLED_EPOLL || polled->form == SBX_POLLED_ACCEPT;
    return is_one ? polled->count : (uint64_t)(uintptr_t)polled->first;
}

/* The stack does not show whether this call begins a loop, or is a handler's wait in a loop whose function main has
 * called. If two places take turns, the time that each of them waits decides. */
static enum sbx_loop_call judge_place(struct sbx_thread *thread, uint64_t pc, uint64_t sp,
                                      const struct sbx_polled *polled)
{
    struct sbx_message_loop *loop = &thread->loop;
    uint64_t key = key_of(thread, pc, sp);
    struct sbx_poll_place *place = find_place(loop, key), *current = &loop->places[loop->place];
    current->met = ++loop->moves;
    if (place == NULL || place == current || loop->hits == 0) {
        sbx_store_release(&thread->entry->message_begin_ns, 0); /* the open message belonged to a loop that has ended */
        adopt_site(thread, pc, sp, place != NULL ? place : new_place(loop, key));
        return SBX_LOOP_CALL_SITE;
    }
    place->met = ++loop->moves;
    bool may_be_inner = polled->form != SBX_POLLED_ACCEPT;
    if (may_be_inner && sbx_place_is_inner(place, current) && ++loop->inner_run <= INNER_MOST) {
        return SBX_LOOP_CALL_NONE;
    }
    move_site(thread, pc, sp);
    loop->place = (uint32_t)(place - loop->places);
    return SBX_LOOP_CALL_SITE;
}

static enum sbx_poll_role role_of(const struct sbx_thread *thread, uint64_t pc, const struct sbx_polled *polled,
                                  bool is_inside)
{
    const struct sbx_poll_place *place = &thread->loop.places[thread->loop.place];
    struct sbx_poll_facts facts = {.polled = sbx_poll_set_before(polled),
                                   .always = place->always,
                                   .ready = place->ready,
                                   .is_same_machinery = is_same_machinery(thread, pc),
                                   .is_inside = is_inside};
    facts.awaits_key = is_inside && sbx_polled_awaits_key(polled);
    return sbx_poll_role(&facts);
}

/* A server may poll for everything by one function that returns before anything is handled: for its client, and inside
 * a statement for a lock or a latch (PostgreSQL's WaitEventSetWait()). Then the return address and the callers are the
 * same, or they differ only further out than is remembered. The epoll set tells the two apart.
 *
 * If the function that polls for the loop polls another set further in, that is a wait of a handler, and not a new
 * loop. This is certain when the loop leads to a client, or when the loop was met again after such a poll. Until then
 * the open message is not judged. */
static bool waits_elsewhere(struct sbx_thread *thread, uint64_t pc, uint64_t sp, const struct sbx_polled *polled)
{
    struct sbx_message_loop *loop = &thread->loop;
    const struct sbx_poll_place *place = &loop->places[loop->place];
    if (polled->form != SBX_POLLED_EPOLL || pc != loop->site_pc || sp >= loop->site_sp ||
        loop->hits < (place->is_clients ? 1 : 2) || place->passes == 0 || place->always.epoll_fd < 0 ||
        place->always.epoll_fd == (int32_t)polled->count) {
        return false;
    }
    bool is_known = place->is_clients || loop->elsewhere_is_inside;
    if (++loop->elsewhere_run > (is_known ? INNER_MOST : ELSEWHERE_MOST)) {
        return false;
    }
    if (!is_known) {
        sbx_store_relaxed(&loop->maybe_pc, pc); /* relaxed: the watch thread only looks */
        loop->maybe_sp = sp;
    }
    return true;
}

/* The thread has read a question, has not answered it, and polls an epoll set for the first time: either for something
 * that it needs, or for the rest of the question. The next event decides: an answer, or a read from the client
 * (client_message.c). */
static bool asks_before_it_loops(struct sbx_thread *thread, uint64_t pc, const struct sbx_polled *polled)
{
    struct sbx_message_loop *loop = &thread->loop;
    if (loop->site_pc != 0 || polled->form != SBX_POLLED_EPOLL || thread->entry->message_begin_ns == 0 ||
        ++loop->elsewhere_run > QUESTIONS_MOST) {
        return false;
    }
    sbx_store_relaxed(&loop->maybe_pc, pc); /* relaxed: the watch thread only looks */
    return true;
}

/* A call that is not at the loop's place.
 *
 * A loop may poll from several places of its function, because a compiler may make two loops of one that has a rare
 * turn. So a call from another place of the same activation is the loop's as well. But it may also be the first call of
 * the function's next loop, and then the time between the two was not a message. So a slow message is reported only
 * when the first place is met again. */
static enum sbx_loop_call look_at_call(struct sbx_thread *thread, uint64_t pc, uint64_t sp,
                                       const struct sbx_polled *polled)
{
    struct sbx_message_loop *loop = &thread->loop;
    walk_here(thread);
    if (sp == loop->site_sp && loop->hits >= 2 && loop->slot_count != 0 &&
        sbx_replay_has_frame(&thread->replay, loop->slots[0], loop->callers[0])) {
        loop->other_pc = pc;
        return SBX_LOOP_CALL_IN_DOUBT;
    }
    if (asks_before_it_loops(thread, pc, polled)) {
        return SBX_LOOP_CALL_NONE;
    }
    if (loop->site_pc == 0 || loop->hits == 0) {
        return judge_place(thread, pc, sp, polled);
    }
    /* The stack pointer does not show whether the call lies inside the loop: a helper that polls may have had a larger
     * frame than the handler has. A caller of the helper on the stack shows even less. If that were the rule, two
     * places further in that take turns would each count as inside the other's message. */
    bool is_known = !loop_is_alive(thread, false) && takes_turns(thread, key_of(thread, pc, sp));
    bool has_begun =
        loop->hits >= 2 || !loop->places[loop->place].accepts; /* one accept() that made a connection is not enough */
    bool is_inside = !is_known && has_begun && loop_is_alive(thread, loop->poller_returns);
    enum sbx_poll_role role = role_of(thread, pc, polled, is_inside);
    if (role == SBX_POLL_IS_TURN) {
        if (is_inside) {
            loop->turn_pc = pc;
            loop->turn_sp = sp;
            loop->turn_what = what_of(polled);
            return SBX_LOOP_CALL_NESTED;
        }
        move_site(thread, pc, sp); /* the same loop, called from elsewhere */
        return SBX_LOOP_CALL_SITE;
    }
    if (role == SBX_POLL_IS_WAIT) {
        return SBX_LOOP_CALL_NONE;
    }
    if (waits_elsewhere(thread, pc, sp, polled)) {
        return SBX_LOOP_CALL_NONE;
    }
    if (is_known ||
        polled->form == SBX_POLLED_ACCEPT) { /* a handler does not wait for the next client, as far as is known */
        return judge_place(thread, pc, sp, polled);
    }
    bool may_be_inside = loop->hits >= LOOP_PASSES && (loop->maybe_pc != pc || loop->maybe_sp != sp) &&
                         (loop->is_unclear || loop_is_alive(thread, true));
    sbx_store_relaxed(&loop->maybe_pc, pc); /* relaxed: the watch thread only looks */
    loop->maybe_sp = sp;
    return may_be_inside ? SBX_LOOP_CALL_NONE : judge_place(thread, pc, sp, polled);
}

/* The loop's place was met again: learn what that says about the calls since. */
static void learn_at_site(struct sbx_thread *thread)
{
    struct sbx_message_loop *loop = &thread->loop;
    /* A loop that begins right at the program's start is met before there are unwind rows for a walk. So it is walked
     * once more later. Otherwise a handler's poll call could not be told from the loop's. */
    if (SBX_UNLIKELY(loop->is_unclear) && sbx_thread_wall_ns(thread) - loop->walked_ns >= WALK_AGAIN_NS) {
        sbx_thread_enter(thread);
        walk_here(thread);
        name_activations(thread);
        sbx_thread_leave(thread);
    }
    loop->poller_returns |= loop->poller_gone_in != 0 && loop->poller_gone_in == thread->entry->message;
    loop->poller_returns |= loop->maybe_pc != 0; /* a handler made the polls elsewhere meanwhile */
    loop->elsewhere_is_inside |= loop->elsewhere_run != 0;
    loop->elsewhere_run = 0;
    loop->maybe_pc = 0;
    loop->turn_pc = 0;
    loop->inner_run = 0;
}

SBX_HOOK_SAFE enum sbx_loop_call sbx_loop_call(struct sbx_thread *thread, uint64_t pc, uint64_t sp,
                                               const struct sbx_polled *polled)
{
    struct sbx_message_loop *loop = &thread->loop;
    enum sbx_loop_call role = SBX_LOOP_CALL_SITE;
    sbx_loop_count_turns(loop);
    loop->is_plain = loop->leads_to_clients = false;
    if (SBX_UNLIKELY(sbx_rest_is_loop(thread))) {
        return SBX_LOOP_CALL_NONE;
    }
    if (loop->site_sp == sp && loop->site_pc == pc) {
        learn_at_site(thread);
        loop->is_plain = !loop->is_unclear && !loop->has_accepted &&
                         (polled->form == SBX_POLLED_EPOLL || polled->form == SBX_POLLED_POLL);
    } else if (loop->site_sp == sp && loop->other_pc == pc) {
        role = SBX_LOOP_CALL_AGAIN;
    } else {
        if (loop->turn_pc == pc && loop->turn_sp == sp && loop->turn_what == what_of(polled)) {
            return SBX_LOOP_CALL_NESTED;
        }
        sbx_thread_enter(thread);
        role = look_at_call(thread, pc, sp, polled);
        sbx_thread_leave(thread);
    }
    struct sbx_poll_place *place = &loop->places[loop->place];
    if (role == SBX_LOOP_CALL_SITE && polled->form == SBX_POLLED_SELECT &&
        (place->passes < SETS_PASSES || place->passes % SETS_EVERY == 0)) {
        uint64_t fds = sbx_poll_set_before(polled).fds;
        place->always.fds = place->passes == 0 ? fds : place->always.fds & fds;
    }
    return role;
}

SBX_HOOK_SAFE bool sbx_loop_is_around(struct sbx_thread *thread)
{
    sbx_thread_enter(thread);
    walk_here(thread);
    bool is_around = loop_is_alive(thread, thread->loop.poller_returns);
    sbx_thread_leave(thread);
    return is_around;
}

SBX_HOOK_SAFE bool sbx_loop_is_away(struct sbx_thread *thread, uint64_t *key_out)
{
    sbx_thread_enter(thread);
    walk_here(thread);
    const struct sbx_replay *replay = &thread->replay;
    uint32_t inmost = inmost_of(replay);
    bool is_whole = replay->end == SBX_WALK_COMPLETE || replay->end == SBX_WALK_NO_ROW;
    bool is_away = is_whole && inmost >= REST_FRAMES && thread->loop.slot_count != 0 && !thread->loop.is_unclear &&
                   !loop_is_alive(thread, true);
    *key_out = 0;
    for (uint32_t i = 0; i < REST_FRAMES && is_away; i++) {
        *key_out = (*key_out ^ replay->frames[inmost - 1 - i].pc) * UINT64_C(0x9e3779b97f4a7c15);
    }
    sbx_thread_leave(thread);
    return is_away;
}

/* Compare this turn with what all turns so far had in common. */
static void narrow(struct sbx_poll_place *place, const struct sbx_poll_set *set)
{
    if (place->passes == 0) {
        place->always = *set;
    } else if (set->epoll_fd != place->always.epoll_fd) {
        place->always = (struct sbx_poll_set){.epoll_fd = -1};
    } else {
        place->always.fds &= set->fds;
    }
}

SBX_HOOK_SAFE void sbx_loop_call_ended(struct sbx_thread *thread, const struct sbx_blocking *call,
                                       const struct sbx_polled *polled, uint64_t took_ns, bool failed)
{
    struct sbx_message_loop *loop = &thread->loop;
    struct sbx_poll_place *place = &loop->places[loop->place];
    loop->plain_fd = -1;
    if (SBX_UNLIKELY(failed)) {
        return;
    }
    uint64_t ready;
    struct sbx_poll_set set = sbx_poll_set_after(polled, &ready);
    if (SBX_UNLIKELY(call->is_nested)) {
        place->ready |= ready;
        return;
    }
    if (polled->form != SBX_POLLED_SELECT) {
        narrow(place, &set);
    }
    place->ready = ready;
    place->accepts = polled->form == SBX_POLLED_ACCEPT;
    loop->has_accepted |= place->accepts;
    loop->serves_many = thread->has_loop && !loop->has_accepted && loop->site_pc != 0 && loop->hits >= 2 &&
                        sbx_load_relaxed(&sbx_the_capture.calls_are_safe) != 0; /* relaxed: once it is 1 it stays 1 */
    place->waited_ns += polled->waits && took_ns >= WAIT_NS ? took_ns : 0;      /* a look may last on a busy machine */
    place->passes += place->passes != UINT32_MAX;
    if (loop->hits >= 2 && polled->form == SBX_POLLED_EPOLL && place->always.epoll_fd == (int32_t)polled->count) {
        loop->plain_fd = place->always.epoll_fd;
    }
}
