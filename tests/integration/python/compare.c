/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - a library that a Python script loads (ctypes.PyDLL): at each call the frames as we read them are compared with
 * the interpreter's own (PyThreadState_GetFrame, PyFrame_GetLineNumber). */
#include <stallbox/stallbox.h>

#include "cpython.h"
#include "interpreter_lock.h"

STALLBOX_EXPORT int stallbox_runtime_attach(char *why, size_t why_bytes);
STALLBOX_EXPORT long compare_count(void);
STALLBOX_EXPORT int compare_now(void);

static long compared;

/* 1: the same; -1: frames differ; -2: lines do. The caller has the lock. */
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
