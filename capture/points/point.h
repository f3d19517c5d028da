/* SPDX-License-Identifier: Apache-2.0 */
/* point.h - what every capture point declares: the symbol, our function, where the original is kept, which bit it
 * obeys.
 *
 * Everything in this folder runs inside the program's own calls: it is SBX_HOOK_SAFE (port/marks.h). A hook does the
 * cheapest possible check, calls the original, and returns what the original returned with errno as it left it. */
#ifndef SBX_POINT_H
#define SBX_POINT_H

#include <stddef.h>
#include <stdint.h>

#include "capture.h"

struct sbx_point {
    const char *symbol;
    void *hook;      /* NULL: nothing is hooked, the original is wanted by another hook */
    void **original; /* resolved once, before any hook is installed; NULL result: the point does not exist here */
    uint32_t group;  /* enum sbx_point_group */
};

struct sbx_point_list {
    const struct sbx_point *points;
    size_t count;
};

/* One list a file of this folder. */
extern const struct sbx_point_list sbx_points_alloc, sbx_points_lock, sbx_points_poll, sbx_points_sleep,
    sbx_points_file, sbx_points_socket, sbx_points_loader;
extern const struct sbx_point_list sbx_points_map, sbx_points_open, sbx_points_sync, sbx_points_file_lock,
    sbx_points_stat, sbx_points_directory, sbx_points_stdio, sbx_points_process, sbx_points_clock, sbx_points_frame;

/* All of them, for the installer. */
extern const struct sbx_point_list *const sbx_point_lists[];
extern const size_t sbx_point_list_count;

/* Make a hook save the caller's frame pointer in its frame while its own frame hangs on the stack pointer. A blocked
 * thread that is read from outside shows no frame pointer; with this, the walk finds the program's in the hook's frame,
 * and goes on through program frames that need it. Sanitized builds keep
 * frame pointers, and are never preloaded into anything. */
#if defined(__x86_64__) && defined(SBX_HOOKS_OMIT_FRAME_POINTER)
#define SBX_SAVE_FRAME_POINTER() __asm__ volatile("" ::: "rbp")
#else
#define SBX_SAVE_FRAME_POINTER() ((void)0)
#endif

/* A hook around a call that may block, and the pointer to its original: real_NAME and hook_NAME. The last five
 * arguments may use the parameters, and `result`. Written once here because thirty functions differ in nothing else. */
#define SBX_BLOCKING_HOOK(type, name, parameters, arguments, group, kind, op, object, amount, failed, fd) \
    static type(*real_##name) parameters;                                                          \
    static type hook_##name parameters                                                             \
    {                                                                                              \
        struct sbx_blocking call;                                                                  \
        SBX_SAVE_FRAME_POINTER();                                                                  \
        sbx_blocking_begin(&call, group, kind, op, object, 0);                                            \
        type result = real_##name arguments;                                                       \
        sbx_blocking_end(&call, (uint64_t)(amount), failed, fd);                                   \
        return result;                                                                             \
    }

#define SBX_POINT(name, hook_function, original_variable, group)            \
    {                                                                       \
        name, (void *)(hook_function), (void **)&(original_variable), group \
    }
#define SBX_POINT_LIST(array)      \
    {                              \
        array, SBX_COUNT_OF(array) \
    }

/* Set by a loader hook: modules came or went. The module thread looks and clears it. */
extern uint32_t sbx_modules_dirty;

/* Set for good by the installer before it hooks a module: a module of this process has a DT_RPATH (point_loader.c). */
extern uint32_t sbx_loader_rpath_seen;

#endif
