/* SPDX-License-Identifier: Apache-2.0 */
/* point.h - what every capture point declares: the symbol, the hook, where the original is stored, and the group bit
 * that switches it.
 *
 * A hook calls the function that it replaced, once, and no other function in its place. That function may be a wrapper
 * of another library, which counts on seeing every call and does see it. Only if it is the C library's own, another
 * function of the C library may be called instead, through this library's own binding (own_bindings.h): vprintf() for
 * printf(), a try before a lock.
 *
 * Everything in this folder runs inside the program's own calls: it is SBX_HOOK_SAFE (port/marks.h). A hook makes the
 * cheapest possible check, calls the original, and returns what the original returned, with errno as the original left
 * it. */
#ifndef SBX_POINT_H
#define SBX_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocking_call.h"
#include "capture_sample.h"
#include "left_code.h"
#include "open_calls.h"
#include "own_bindings.h"
#include "the_capture.h"
#include "thread_registry.h"
#include "thread_seats.h"
#include "waiter_table.h"
#include "wake.h"

struct sbx_point {
    const char *symbol;
    void *hook;       /* NULL: nothing is hooked; another hook needs the original */
    void **original;  /* resolved once, before any hook is installed; NULL result: the point does not exist here */
    uint32_t group;   /* enum sbx_point_group */
    bool is_plain;    /* only if the original is the C library's own: the hook calls another function */
    bool is_variable; /* not a function: `original` gets its address, and hook is NULL */
    bool stays;       /* once its group was hooked, hooked as long as any point is: what it left behind needs it */
    const char
        *table; /* a C++ vtable of the module that has the original: its words that lead there are slots too, and so are
                          those of other modules' vtables. NULL: none */
};

struct sbx_point_list {
    const struct sbx_point *points;
    size_t count;
};

/* One list for each file of this folder. */
extern const struct sbx_point_list sbx_points_alloc, sbx_points_lock, sbx_points_poll, sbx_points_sleep,
    sbx_points_file, sbx_points_socket, sbx_points_loader;
extern const struct sbx_point_list sbx_points_map, sbx_points_open, sbx_points_sync, sbx_points_file_lock,
    sbx_points_stat, sbx_points_directory, sbx_points_stdio, sbx_points_process, sbx_points_clock, sbx_points_frame;
extern const struct sbx_point_list sbx_points_rwlock, sbx_points_spin, sbx_points_wait, sbx_points_futex,
    sbx_points_shield, sbx_points_sandbox, sbx_points_jump, sbx_points_privileges, sbx_points_signal, sbx_points_thread,
    sbx_points_glib, sbx_points_glib_pool, sbx_points_uv, sbx_points_uv_fs, sbx_points_uv_handle, sbx_points_qt,
    sbx_points_libevent, sbx_points_qt_pool, sbx_points_self_pipe, sbx_points_gdbus, sbx_points_uring;

/* All lists, for the installer. */
extern const struct sbx_point_list *const sbx_point_lists[];
extern const size_t sbx_point_list_count;

/* Makes a hook save the caller's frame pointer in its frame, where hooks are compiled without frame pointers. When a
 * blocked thread is read from outside, its frame pointer is not available. With this, the walk finds the program's
 * frame pointer in the hook's frame and can pass program frames that need it. Sanitized builds keep frame pointers, and
 * they are never preloaded. */
#if defined(__x86_64__) && defined(SBX_HOOKS_OMIT_FRAME_POINTER)
#define SBX_SAVE_FRAME_POINTER() __asm__ volatile("" ::: "rbp")
#else
#define SBX_SAVE_FRAME_POINTER() ((void)0)
#endif

/* A hook around a call that may block, and the pointer to its original: real_NAME and hook_NAME. The last five
 * arguments may use the parameters and `result`. There is one macro because thirty functions differ in nothing else. */
#define SBX_BLOCKING_HOOK(type, name, parameters, arguments, group, kind, op, object, amount, failed, fd)             \
    SBX_BLOCKING_BODY(type, real_##name, hook_##name, parameters, arguments, group, kind, op, object, false, (void)0; \
                      , sbx_blocking_end(&call, (uint64_t)(amount), failed, fd))

/* The same for a call that returns how much it moved, or -1. */
#define SBX_MOVING_HOOK(type, name, parameters, arguments, group, kind, op, object, fd)                               \
    SBX_BLOCKING_BODY(type, real_##name, hook_##name, parameters, arguments, group, kind, op, object, false, (void)0; \
                      , sbx_blocking_moved(&call, result, fd))

/* The same for a call that the kernel continues after an interruption for which no handler was called. If `is_cut`
 * holds, which may use `result`, and the sample signal cut the call short (open_calls.h), `again` makes the call once
 * more and sets the result anew. */
#define SBX_BLOCKING_HOOK_AGAIN(type, name, parameters, arguments, group, kind, op, object, amount, failed, fd,      \
                                is_cut, again)                                                                       \
    SBX_BLOCKING_BODY(type, real_##name, hook_##name, parameters, arguments, group, kind, op, object, is_cut, again, \
                      sbx_blocking_end(&call, (uint64_t)(amount), failed, fd))

#define SBX_BLOCKING_BODY(type, real, hook, parameters, arguments, group, kind, op, object, is_cut, again, ends) \
    static type(*real) parameters;                                                                               \
    static type hook parameters                                                                                  \
    {                                                                                                            \
        struct sbx_blocking call;                                                                                \
        SBX_SAVE_FRAME_POINTER();                                                                                \
        sbx_blocking_begin(&call, group, kind, op, object, 0);                                                   \
        type result = real arguments;                                                                            \
        while (SBX_UNLIKELY(is_cut) && sbx_call_was_cut(&call)) {                                                \
            again                                                                                                \
        }                                                                                                        \
        ends;                                                                                                    \
        return result;                                                                                           \
    }

/* The same around a wait that another thread ends. The waker can be recorded (wake.h). */
#define SBX_WAIT_HOOK(type, name, parameters, arguments, group, kind, op, object, peer, failed) \
    static type(*real_##name) parameters;                                                       \
    static type hook_##name parameters                                                          \
    {                                                                                           \
        struct sbx_blocking call;                                                               \
        SBX_SAVE_FRAME_POINTER();                                                               \
        sbx_wait_begin(&call, group, kind, op, object, peer);                                   \
        type result = real_##name arguments;                                                    \
        sbx_blocking_end(&call, 0, failed, -1);                                                 \
        return result;                                                                          \
    }

/* A lock that is measured only when the caller must wait for it.
 *
 * If the lock looks free, or the call is to be left alone for another reason, the original is called as a tail call.
 * Otherwise the lock is tried. `busy` is what the try returns when another thread has the lock. In every other case a
 * try has the same result as a lock (point_lock.c), if the original is the C library's. If the original is a wrapper of
 * another library, it is called to lock, and the lock is never tried.
 *
 * The look at the word saves the try, which would cost more than the rest of the hook. The price: if another thread
 * takes the lock in the few nanoseconds between the look and the original's own attempt, that wait is not measured. For
 * a lock that is taken 10,000 times a second this is one wait in 20,000, and the sampler still sees it. */
#define SBX_LOCK_HOOK(type, name, parameters, arguments, is_left_alone, try, busy, group, op, object, holder) \
    static type(*real_##name) parameters;                                                                     \
    SBX_NOINLINE static type wait_in_##name parameters                                                        \
    {                                                                                                         \
        struct sbx_blocking call;                                                                             \
        type result = busy;                                                                                   \
        if (SBX_LIKELY(sbx_is_of_c_library((const void *)(uintptr_t)real_##name))) {                          \
            result = try;                                                                                     \
        }                                                                                                     \
        if (result != (busy)) {                                                                               \
            return result;                                                                                    \
        }                                                                                                     \
        SBX_SAVE_FRAME_POINTER();                                                                             \
        sbx_wait_begin(&call, group, SBX_RECORD_LOCK, op, object, holder);                                    \
        result = real_##name arguments;                                                                       \
        sbx_blocking_end(&call, 0, result != 0, -1);                                                          \
        return result;                                                                                        \
    }                                                                                                         \
    static type hook_##name parameters                                                                        \
    {                                                                                                         \
        return SBX_LIKELY(is_left_alone) ? real_##name arguments : wait_in_##name arguments;                  \
    }

/* A release: look for waiters, then call the original as a tail call. The file defines wakes_nobody(), which says
 * whether it is certain that no thread waits, in this process or another, and is_between_processes(), which says
 * whether other processes may wait. The hook's own frame is left before the original is called, as above. */
#define SBX_RELEASE_HOOK(name, type, op, width)                                                 \
    static int (*real_##name)(type *);                                                          \
    SBX_NOINLINE static int wake_in_##name(type *object)                                        \
    {                                                                                           \
        if (is_between_processes(object)) {                                                     \
            sbx_shared_let_go((uint64_t)object);                                                \
        }                                                                                       \
        sbx_wake_check((uint64_t)object, op, width);                                            \
        return real_##name(object);                                                             \
    }                                                                                           \
    static int hook_##name(type *object)                                                        \
    {                                                                                           \
        return SBX_LIKELY(wakes_nobody(object)) ? real_##name(object) : wake_in_##name(object); \
    }

#define SBX_POINT(name, hook_function, original_variable, group)                                       \
    {                                                                                                  \
        name, (void *)(hook_function), (void **)&(original_variable), group, false, false, false, NULL \
    }
#define SBX_PLAIN_POINT(name, hook_function, original_variable, group)                                \
    {                                                                                                 \
        name, (void *)(hook_function), (void **)&(original_variable), group, true, false, false, NULL \
    }
#define SBX_STAYING_POINT(name, hook_function, original_variable, group)                              \
    {                                                                                                 \
        name, (void *)(hook_function), (void **)&(original_variable), group, false, false, true, NULL \
    }
#define SBX_POINT_LIST(array)      \
    {                              \
        array, SBX_COUNT_OF(array) \
    }

/* The program asks for seccomp `mode` (SECCOMP_MODE_*) with these `flags` of seccomp(2) and this struct sock_fprog. End
 * the recorder first if the filter would end the program because of the agent's system calls. Keeps errno. May take as
 * long as a stop of the recorder. */
SBX_HOOK_SAFE void sbx_sandbox_begins(uint64_t mode, uint64_t flags, uint64_t program);

/* The program calls prctl(PR_SET_TSC, `mode`). End the recorder first if no clock can be read afterwards. Keeps errno,
 * and may take as long. */
SBX_HOOK_SAFE void sbx_counter_forbidden(uint64_t mode);

/* The program calls unshare(2) with `flags`, setns(2) with `type`, or another call that only a process of one thread
 * should make. End the recorder first if the program has only one thread, or if that is not known. Keep errno, and may
 * take as long. */
SBX_HOOK_SAFE void sbx_unshare_begins(uint64_t flags);
SBX_HOOK_SAFE void sbx_setns_begins(uint64_t type);
SBX_HOOK_SAFE void sbx_one_thread_wanted(void);

/* Set by a loader hook: modules came or went. The module thread looks at them and clears it. */
extern uint32_t sbx_modules_dirty;

/* Set by the installer before it hooks a module, and never cleared: a module of this process has a DT_RPATH
 * (point_loader.c). */
extern uint32_t sbx_loader_rpath_seen;

#endif
