/* SPDX-License-Identifier: Apache-2.0 */
/* point_glib.c - GLib's main contexts: which thread added an idle or timed source, and the call of its callback.
 *
 * A source's callback is never replaced. GLib stores, compares, calls and destroys what the program gave to
 * g_idle_add(), and g_source_remove(), g_source_remove_by_funcs_user_data() and destroy notifiers work as before. The
 * agent watches the dispatch instead. Each idle source is dispatched by g_idle_funcs.dispatch and each timed one by
 * g_timeout_funcs.dispatch, two variables that GLib makes public. They are made to lead to a function of the agent,
 * which calls the original with the same arguments. The same is done with `finalize`, which shows that a source was
 * removed. The structs stay where they are, so comparisons of a source's funcs still work. Both words are put back when
 * the group is taken out.
 *
 * Both sides know a source by its number and context. Another thread may dispatch the source before g_idle_add() has
 * returned the number. Until then the task is known by function and data. g_main_context_invoke() never returns a
 * number.
 *
 * GLib may be loaded late, so its functions are looked for repeatedly, like presents (point_frame.c). None of its
 * headers is used. */
#include "point_glib.h"

#include "point.h"
#include "process_state.h"
#include "relro_word.h"
#include "task.h"

#include <errno.h>

typedef int source_function(void *data);
typedef void destroy_function(void *data);

/* The first fields of a GSource. Their layout is part of GLib 2's binary interface (gmain.h). */
struct source {
    void *callback_data, *callback_funcs;
    const struct source_funcs *funcs;
    uint32_t ref_count;
    void *context;
    int32_t priority;
    uint32_t flags, number;
};

struct source_funcs {
    void *prepare, *check;
    int (*dispatch)(struct source *, source_function *, void *);
    void (*finalize)(struct source *);
};

enum {
    ANY_NUMBER = 0,
    NUMBER_TO_COME = 1, /* `match` of a source whose number is not known yet */
    CONTEXTS = 64,
    SETS = 512, /* sources are known by number, in one of the places of a set */
    WAYS = 8,
    HAS_LEFT = 1, /* for `task` */
};

static struct source_funcs *idle_funcs, *timeout_funcs;
static void *(*real_g_main_context_default)(void);

/* For a source that is followed, and for any source that the program may keep after its end: its task. Other sources
 * are only subtracted from the counts of their queue. */
static struct numbered {
    uint64_t match;
    uint64_t task;    /* HAS_LEFT: no task any more; it was dispatched for the last time */
    uint64_t is_kept; /* until the source is gone */
} numbered[SETS][WAYS];
SBX_OF_ONE_PROCESS(numbered);

static uint64_t key_of_call(source_function *function, const void *data)
{
    return ((uint64_t)(uintptr_t)function * UINT64_C(0xff51afd7ed558ccd) ^ (uint64_t)(uintptr_t)data) | 1;
}

static uint64_t key_of_source(const struct source *source)
{
    return (uint64_t)(uintptr_t)source & ~UINT64_C(1); /* never equal to the key of a call */
}

/* Sources of a context are numbered from 1 on. */
static uint64_t match_of(const void *context, uint32_t number)
{
    return ((uint64_t)(uintptr_t)context >> 4 << 32 | number) + 2 * (number == 0);
}

static uint64_t number_of_queue(const void *context)
{
    return (uint64_t)(uintptr_t)context;
}

/* ---- the side that adds ---- */

static uint64_t add_call(uint8_t op, uint64_t queue, source_function *function, const void *data)
{
    return sbx_task_queued(SBX_GROUP_GLIB, op, queue, key_of_call(function, data), NUMBER_TO_COME);
}

static struct numbered *set_of(uint64_t match)
{
    return numbered[(match * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SETS];
}

static struct numbered *find_number(uint64_t match)
{
    struct numbered *set = set_of(match);
    for (int i = 0; i < WAYS; i++) {
        if (sbx_load_acquire(&set[i].match) == match) { /* order: acquire numbered.match - its task is its own */
            return &set[i];
        }
    }
    return NULL;
}

/* Does the place still have a task that must be found? */
static bool is_needed(const struct numbered *place)
{
    uint64_t match = sbx_load_relaxed(&place->match), task = sbx_load_relaxed(&place->task); /* relaxed: a hint */
    const struct sbx_task_entry *entry = sbx_task_entry_of(task);
    return match != 0 && (sbx_load_relaxed(&place->is_kept) != 0 ||
                          (entry != NULL && sbx_load_relaxed(&entry->word) >> 8 == sbx_task_hop_of_id(task)));
}

/* The source has a number now. */
SBX_NOINLINE static void note_number(uint64_t task, const void *context, uint32_t number, bool is_kept)
{
    if (number == 0 || (sbx_task_hop_of_id(task) == 0 && !is_kept)) {
        return;
    }
    int saved_errno = errno;
    const void *known = context != NULL ? context : real_g_main_context_default(); /* by now it exists */
    uint64_t match = match_of(known, number);
    struct numbered *set = set_of(match), *place = &set[0];
    for (int i = 1; i < WAYS && is_needed(place); i++) {
        place = &set[i];
    }
    if (SBX_UNLIKELY(is_needed(place))) {
        sbx_task_forget(task); /* its removal could not be noticed */
        errno = saved_errno;
        return;
    }
    sbx_store_relaxed(&place->match, 0);
    sbx_store_relaxed(&place->task,
                      task); /* relaxed: two threads may take one place; readers also check the task's entry */
    sbx_store_relaxed(&place->is_kept, is_kept);
    sbx_store_release(&place->match, match); /* order: release numbered.match - its task is there */
    sbx_task_set_match(task, match);
    errno = saved_errno;
}

static uint64_t default_queue(void)
{
    return SBX_LIKELY(sbx_capture_is_open()) && real_g_main_context_default != NULL
               ? number_of_queue(real_g_main_context_default())
               : 0;
}

#define ADDS(name, parameters, arguments, op, queue)         \
    static unsigned(*real_##name) parameters;                \
    static unsigned hook_##name parameters                   \
    {                                                        \
        uint64_t task = add_call(op, queue, function, data); \
        unsigned number = real_##name arguments;             \
        if (SBX_LIKELY(task != 0)) {                         \
            note_number(task, NULL, number, false);          \
        }                                                    \
        return number;                                       \
    }

ADDS(g_idle_add, (source_function * function, void *data), (function, data), SBX_OP_G_IDLE_ADD, default_queue())
ADDS(g_idle_add_once, (source_function * function, void *data), (function, data), SBX_OP_G_IDLE_ADD, default_queue())
ADDS(g_idle_add_full, (int priority, source_function *function, void *data, destroy_function *notify),
     (priority, function, data, notify), SBX_OP_G_IDLE_ADD, default_queue())
/* A source that waits for its time lies in no queue. */
ADDS(g_timeout_add, (unsigned interval, source_function *function, void *data), (interval, function, data),
     SBX_OP_G_TIMEOUT_ADD, 0)
ADDS(g_timeout_add_once, (unsigned interval, source_function *function, void *data), (interval, function, data),
     SBX_OP_G_TIMEOUT_ADD, 0)
ADDS(g_timeout_add_full,
     (int priority, unsigned interval, source_function *function, void *data, destroy_function *notify),
     (priority, interval, function, data, notify), SBX_OP_G_TIMEOUT_ADD, 0)
ADDS(g_timeout_add_seconds, (unsigned interval, source_function *function, void *data), (interval, function, data),
     SBX_OP_G_TIMEOUT_ADD, 0)
ADDS(g_timeout_add_seconds_full,
     (int priority, unsigned interval, source_function *function, void *data, destroy_function *notify),
     (priority, interval, function, data, notify), SBX_OP_G_TIMEOUT_ADD, 0)

/* If an older context had this address, it has ended. Its end is seen nowhere else, because GLib's own functions also
 * keep references to contexts and release them. */
#define MAKES_CONTEXT(name, parameters, arguments)     \
    static void *(*real_##name)parameters;             \
    static void *hook_##name parameters                \
    {                                                  \
        void *context = real_##name arguments;         \
        sbx_task_queue_ends(number_of_queue(context)); \
        return context;                                \
    }
MAKES_CONTEXT(g_main_context_new, (void), ())
MAKES_CONTEXT(g_main_context_new_with_flags, (int flags), (flags))

/* Only sources of the two kinds whose dispatch is seen are followed. */
static unsigned (*real_g_source_attach)(struct source *, void *);
static unsigned hook_g_source_attach(struct source *source, void *context)
{
    if (source != NULL && source->funcs != NULL && (source->funcs == idle_funcs || source->funcs == timeout_funcs)) {
        uint64_t queue = source->funcs == timeout_funcs ? 0
                         : context != NULL              ? number_of_queue(context)
                                                        : default_queue();
        uint64_t task =
            sbx_task_queued(SBX_GROUP_GLIB, SBX_OP_G_SOURCE_ATTACH, queue, key_of_source(source), ANY_NUMBER);
        unsigned number = real_g_source_attach(source, context);
        if (SBX_LIKELY(task != 0)) {
            note_number(task, context, number, true);
        }
        return number;
    }
    return real_g_source_attach(source, context);
}

/* If the caller owns the context, or no thread does, the function is called at once, and no work passes to another
 * thread. GLib does not say which thread owns a context, but a thread that dispatches from it does. So a call is
 * followed if another thread was seen to dispatch from that context. */
static struct owner {
    uint64_t context;
    uint64_t thread; /* the block of the last thread that dispatched from it: only compared */
} owners[CONTEXTS];
SBX_OF_ONE_PROCESS(owners);

static struct owner *owner_of(const void *context)
{
    return &owners[((uint64_t)(uintptr_t)context * UINT64_C(0x9e3779b97f4a7c15) >> 40) % CONTEXTS];
}

static void note_owner(const void *context)
{
    struct owner *owner = owner_of(context);
    uint64_t thread = (uint64_t)(uintptr_t)sbx_self;
    if (SBX_UNLIKELY(sbx_load_relaxed(&owner->thread) != thread || /* relaxed: a hint, like all of these */
                     sbx_load_relaxed(&owner->context) != (uint64_t)(uintptr_t)context)) {
        sbx_store_relaxed(&owner->context, (uint64_t)(uintptr_t)context);
        sbx_store_relaxed(&owner->thread, thread);
    }
}

static void note_invoke(const void *context, source_function *function, const void *data)
{
    if (!sbx_capture_is_open() || real_g_main_context_default == NULL) {
        return;
    }
    const void *asked = context != NULL ? context : real_g_main_context_default();
    const struct owner *owner = owner_of(asked);
    if (sbx_load_relaxed(&owner->context) == (uint64_t)(uintptr_t)asked &&
        sbx_load_relaxed(&owner->thread) != (uint64_t)(uintptr_t)sbx_self) {
        (void)add_call(SBX_OP_G_MAIN_CONTEXT_INVOKE, number_of_queue(asked), function, data);
    }
}

static void (*real_g_main_context_invoke)(void *, source_function *, void *);
static void hook_g_main_context_invoke(void *context, source_function *function, void *data)
{
    note_invoke(context, function, data);
    real_g_main_context_invoke(context, function, data);
}

static void (*real_g_main_context_invoke_full)(void *, int, source_function *, void *, destroy_function *);
static void hook_g_main_context_invoke_full(void *context, int priority, source_function *function, void *data,
                                            destroy_function *notify)
{
    note_invoke(context, function, data);
    real_g_main_context_invoke_full(context, priority, function, data, notify);
}

/* ---- the side that dispatches ---- */

struct dispatched {
    struct source_funcs *funcs;
    int (*dispatch)(struct source *, source_function *, void *);
    void (*finalize)(struct source *);
};
static struct dispatched idle_dispatch,
    timeout_dispatch; /* the originals; never cleared, because a thread may be about to call them */

static uint64_t task_of(const struct source *source, source_function *function, const void *data)
{
    if (!sbx_capture_is_open()) {
        return 0;
    }
    note_owner(source->context);
    /* Another thread may be storing the number, and then make the same call again. So the task that waits for its
     * number is looked up first, and a task that has the number is preferred. Otherwise the next call's task could be
     * taken for this one's. */
    uint64_t key = key_of_call(function, data), to_come = sbx_task_find(key, NUMBER_TO_COME);
    uint64_t task = sbx_task_find(key, match_of(source->context, source->number));
    task = task != 0 ? task : sbx_task_find(key_of_source(source), ANY_NUMBER);
    return task != 0 ? task : to_come;
}

/* The source was dispatched for the last time. It ends right after this, on this thread, unless the program keeps
 * it. */
static void note_last(const struct source *source)
{
    struct sbx_thread *thread = sbx_self;
    uint64_t match = match_of(source->context, source->number);
    struct numbered *place = find_number(match);
    if (place != NULL) {
        sbx_store_relaxed(&place->task, HAS_LEFT); /* relaxed: GLib has locks between this and its end */
        if (sbx_load_relaxed(&place->is_kept) == 0) {
            sbx_store_relaxed(&place->match, 0);
        }
    }
    if (sbx_thread_is_registered(thread)) {
        thread->tasks.source_ended = match;
    }
}

static int dispatch(const struct dispatched *what, struct source *source, source_function *function, void *data)
{
    uint64_t task = task_of(source, function, data);
    if (task == 0) {
        const void *context = source->context;
        int stays = what->dispatch(source, function, data);
        if (!stays && what == &idle_dispatch && sbx_capture_is_open()) {
            sbx_task_begin_uncounted(number_of_queue(context));
            note_last(source);
        }
        return stays;
    }
    sbx_task_begin(task);
    int goes_on = what->dispatch(source, function, data);
    if (!goes_on) {
        sbx_task_end(task);
        note_last(source);
        return goes_on;
    }
    uint64_t again = sbx_task_end_and_queue(task); /* the source stays and will be called again */
    struct numbered *place = again != 0 ? find_number(match_of(source->context, source->number)) : NULL;
    if (place != NULL) {
        sbx_store_relaxed(&place->task, again);
    }
    return goes_on;
}

/* The source is gone. If its task has not run for the last time, it will never run. */
static void note_gone(const struct dispatched *what, const struct source *source)
{
    struct sbx_thread *thread = sbx_self;
    uint64_t match = match_of(source->context, source->number);
    struct numbered *place = find_number(match);
    uint64_t task = place != NULL ? sbx_load_relaxed(&place->task) : 0;
    if (place != NULL) {
        sbx_store_relaxed(&place->match, 0);
    }
    if (sbx_thread_is_registered(thread) && thread->tasks.source_ended == match) {
        thread->tasks.source_ended = 0;
        return;
    }
    task = task != 0 ? task : sbx_task_find(key_of_source(source), ANY_NUMBER);
    if (task != 0) {
        sbx_task_cancelled(task); /* no effect if it has run, or is HAS_LEFT */
    } else if (what == &idle_dispatch) {
        sbx_task_cancelled_uncounted(number_of_queue(source->context));
    }
}

static void finalize(const struct dispatched *what, struct source *source)
{
    if (sbx_capture_is_open() && source->context != NULL && source->number != 0) {
        note_gone(what, source);
    }
    if (what->finalize != NULL) {
        what->finalize(source);
    }
}

static int dispatch_idle(struct source *source, source_function *function, void *data)
{
    return dispatch(&idle_dispatch, source, function, data);
}

static int dispatch_timeout(struct source *source, source_function *function, void *data)
{
    return dispatch(&timeout_dispatch, source, function, data);
}

static void finalize_idle(struct source *source)
{
    finalize(&idle_dispatch, source);
}

static void finalize_timeout(struct source *source)
{
    finalize(&timeout_dispatch, source);
}

/* ---- the two variables ---- */

/* The functions found there first are the ones that the agent's functions always call. If another library puts its own
 * functions there later, these may call the agent's. If the agent's functions called them in turn, the calls would
 * never end. So the other library's functions stay. */
static void put_in(struct dispatched *what, struct source_funcs *funcs,
                   int (*ours)(struct source *, source_function *, void *), void (*our_finalize)(struct source *))
{
    if (funcs == NULL || !sbx_word_is_writable(funcs) || funcs->dispatch == NULL) {
        return;
    }
    if (what->dispatch == NULL) {
        what->dispatch = funcs->dispatch;
        what->finalize = funcs->finalize;
    }
    if (sbx_load_relaxed(&funcs->dispatch) != what->dispatch) {
        return;
    }
    what->funcs = funcs;
    /* Release, and GLib loads the word as a code address: a thread that reaches the agent's function finds the original
     * to call. */
    sbx_store_release(&funcs->dispatch, ours);
    if (sbx_load_relaxed(&funcs->finalize) == what->finalize) {
        sbx_store_release(&funcs->finalize, our_finalize);
    }
}

static void take_out(struct dispatched *what, int (*ours)(struct source *, source_function *, void *),
                     void (*our_finalize)(struct source *))
{
    if (what->funcs == NULL || !sbx_word_is_writable(what->funcs)) {
        return;
    }
    if (sbx_load_relaxed(&what->funcs->dispatch) == ours) {
        sbx_store_release(&what->funcs->dispatch, what->dispatch);
    }
    if (sbx_load_relaxed(&what->funcs->finalize) == our_finalize) {
        sbx_store_release(&what->funcs->finalize, what->finalize);
    }
    what->funcs = NULL;
}

void sbx_glib_follow_sources(bool is_wanted)
{
    if (is_wanted) {
        put_in(&idle_dispatch, idle_funcs, dispatch_idle, finalize_idle);
        put_in(&timeout_dispatch, timeout_funcs, dispatch_timeout, finalize_timeout);
    } else {
        sbx_glib_forget_references();
        take_out(&idle_dispatch, dispatch_idle, finalize_idle);
        take_out(&timeout_dispatch, dispatch_timeout, finalize_timeout);
    }
}

#define POINT(name)  SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_GLIB)
#define WANTED(name) SBX_POINT(#name, NULL, real_##name, SBX_GROUP_GLIB)
static const struct sbx_point points[] = {
    POINT(g_idle_add), /* first: without it there is no GLib */
    POINT(g_idle_add_once),
    POINT(g_idle_add_full),
    POINT(g_timeout_add),
    POINT(g_timeout_add_once),
    POINT(g_timeout_add_full),
    POINT(g_timeout_add_seconds),
    POINT(g_timeout_add_seconds_full),
    POINT(g_source_attach),
    POINT(g_main_context_new),
    POINT(g_main_context_new_with_flags),
    POINT(g_main_context_invoke),
    POINT(g_main_context_invoke_full),
    WANTED(g_main_context_default),
    {"g_idle_funcs", NULL, (void **)&idle_funcs, SBX_GROUP_GLIB, false, true, false, NULL},
    {"g_timeout_funcs", NULL, (void **)&timeout_funcs, SBX_GROUP_GLIB, false, true, false, NULL},
};
const struct sbx_point_list sbx_points_glib = SBX_POINT_LIST(points);
