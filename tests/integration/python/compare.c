/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - a library that a Python script loads (ctypes.PyDLL). At each call it compares the frames as we read them
 * with the interpreter's own (PyThreadState_GetFrame, PyFrame_GetLineNumber). It can also send many signals, each of
 * which walks the stack of the thread that it interrupts: sent to the process, and by timers of the threads. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <stallbox/stallbox.h>

#include "cpython.h"
#include "frame_chain.h"
#include "interpreter_lock.h"
#include "step_count.h"

STALLBOX_EXPORT int stallbox_runtime_attach(char *why, size_t why_bytes);
STALLBOX_EXPORT long compare_count(void);
STALLBOX_EXPORT int compare_now(void);

static long compared;

/* 1: the same; -1: the frames differ; -2: the lines differ. The caller holds the GIL. */
int compare_now(void)
{
    void *thread = the_cpython.calls.PyGILState_GetThisThreadState();
    uint64_t root;
    if (interpreter_lock_collects(the_cpython.layout, (uint64_t)(uintptr_t)thread)) {
        return 1;
    }
    compared++;
    return cpython_check_frames(thread, &root) != 1 ? -1 : cpython_check_lines(thread) != 1 ? -2 : 1;
}

long compare_count(void)
{
    return compared;
}

/* ---- who awaits whom ---- */

/* Compares what the script gives (code objects and lines, the innermost first) with what we read of the functions that
 * await the calling task. 1: the same; -1: not. found_out gets our lines. */
STALLBOX_EXPORT int compare_awaited(void *const *codes, const int *lines, int count, int *found_out, int found_max);
int compare_awaited(void *const *codes, const int *lines, int count, int *found_out, int found_max)
{
    enum {
        MOST = 64
    };
    void *thread = the_cpython.calls.PyGILState_GetThisThreadState();
    uint64_t functions[MOST], expected;
    uint32_t found[MOST], unused;
    size_t told = cpython_awaited_by(thread, NULL, functions, found, MOST);
    int result = told == (size_t)count ? 1 : -1;
    for (size_t i = 0; i < told; i++) {
        uint32_t line = found[i] & ~STALLBOX_PROVIDER_BORDER;
        if (i < (size_t)found_max) {
            found_out[i] = (int)line;
        }
        if (i < (size_t)count) {
            const struct chain_frame begin = {.code = (uint64_t)(uintptr_t)codes[i], .instruction = -1};
            cpython_tell_frame(&begin, &expected, &unused);
            result = functions[i] != expected || functions[i] == 0 || line != (uint32_t)lines[i] ? -1 : result;
        }
    }
    compared++;
    return result;
}

/* ---- a storm of signals ---- */

enum {
    DEPTH = 64
};
static struct {
    long walks, frames, nameless, awaiting;
    bool goes_on;
    pthread_t sender;
} storm;

static void walk_here(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    int saved_errno = errno;
    void *thread = the_cpython.calls.PyGILState_GetThisThreadState();
    if (thread != NULL) {
        const ucontext_t *interrupted = context;
        uint64_t functions[DEPTH];
        uint32_t lines[DEPTH];
        const struct stallbox_interrupted at = {.pc = 1,
                                                .registers = (const uint64_t *)(const void *)&interrupted->uc_mcontext};
        size_t count = cpython_walk(thread, &at, 0, functions, lines, DEPTH);
        __atomic_add_fetch(&storm.walks, 1, __ATOMIC_RELAXED);
        for (size_t i = 0; i < count && i < DEPTH; i++) {
            __atomic_add_fetch(&storm.frames, 1, __ATOMIC_RELAXED);
            __atomic_add_fetch(&storm.nameless, functions[i] == 0, __ATOMIC_RELAXED);
        }
        count = cpython_awaited_by(thread, &at, functions, lines, DEPTH);
        for (size_t i = 0; i < count; i++) {
            __atomic_add_fetch(&storm.awaiting, 1, __ATOMIC_RELAXED);
            __atomic_add_fetch(&storm.nameless, functions[i] == 0, __ATOMIC_RELAXED);
        }
    }
    errno = saved_errno;
}

static __thread timer_t own_timer;

/* From now on the calling thread is also interrupted each `us`, whatever the other threads do. */
STALLBOX_EXPORT int storm_thread_begin(long us);
int storm_thread_begin(long us)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    const struct itimerspec each = {.it_interval.tv_nsec = us * 1000, .it_value.tv_nsec = us * 1000};
    event._sigev_un._tid = gettid();
    return timer_create(CLOCK_MONOTONIC, &event, &own_timer) == 0 ? timer_settime(own_timer, 0, &each, NULL) : -1;
}

STALLBOX_EXPORT int storm_thread_end(void);
int storm_thread_end(void)
{
    return timer_delete(own_timer);
}

STALLBOX_EXPORT void storm_counts(long *walks, long *frames, long *nameless);
void storm_counts(long *walks, long *frames, long *nameless)
{
    *walks = __atomic_load_n(&storm.walks, __ATOMIC_RELAXED);
    *frames = __atomic_load_n(&storm.frames, __ATOMIC_RELAXED);
    *nameless = __atomic_load_n(&storm.nameless, __ATOMIC_RELAXED);
}

/* The number of frames of functions that awaited an interrupted task. */
STALLBOX_EXPORT long storm_awaiting(void);
long storm_awaiting(void)
{
    return __atomic_load_n(&storm.awaiting, __ATOMIC_RELAXED);
}

/* For a forked child, which has neither the sending thread nor its parent's timers: start again. */
STALLBOX_EXPORT int storm_forked(long us);
int storm_forked(long us)
{
    storm.walks = storm.frames = storm.nameless = 0;
    return storm_thread_begin(us);
}

static void *send_signals(void *us)
{
    const struct timespec pause = {.tv_nsec = (long)(uintptr_t)us * 1000};
    while (__atomic_load_n(&storm.goes_on, __ATOMIC_RELAXED)) {
        kill(getpid(), SIGPROF); /* delivered to any thread that the kernel chooses; this one blocks it */
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* From now on there is a walk about each `us`, wherever a thread is. */
STALLBOX_EXPORT int storm_begin(long us);
int storm_begin(long us)
{
    struct sigaction action = {.sa_sigaction = walk_here, .sa_flags = SA_RESTART | SA_SIGINFO};
    sigset_t all, before;
    sigfillset(&all);
    storm.goes_on = true;
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = sigaction(SIGPROF, &action, NULL) == 0
                     ? pthread_create(&storm.sender, NULL, send_signals, (void *)(uintptr_t)us)
                     : -1;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

STALLBOX_EXPORT void storm_end(void);
void storm_end(void)
{
    __atomic_store_n(&storm.goes_on, false, __ATOMIC_RELAXED);
    pthread_join(storm.sender, NULL);
}

/* ---- what a walk costs ---- */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The nanoseconds of one walk of the calling thread, as the mean of `rounds`. */
STALLBOX_EXPORT double walk_ns(int rounds);
double walk_ns(int rounds)
{
    void *thread = the_cpython.calls.PyGILState_GetThisThreadState();
    uint64_t functions[DEPTH], begin = now_ns();
    uint32_t lines[DEPTH];
    for (int i = 0; i < rounds; i++) {
        (void)cpython_walk(thread, NULL, 0, functions, lines, DEPTH);
    }
    return (double)(now_ns() - begin) / rounds;
}

/* The instructions of one walk of the calling thread, without the kernel's. */
struct walk_call {
    void *thread;
    uint64_t functions[DEPTH];
    uint32_t lines[DEPTH];
};

static void walk_once(void *to)
{
    struct walk_call *call = to;
    (void)cpython_walk(call->thread, NULL, 0, call->functions, call->lines, DEPTH);
}

STALLBOX_EXPORT double walk_steps(void);
double walk_steps(void)
{
    struct walk_call call = {.thread = the_cpython.calls.PyGILState_GetThisThreadState()};
    walk_once(&call); /* to warm the caches */
    return (double)bench_count_steps(walk_once, &call);
}

/* The nanoseconds of the same with the interpreter's own calls: frames, code objects and lines. */
STALLBOX_EXPORT double interpreter_ns(int rounds);
double interpreter_ns(int rounds)
{
    const struct cpython_calls *calls = &the_cpython.calls;
    void *thread = calls->PyGILState_GetThisThreadState();
    uint64_t begin = now_ns();
    for (int i = 0; i < rounds; i++) {
        for (void *frame = calls->PyThreadState_GetFrame(thread); frame != NULL;) {
            calls->Py_DecRef(calls->PyFrame_GetCode(frame));
            (void)calls->PyFrame_GetLineNumber(frame);
            void *back = calls->PyFrame_GetBack(frame);
            calls->Py_DecRef(frame);
            frame = back;
        }
    }
    return (double)(now_ns() - begin) / rounds;
}

static void *(*call_no_arguments)(void *), *the_result;

static void call_object(void *callable)
{
    the_result = call_no_arguments(callable);
}

/* The number of instructions of a call of that object; -1: they cannot be counted. For bench/bench_asyncio. */
STALLBOX_EXPORT long count_steps(void *callable);
long count_steps(void *callable)
{
    void *found = dlsym(RTLD_DEFAULT, "PyObject_CallNoArgs");
    if (found == NULL) {
        return -1;
    }
    memcpy(&call_no_arguments, &found, sizeof found);
    uint64_t steps = bench_count_steps(call_object, callable);
    return the_result != NULL && steps != 0 ? (long)steps : -1; /* mostly None; its reference is not released */
}
