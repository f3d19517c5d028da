/* SPDX-License-Identifier: Apache-2.0 */
/* point_libevent.c - libevent: which thread added a timer or made an event active, and the call of its callback.
 *
 * libevent calls callbacks from inside, without a slot, and with no argument that says which event it is. So an event
 * that is assigned while the points are in use gets a function of the agent in place of its callback. That function
 * stands for the callback for ever (stand_ins.h). No memory of the program is written to, nothing has to be put back,
 * and an event may be copied, assigned anew or freed at any time. Callbacks beyond the number of such functions are not
 * followed. event_get_callback() and event_get_assignment() return what the program set. Their points stay as long as
 * any point does, because events keep the agent's functions after the group was taken out.
 *
 * Two kinds of events are followed: timers (event_add() with a time-out and without a descriptor or signal, and
 * event_base_once() of that kind), and events of any kind that the program makes active. An event that a descriptor or
 * a signal makes active was not queued by a thread of this process. The key consists of the callback's descriptor and
 * argument and the number of the agent's function. The event is the match, by which event_del() tells two events with
 * the same key apart. If two such events are due, they begin in the order in which they were added.
 *
 * The code knows the part of struct event that stays the same in 2.1, because programs have that struct inside their
 * own (event_struct.h). With another version nothing is replaced. None of libevent's headers is used. */
#include "loaded_object.h"
#include "point.h"
#include "stand_ins.h"
#include "task.h"

typedef void event_callback(int descriptor, short what, void *argument);

/* The first fields of a struct event of libevent 2.1. */
struct event {
    void *next, *previous;
    short flags;
    uint8_t priority, closure;
    event_callback *callback;
    void *argument;
    void *timeout_position[2];
    int descriptor;
    void *base;
    void *lists[4];
    short events;
};

enum {
    VERSION_KNOWN = 0x0201,
    FLAG_INTERNAL = 0x10, /* ev_flags: an event of libevent itself */
    FLAG_INIT = 0x80,     /* it was assigned */
    TIMEOUT = 0x01,       /* events */
    OF_A_DESCRIPTOR_OR_SIGNAL = 0x02 | 0x04 | 0x08 | 0x80,
    PERSISTS = 0x10,
    MATCH_PERSISTS = 1, /* in a match, beside the event's address */
    MATCH_ACTIVE = 2,
};

static unsigned (*real_event_get_version_number)(void);
static int (*real_event_assign)(struct event *, void *, int, short, event_callback *, void *);

/* ---- functions of the agent in place of the program's ---- */

static void serve(uint32_t number, int descriptor, short what, void *argument);

#define SERVER(n)                                                     \
    static void serve_##n(int descriptor, short what, void *argument) \
    {                                                                 \
        serve(n, descriptor, what, argument);                         \
    }
SBX_STAND_IN_NUMBERS(SERVER)
#define SERVER_NAME(n) (const void *)serve_##n,
static const void *const servers[] = {SBX_STAND_IN_NUMBERS(SERVER_NAME)};
static_assert(SBX_COUNT_OF(servers) == SBX_STAND_INS, "a function for each number");
static struct sbx_stand_ins stand_ins = {.ours = servers};
static uint32_t has_tasks[SBX_STAND_INS]; /* 1: a task was queued for it once. Otherwise no task is looked up */

static bool is_version_known(void)
{
    static uint32_t version_answer;                     /* 0: not asked yet; 1: no; 2: yes */
    uint32_t known = sbx_load_relaxed(&version_answer); /* relaxed: the answer never changes */
    if (SBX_UNLIKELY(known == 0)) {
        if (real_event_get_version_number == NULL) {
            return false;
        }
        known = real_event_get_version_number() >> 16 == VERSION_KNOWN ? 2 : 1;
        sbx_store_relaxed(&version_answer, known);
    }
    return known == 2;
}

/* Is it a callback of libevent itself, for bufferevents, signals or its wake-up? libevent removes their events in ways
 * that no hook sees. */
static bool is_libevents(event_callback *callback)
{
    uint64_t begin, end, place = (uint64_t)(uintptr_t)callback;
    return sbx_loaded_object((const void *)real_event_assign, &begin, &end) != NULL && place >= begin && place < end;
}

/* The function to give to libevent for it. */
static event_callback *server_for(event_callback *callback)
{
    if (callback == NULL || !sbx_capture_is_open() || !is_version_known() || is_libevents(callback)) {
        return callback;
    }
    uint32_t number = sbx_stand_in_for(&stand_ins, (const void *)callback);
    return number < SBX_STAND_INS ? (event_callback *)servers[number] : callback;
}

/* The number of the agent's function; SBX_STAND_INS: it is another function. */
static uint32_t number_of(event_callback *callback)
{
    return sbx_stand_in_number(&stand_ins, (const void *)callback);
}

static event_callback *served(uint32_t number)
{
    return (event_callback *)sbx_stand_in_served(&stand_ins, number);
}

/* The callback that the program set. */
static event_callback *set_by_program(event_callback *callback)
{
    uint32_t number = number_of(callback);
    return number < SBX_STAND_INS ? served(number) : callback;
}

static int hook_event_assign(struct event *event, void *base, int descriptor, short events, event_callback *callback,
                             void *argument)
{
    return real_event_assign(event, base, descriptor, events, server_for(callback), argument);
}

static struct event *(*real_event_new)(void *, int, short, event_callback *, void *);
static struct event *hook_event_new(void *base, int descriptor, short events, event_callback *callback, void *argument)
{
    return real_event_new(base, descriptor, events, server_for(callback), argument);
}

static void (*real_event_set)(struct event *, int, short, event_callback *, void *);
static void hook_event_set(struct event *event, int descriptor, short events, event_callback *callback, void *argument)
{
    real_event_set(event, descriptor, events, server_for(callback), argument);
}

static event_callback *(*real_event_get_callback)(const struct event *);
static event_callback *hook_event_get_callback(const struct event *event)
{
    return set_by_program(real_event_get_callback(event));
}

static void (*real_event_get_assignment)(const struct event *, void **, int *, short *, event_callback **, void **);
static void hook_event_get_assignment(const struct event *event, void **base, int *descriptor, short *events,
                                      event_callback **callback, void **argument)
{
    real_event_get_assignment(event, base, descriptor, events, callback, argument);
    if (callback != NULL) {
        *callback = set_by_program(*callback);
    }
}

/* ---- the side that queues ---- */

struct followed {
    uint32_t number;
    uint64_t key, match;
};

static uint64_t key_of(uint32_t number, int descriptor, const void *argument)
{
    uint64_t place = (uint64_t)(uint32_t)descriptor << 32 | number;
    return (((uint64_t)(uintptr_t)argument * UINT64_C(0xd6e8feb86659fd93)) ^ (place * UINT64_C(0xa0761d6478bd642f))) |
           1;
}

/* False: the begin of this event's tasks would not be seen, or the event is one of libevent's own. */
static bool is_followed(const struct event *event, struct followed *out)
{
    if (!sbx_capture_is_open() || event == NULL || !is_version_known() ||
        (event->flags & (FLAG_INIT | FLAG_INTERNAL)) != FLAG_INIT) {
        return false;
    }
    uint32_t number = number_of(event->callback);
    if (number >= SBX_STAND_INS) {
        return false;
    }
    out->number = number;
    out->key = key_of(number, event->descriptor, event->argument);
    out->match = (uint64_t)(uintptr_t)event | ((event->events & PERSISTS) != 0 ? MATCH_PERSISTS : 0);
    return true;
}

static void cancel(uint64_t key, uint64_t match)
{
    uint64_t task = sbx_task_find(key, match);
    if (SBX_UNLIKELY(task != 0)) {
        sbx_task_cancelled(task);
    }
}

/* The timer does not fire at its old time any more. If its callback is running now, the timer does not go on after
 * it. */
static void forget_timer(const struct followed *event)
{
    struct sbx_thread *thread = sbx_self;
    cancel(event->key, event->match);
    if (sbx_thread_is_registered(thread) && thread->tasks.timer == event->key &&
        thread->tasks.timer_object == event->match) {
        thread->tasks.timer = 0;
    }
}

static uint64_t queue(const struct followed *event, uint8_t op, uint64_t match)
{
    sbx_store_relaxed(&has_tasks[event->number], 1); /* relaxed: libevent uses locks between threads */
    return sbx_task_queued(SBX_GROUP_LIBEVENT, op, 0, event->key, match); /* a pending timer lies in no queue */
}

static int (*real_event_add)(struct event *, const void *);
static int hook_event_add(struct event *event, const void *timeout)
{
    struct followed timer;
    if (timeout == NULL || !is_followed(event, &timer) || (event->events & OF_A_DESCRIPTOR_OR_SIGNAL) != 0) {
        return real_event_add(event, timeout);
    }
    forget_timer(&timer);
    uint64_t task = queue(&timer, SBX_OP_EVENT_ADD, timer.match);
    int result = real_event_add(event, timeout);
    if (SBX_UNLIKELY(result != 0)) {
        sbx_task_cancelled(task);
    }
    return result;
}

/* However often an event is made active before the loop comes to it, it is called once. A timer that was made active is
 * not called at its time as well, except a persistent one, whose time begins anew. */
static void note_active(const struct event *event)
{
    struct followed active;
    if (!is_followed(event, &active)) {
        return;
    }
    uint64_t before = sbx_task_find(active.key, active.match | MATCH_ACTIVE);
    if (before != 0) {
        sbx_task_merged(before);
        return;
    }
    cancel(active.key, active.match);
    (void)queue(&active, SBX_OP_EVENT_ACTIVE, active.match | MATCH_ACTIVE);
}

static void (*real_event_active)(struct event *, int, short);
static void hook_event_active(struct event *event, int what, short calls)
{
    note_active(event);
    real_event_active(event, what, calls);
}

/* libevent keeps the callback in an event of its own, which cannot be taken back. */
static int (*real_event_base_once)(void *, int, short, event_callback *, void *, const void *);
static int hook_event_base_once(void *base, int descriptor, short events, event_callback *callback, void *argument,
                                const void *timeout)
{
    event_callback *server = server_for(callback);
    uint32_t number = sbx_capture_is_open() && is_version_known() ? number_of(server) : SBX_STAND_INS;
    uint64_t task = 0;
    if (number < SBX_STAND_INS && events == TIMEOUT) {
        struct followed once = {.number = number, .key = key_of(number, -1, argument)};
        task = queue(&once, SBX_OP_EVENT_ADD, 0);
    }
    int result = real_event_base_once(base, descriptor, events, server, argument, timeout);
    if (SBX_UNLIKELY(result != 0)) {
        sbx_task_cancelled(task);
    }
    return result;
}

/* ---- what is taken back ---- */

static void forget(const struct followed *event)
{
    if (sbx_load_relaxed(&has_tasks[event->number]) != 0) { /* relaxed: as in queue() */
        forget_timer(event);
        cancel(event->key, event->match | MATCH_ACTIVE);
    }
}

/* A persistent event may be called on another thread at the same time, which queues it once more before this call
 * returns. */
#define DELETES(name)                             \
    static int (*real_##name)(struct event *);    \
    static int hook_##name(struct event *event)   \
    {                                             \
        struct followed gone;                     \
        if (!is_followed(event, &gone)) {         \
            return real_##name(event);            \
        }                                         \
        forget(&gone);                            \
        int result = real_##name(event);          \
        if ((gone.match & MATCH_PERSISTS) != 0) { \
            forget(&gone);                        \
        }                                         \
        return result;                            \
    }
DELETES(event_del)
DELETES(event_del_block)
DELETES(event_del_noblock)

static int (*real_event_remove_timer)(struct event *);
static int hook_event_remove_timer(struct event *event)
{
    struct followed gone;
    if (is_followed(event, &gone)) {
        forget_timer(&gone);
    }
    return real_event_remove_timer(event);
}

static void forget_before(const struct event *event)
{
    struct followed gone;
    if (is_followed(event, &gone)) {
        forget(&gone);
    }
}

static void (*real_event_free)(struct event *);
static void hook_event_free(struct event *event)
{
    forget_before(event);
    real_event_free(event);
}

typedef void finalize_callback(struct event *, void *);
static int (*real_event_finalize)(unsigned, struct event *, finalize_callback *);
static int hook_event_finalize(unsigned flags, struct event *event, finalize_callback *callback)
{
    forget_before(event);
    return real_event_finalize(flags, event, callback);
}

static int (*real_event_free_finalize)(unsigned, struct event *, finalize_callback *);
static int hook_event_free_finalize(unsigned flags, struct event *event, finalize_callback *callback)
{
    forget_before(event);
    return real_event_free_finalize(flags, event, callback);
}

/* ---- the side that runs ---- */

SBX_NOINLINE static void run(event_callback *callback, int descriptor, short what, void *argument, uint64_t task,
                             uint64_t key)
{
    struct sbx_thread *thread = sbx_thread_is_registered(sbx_self) ? sbx_self : NULL;
    const struct sbx_task_entry *entry = sbx_task_entry_of(task);
    uint64_t match = entry != NULL ? sbx_task_match(entry) : 0; /* relaxed: set before it was published */
    uint64_t outer = 0, outer_object = 0;
    if (thread != NULL) {
        outer = thread->tasks.timer;
        outer_object = thread->tasks.timer_object;
        thread->tasks.timer = key;
        thread->tasks.timer_object = match;
    }
    sbx_task_begin(task);
    callback(descriptor, what, argument); /* the callback may free the event */
    thread = thread == sbx_self ? thread : NULL;
    if (thread != NULL && (match & (MATCH_PERSISTS | MATCH_ACTIVE)) == MATCH_PERSISTS && thread->tasks.timer == key) {
        (void)sbx_task_end_and_queue(task); /* it stays */
    } else {
        sbx_task_end(task);
    }
    if (thread != NULL) {
        thread->tasks.timer = outer;
        thread->tasks.timer_object = outer_object;
    }
}

static void serve(uint32_t number, int descriptor, short what, void *argument)
{
    event_callback *callback = served(number);
    if (sbx_load_relaxed(&has_tasks[number]) != 0 && sbx_capture_is_open()) { /* relaxed: as in queue() */
        uint64_t key = key_of(number, descriptor, argument), task = sbx_task_find(key, 0);
        if (task != 0) {
            run(callback, descriptor, what, argument, task, key);
            return;
        }
    }
    callback(descriptor, what, argument);
}

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_LIBEVENT)
static const struct sbx_point points[] = {
    POINT(event_assign), /* first: without it there is no libevent */
    POINT(event_new),
    POINT(event_set),
    POINT(event_add),
    POINT(event_active),
    POINT(event_base_once),
    POINT(event_del),
    POINT(event_del_block),
    POINT(event_del_noblock),
    POINT(event_remove_timer),
    POINT(event_free),
    POINT(event_finalize),
    POINT(event_free_finalize),
    SBX_STAYING_POINT("event_get_callback", hook_event_get_callback, real_event_get_callback, SBX_GROUP_LIBEVENT),
    SBX_STAYING_POINT("event_get_assignment", hook_event_get_assignment, real_event_get_assignment, SBX_GROUP_LIBEVENT),
    SBX_POINT("event_get_version_number", NULL, real_event_get_version_number, SBX_GROUP_LIBEVENT),
};
const struct sbx_point_list sbx_points_libevent = SBX_POINT_LIST(points);
