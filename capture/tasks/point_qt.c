/* SPDX-License-Identifier: Apache-2.0 */
/* point_qt.c - Qt's event queues: which thread posted an event, directly or by a queued signal or call, and the
 * delivery of the event; timers.
 *
 * Qt (5 and 6) binds its own calls within its libraries, so most posts use no slot. The agent can only see virtual
 * functions: words of C++ vtables are made to lead to the agent's functions, like slots (point.h), and these call the
 * originals. No object of the program is changed, and no header of Qt is used.
 *
 *   posted   The last thing that postEvent() does is to call wakeUp() of the receiver's queue. Its frame then contains
 *            receiver and event, side by side: they belong to the QPostEvent that it has put into the queue. Their
 *            place in the frame is found out (struct sample): some frames are kept and searched for events that are
 *            delivered. Until the place is known, and while the queue has no thread to wake yet, only calls of
 *            postEvent() through a slot are followed. An address taken from a frame is only compared and never
 *            followed.
 *   run      notify(), of the application's class or of a class between, delivers the event. The event is known by its
 *            address and its receiver. Its destructor shows that it was removed.
 *   timers   registerTimer() and unregisterTimer() of the queue; notify() with a QTimerEvent.
 *
 * The code uses only the layout that a major version of Qt keeps: where a QEvent has its type, and where a QTimerEvent
 * has its number. If a function or a vtable is not found by its name, that part is not followed. */
#include "point.h"
#include "process_state.h"
#include "qt_unfollowed.h"
#include "task.h"

#include <errno.h>

enum {
    TIMER_EVENT = 1, /* QEvent::Timer */
    SAMPLES = 8,
    SAMPLE_WORDS = 40, /* more words than the frame of postEvent() has */
    VOTES = 3,
};

/* Offsets in a QEvent, by major version. */
static const struct layout {
    uint16_t type_at, timer_at;
} qt5 = {16, 20}, qt6 = {8, 16};

static const char *(*real_qVersion)(void);
static void *(*real_thread)(const void *);

/* NULL: the version is not known. */
static const struct layout *layout(void)
{
    static const struct layout *layout_known;
    const struct layout *found = sbx_load_relaxed(&layout_known); /* relaxed: it points to constants */
    if (SBX_UNLIKELY(found == NULL) && real_qVersion != NULL) {
        const char *version = real_qVersion();
        bool is_major = version != NULL && version[0] != '\0' && version[1] == '.';
        found = is_major && version[0] == '5' ? &qt5 : is_major && version[0] == '6' ? &qt6 : NULL;
        sbx_store_relaxed(&layout_known, found);
    }
    return found;
}

static struct sbx_thread *self(void)
{
    struct sbx_thread *thread = sbx_self;
    return sbx_thread_is_registered(thread) ? thread : NULL;
}

/* Each kind of key has its own multiplier, so that keys of different kinds differ. */
static uint64_t key_of_event(const void *event)
{
    return ((uint64_t)(uintptr_t)event * UINT64_C(0x9fb21c651e98df25)) | 1;
}

static uint64_t key_of_timer(int number)
{
    return ((uint64_t)(uint32_t)number * UINT64_C(0xe7037ed1a0b428db)) | 1;
}

/* The number of the queue of an object's thread. It is the address of that thread's object. */
static uint64_t queue_of(const void *object)
{
    return object != NULL && real_thread != NULL ? (uint64_t)(uintptr_t)real_thread(object) : 0;
}

static void cancel(uint64_t key, uint64_t match)
{
    uint64_t task = sbx_task_find(key, match);
    if (SBX_UNLIKELY(task != 0)) {
        sbx_task_cancelled(task);
    }
}

static void cancel_event(const void *event)
{
    cancel(key_of_event(event), 0);
    sbx_task_cancelled(sbx_qt_take_unfollowed((uint64_t)(uintptr_t)event));
}

/* ---- where postEvent() has its event ---- */

/* A frame of a caller that woke a queue. It is kept until an event that it contains is delivered. */
static struct sample {
    uint64_t turn;       /* odd: being filled in; 0: empty */
    uint64_t returns_to; /* the place in the caller's code */
    uint64_t words[SAMPLE_WORDS];
} samples[SAMPLES];
static uint64_t next_sample; /* the one to take next: a hint */
SBX_OF_ONE_PROCESS(samples);
SBX_OF_ONE_PROCESS(next_sample);

/* The place of receiver and event in the frames of `caller`: `word` words up. `votes` counts the frames that showed it.
 * `caller` is stored last. */
static struct {
    uint32_t is_busy;
    uint64_t caller, candidate;
    uint32_t word, candidate_word, votes;
} place;
SBX_OF_ONE_PROCESS(place); /* a thread of the parent may be using it */

static void keep_sample(const uint64_t *frame, uint64_t returns_to)
{
    struct sample *sample = &samples[sbx_add_relaxed(&next_sample, 1) % SAMPLES];
    uint64_t turn = sbx_load_relaxed(&sample->turn);                           /* relaxed: the exchange looks again */
    if ((turn & 1) != 0 || !sbx_cas_acq_rel(&sample->turn, &turn, turn + 1)) { /* order: acq_rel sample.turn */
        return;
    }
    sbx_store_relaxed(&sample->returns_to, returns_to);
    for (int i = 0; i < SAMPLE_WORDS; i++) {
        sbx_store_relaxed(&sample->words[i], frame[i]);
    }
    sbx_store_release(&sample->turn, turn + 2); /* order: release sample.turn - its words are whole */
}

static void vote(uint64_t caller, uint32_t word)
{
    uint32_t nobody = 0;
    if (!sbx_cas_acq_rel(&place.is_busy, &nobody, 1)) { /* order: acq_rel place.is_busy */
        return;
    }
    if (place.candidate != caller || place.candidate_word != word) {
        place.candidate = caller;
        place.candidate_word = word;
        place.votes = 0;
    }
    if (++place.votes == VOTES) {
        sbx_store_relaxed(&place.word, word);
        sbx_store_release(&place.caller, caller); /* order: release place.caller - its word is there */
    }
    sbx_store_release(&place.is_busy, 0); /* order: release place.is_busy */
}

/* This event is being delivered. Which of the kept frames contains it? */
SBX_NOINLINE static void look_for(const void *receiver, const void *event)
{
    for (int i = 0; i < SAMPLES; i++) {
        struct sample *sample = &samples[i];
        uint64_t turn = sbx_load_acquire(&sample->turn); /* order: acquire sample.turn - its words are whole */
        uint64_t caller = sbx_load_relaxed(&sample->returns_to);
        for (uint32_t word = 1; (turn & 1) == 0 && turn != 0 && word < SAMPLE_WORDS; word++) {
            if (sbx_load_relaxed(&sample->words[word]) == (uint64_t)(uintptr_t)event &&
                sbx_load_relaxed(&sample->words[word - 1]) == (uint64_t)(uintptr_t)receiver &&
                sbx_cas_acq_rel(&sample->turn, &turn,
                                0)) { /* order: acq_rel sample.turn - each frame is counted once */
                vote(caller, word);
                break;
            }
        }
    }
}

/* ---- posted events ---- */

static void note_posted(const void *receiver, const void *event, const void *of_queue)
{
    cancel_event(event); /* an older event at this address whose end was not seen */
    uint64_t task = sbx_task_queued(SBX_GROUP_QT, SBX_OP_QT_POST_EVENT, queue_of(of_queue), key_of_event(event),
                                    (uint64_t)(uintptr_t)receiver);
    if (SBX_UNLIKELY(task != 0 && sbx_task_hop_of_id(task) == 0)) {
        sbx_qt_keep_unfollowed((uint64_t)(uintptr_t)event, task);
    }
}

typedef void post_event(void *, void *, int);
static post_event *real_postEvent;
static void hook_postEvent(void *receiver, void *event, int priority)
{
    struct sbx_thread *thread = self();
    if (thread == NULL || receiver == NULL || event == NULL || !sbx_capture_is_open()) {
        real_postEvent(receiver, event, priority);
        return;
    }
    note_posted(receiver, event, receiver);
    thread->tasks.posts = (uint64_t)(uintptr_t)event;
    real_postEvent(receiver, event, priority);
    if (thread == sbx_self) {
        thread->tasks.posts = 0;
    }
}

/* The frame of the caller of wakeUp() begins at `frame`. */
static void note_wake_up(const void *dispatcher, const uint64_t *frame, uint64_t returns_to)
{
    struct sbx_thread *thread = self();
    uint64_t caller = sbx_load_acquire(&place.caller); /* order: acquire place.caller - its word is there */
    if (thread == NULL || !sbx_capture_is_open()) {
        return;
    }
    if (SBX_UNLIKELY(caller == 0)) {
        /* A frame at the top of a coroutine's stack may have no memory above it. */
        if ((uint64_t)(uintptr_t)frame >= thread->stack_low &&
            (uint64_t)(uintptr_t)(frame + SAMPLE_WORDS) <= thread->stack_high) {
            keep_sample(frame, returns_to);
        }
    } else if (caller == returns_to) {
        const uint64_t *posted = &frame[sbx_load_relaxed(&place.word)];
        if (posted[0] != thread->tasks.posts && posted[0] != 0) {
            note_posted((const void *)(uintptr_t)posted[-1], (const void *)(uintptr_t)posted[0], dispatcher);
        }
    }
}

typedef void wake_up(void *);
#define WAKES_UP(of)                                                      \
    static wake_up *real_wakeUp_##of;                                     \
    static void hook_wakeUp_##of(void *dispatcher)                        \
    {                                                                     \
        note_wake_up(dispatcher, (const uint64_t *)__builtin_dwarf_cfa(), \
                     (uint64_t)(uintptr_t)__builtin_return_address(0));   \
        real_wakeUp_##of(dispatcher);                                     \
    }
WAKES_UP(glib)
WAKES_UP(unix)

typedef bool deliver(void *, void *, void *);

SBX_NOINLINE static bool deliver_timer(deliver *notify, void *application, void *receiver, void *event, uint64_t task,
                                       uint64_t key)
{
    struct sbx_thread *thread = self();
    uint64_t outer = 0, outer_object = 0;
    if (thread != NULL) {
        outer = thread->tasks.timer;
        outer_object = thread->tasks.timer_object;
        thread->tasks.timer = key;
        thread->tasks.timer_object = (uint64_t)(uintptr_t)receiver;
    }
    sbx_task_begin(task);
    bool result = notify(application, receiver, event);
    thread = thread == sbx_self ? thread : NULL;
    if (thread != NULL && thread->tasks.timer == key) {
        (void)sbx_task_end_and_queue(task); /* the timer goes on */
    } else {
        sbx_task_end(task);
    }
    if (thread != NULL) {
        thread->tasks.timer = outer;
        thread->tasks.timer_object = outer_object;
    }
    return result;
}

static bool notify(deliver *real, void *application, void *receiver, void *event)
{
    const struct layout *at = SBX_LIKELY(sbx_capture_is_open()) && event != NULL ? layout() : NULL;
    uint64_t task = 0;
    if (at != NULL) {
        if (*(const uint16_t *)((const char *)event + at->type_at) == TIMER_EVENT) {
            uint64_t key = key_of_timer(*(const int *)((const char *)event + at->timer_at));
            task = sbx_task_find(key, 0);
            if (task != 0) {
                return deliver_timer(real, application, receiver, event, task, key);
            }
        } else {
            if (SBX_UNLIKELY(sbx_load_relaxed(&place.caller) == 0)) { /* relaxed: a hint */
                look_for(receiver, event);
            }
            task = sbx_task_find(key_of_event(event), (uint64_t)(uintptr_t)receiver);
            task = task != 0 ? task : sbx_qt_take_unfollowed((uint64_t)(uintptr_t)event);
        }
    }
    if (SBX_LIKELY(task == 0)) {
        return real(application, receiver, event);
    }
    sbx_task_begin(task);
    bool result = real(application, receiver, event);
    sbx_task_end(task);
    return result;
}

#define NOTIFIES(of)                                                             \
    static deliver *real_notify_##of;                                            \
    static bool hook_notify_##of(void *application, void *receiver, void *event) \
    {                                                                            \
        return notify(real_notify_##of, application, receiver, event);           \
    }
NOTIFIES(core)
NOTIFIES(gui)
NOTIFIES(widgets)

typedef void destroy(void *);
#define DESTROYS_EVENT(of)                       \
    static destroy *real_destroy_##of;           \
    static void hook_destroy_##of(void *event)   \
    {                                            \
        if (SBX_LIKELY(sbx_capture_is_open())) { \
            cancel_event(event);                 \
        }                                        \
        real_destroy_##of(event);                \
    }
DESTROYS_EVENT(base)          /* D2: of derived classes */
DESTROYS_EVENT(complete)      /* D1 */
DESTROYS_EVENT(deleting)      /* D0: called by `delete` */
DESTROYS_EVENT(call_complete) /* the same for a QMetaCallEvent */
DESTROYS_EVENT(call_deleting)

/* ---- timers ---- */

typedef void register_timer(void *, int, uint64_t, int,
                            void *); /* the interval is an int before Qt 6; it is passed on unchanged */
#define REGISTERS(of)                                                                                       \
    static register_timer *real_register_##of;                                                              \
    static void hook_register_##of(void *dispatcher, int number, uint64_t interval, int type, void *object) \
    {                                                                                                       \
        if (SBX_LIKELY(sbx_capture_is_open())) {                                                            \
            cancel(key_of_timer(number), 0);                                                                \
            /* A timer that waits for its time lies in no queue. */                                         \
            (void)sbx_task_queued(SBX_GROUP_QT, SBX_OP_QT_TIMER, 0, key_of_timer(number),                   \
                                  (uint64_t)(uintptr_t)object);                                             \
        }                                                                                                   \
        real_register_##of(dispatcher, number, interval, type, object);                                     \
    }
REGISTERS(glib5)
REGISTERS(glib6)
REGISTERS(unix5)
REGISTERS(unix6)

static void note_unregistered(int number)
{
    struct sbx_thread *thread = self();
    uint64_t key = key_of_timer(number);
    if (thread != NULL && thread->tasks.timer == key) {
        thread->tasks.timer = 0;
    } else if (sbx_capture_is_open()) {
        cancel(key, 0);
    }
}

typedef bool unregister_timer(void *, int);
typedef bool unregister_timers(void *, void *);
#define UNREGISTERS(of)                                                                    \
    static unregister_timer *real_unregister_##of;                                         \
    static bool hook_unregister_##of(void *dispatcher, int number)                         \
    {                                                                                      \
        note_unregistered(number);                                                         \
        return real_unregister_##of(dispatcher, number);                                   \
    }                                                                                      \
    static unregister_timers *real_unregister_all_##of;                                    \
    static bool hook_unregister_all_##of(void *dispatcher, void *object)                   \
    {                                                                                      \
        struct sbx_thread *thread = self();                                                \
        if (thread != NULL && thread->tasks.timer_object == (uint64_t)(uintptr_t)object) { \
            thread->tasks.timer = 0;                                                       \
        }                                                                                  \
        if (SBX_LIKELY(sbx_capture_is_open()) && object != NULL) {                         \
            sbx_tasks_cancelled_by_match(SBX_OP_QT_TIMER, (uint64_t)(uintptr_t)object);    \
        }                                                                                  \
        return real_unregister_all_##of(dispatcher, object);                               \
    }
UNREGISTERS(glib)
UNREGISTERS(unix)

/* ---- the points ---- */

#define POINT(symbol, name)  SBX_POINT(symbol, hook_##name, real_##name, SBX_GROUP_QT)
#define WANTED(symbol, name) SBX_POINT(symbol, NULL, real_##name, SBX_GROUP_QT)
#define TABLE_POINT(symbol, name, table)                                                             \
    {                                                                                                \
        symbol, (void *)hook_##name, (void **)&real_##name, SBX_GROUP_QT, false, false, false, table \
    }
#define GLIB "_ZTV20QEventDispatcherGlib"
#define UNIX "_ZTV20QEventDispatcherUNIX"
static const struct sbx_point points[] = {
    POINT("_ZN16QCoreApplication9postEventEP7QObjectP6QEventi", postEvent), /* first: without it there is no Qt */
    WANTED("qVersion", qVersion),
    WANTED("_ZNK7QObject6threadEv", thread),
    TABLE_POINT("_ZN16QCoreApplication6notifyEP7QObjectP6QEvent", notify_core, "_ZTV16QCoreApplication"),
    TABLE_POINT("_ZN15QGuiApplication6notifyEP7QObjectP6QEvent", notify_gui, "_ZTV15QGuiApplication"),
    TABLE_POINT("_ZN12QApplication6notifyEP7QObjectP6QEvent", notify_widgets, "_ZTV12QApplication"),
    POINT("_ZN6QEventD2Ev", destroy_base),
    TABLE_POINT("_ZN6QEventD1Ev", destroy_complete, "_ZTV6QEvent"),
    TABLE_POINT("_ZN6QEventD0Ev", destroy_deleting, "_ZTV6QEvent"),
    TABLE_POINT("_ZN20QEventDispatcherGlib6wakeUpEv", wakeUp_glib, GLIB),
    TABLE_POINT("_ZN20QEventDispatcherUNIX6wakeUpEv", wakeUp_unix, UNIX),
    TABLE_POINT("_ZN14QMetaCallEventD1Ev", destroy_call_complete, "_ZTV14QMetaCallEvent"),
    TABLE_POINT("_ZN14QMetaCallEventD0Ev", destroy_call_deleting, "_ZTV14QMetaCallEvent"),
    TABLE_POINT("_ZN20QEventDispatcherGlib13registerTimerEiiN2Qt9TimerTypeEP7QObject", register_glib5, GLIB),
    TABLE_POINT("_ZN20QEventDispatcherGlib13registerTimerEixN2Qt9TimerTypeEP7QObject", register_glib6, GLIB),
    TABLE_POINT("_ZN20QEventDispatcherUNIX13registerTimerEiiN2Qt9TimerTypeEP7QObject", register_unix5, UNIX),
    TABLE_POINT("_ZN20QEventDispatcherUNIX13registerTimerEixN2Qt9TimerTypeEP7QObject", register_unix6, UNIX),
    TABLE_POINT("_ZN20QEventDispatcherGlib15unregisterTimerEi", unregister_glib, GLIB),
    TABLE_POINT("_ZN20QEventDispatcherUNIX15unregisterTimerEi", unregister_unix, UNIX),
    TABLE_POINT("_ZN20QEventDispatcherGlib16unregisterTimersEP7QObject", unregister_all_glib, GLIB),
    TABLE_POINT("_ZN20QEventDispatcherUNIX16unregisterTimersEP7QObject", unregister_all_unix, UNIX),
};
const struct sbx_point_list sbx_points_qt = SBX_POINT_LIST(points);
