/* SPDX-License-Identifier: Apache-2.0 */
/* cpython.h - the interpreter of this process: its layout, and the functions, types and objects found in it. */
#ifndef CPYTHON_H
#define CPYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpython_layout.h"
#include "search_path.h"

struct stallbox_provider;

/* Functions of the interpreter's public C interface, found by name. Objects are passed as its own pointers. */
struct cpython_calls {
    const char *(*Py_GetVersion)(void);
    int (*Py_IsInitialized)(void);
    int (*Py_AddPendingCall)(int (*call)(void *), void *argument);
    void *(*PyGILState_GetThisThreadState)(void);
    void *(*PyThreadState_GetFrame)(void *thread);
    void *(*PyFrame_GetBack)(void *frame);
    void *(*PyFrame_GetCode)(void *frame);
    int (*PyFrame_GetLineNumber)(void *frame);
    void *(*PySys_GetObject)(const char *name);
    ptrdiff_t (*PyList_Size)(void *list);
    void *(*PyList_GetItem)(void *list, ptrdiff_t index);
    void (*Py_IncRef)(void *object);
    void (*Py_DecRef)(void *object);
};

/* Addresses of the interpreter's types. */
struct cpython_types {
    uint64_t code, string, list, dict, module, tuple, function, method, cell, coroutine, generator, async_generator,
        context;
};

struct cpython {
    const struct cpython_layout *layout;
    struct cpython_calls calls;
    struct cpython_types types;
    uint64_t runtime; /* address of _PyRuntime */
    uint64_t modules; /* sys.modules, to which we hold a reference; 0: not known yet */
    struct stallbox_provider *provider;
    struct search_path search_path;
};

extern struct cpython the_cpython;

/* Walks the stack of the calling thread, as struct stallbox_provider_options defines. */
struct stallbox_interrupted;
size_t cpython_walk(void *thread, const struct stallbox_interrupted *interrupted, size_t first, uint64_t *functions,
                    uint32_t *lines, size_t max);

/* Gets the function's id and the line of one frame, of this thread or of another. */
struct chain_frame;
void cpython_tell_frame(const struct chain_frame *frame, uint64_t *function, uint32_t *line);

/* Reports what awaits the task that runs on the calling thread, as struct stallbox_provider_options defines. */
size_t cpython_awaited_by(void *thread, const struct stallbox_interrupted *interrupted, uint64_t *functions,
                          uint32_t *lines, size_t max);

/* Runs on a thread that holds the interpreter lock. Does what we read agree with what the interpreter says? Returns 1
 * if it does, 0 if no code of the program runs yet, and -1 if they differ. Also learns sys.path if they agree. */
int cpython_check(void);

/* The two parts of this check, over all frames of the calling thread, which holds the lock: code objects, and lines.
 * Returns 1 if they agree, 0 if there are no frames, and -1 if they differ. */
int cpython_check_frames(void *thread, uint64_t *root_code_out);
int cpython_check_lines(void *thread);

#endif
