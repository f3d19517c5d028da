/* SPDX-License-Identifier: Apache-2.0 */
/* attach.c - registers a provider for the Python interpreter of this process.
 *
 * Only function pointers of the interpreter are changed: four for queued work (queued_work.h), and three if the program
 * uses a thread pool (executor_queue.h). Once, the interpreter is asked to make a call between two instructions of its
 * main thread (Py_AddPendingCall). This call compares what we read with what the interpreter says itself. Frames are
 * reported only if both agree. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stallbox/stallbox.h>

#include "cpython.h"
#include "executor_queue.h"
#include "interpreter_lock.h"
#include "queued_work.h"

enum check {
    NOT_ASKED,
    ASKED,
    AGREES,
    DIFFERS
};
static int check_state;

/* Runs on the interpreter's main thread, which holds the interpreter lock. */
static int check(void *unused)
{
    (void)unused;
    int result = cpython_check();
    if (result > 0) {
        interpreter_lock_find(&the_cpython, (uint64_t)(uintptr_t)the_cpython.calls.PyGILState_GetThisThreadState());
        queued_work_begin();
        executor_queue_prepare();
    }
    __atomic_store_n(&check_state, result > 0 ? AGREES : result == 0 ? NOT_ASKED : DIFFERS, __ATOMIC_RELEASE);
    return 0;
}

static bool find(const char *name, void *function_out)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    memcpy(function_out, &found, sizeof found);
    return found != NULL;
}

static bool find_types(void)
{
    struct cpython_types *types = &the_cpython.types;
    return find("PyCode_Type", &types->code) && find("PyUnicode_Type", &types->string) &&
           find("PyList_Type", &types->list) && find("PyDict_Type", &types->dict) &&
           find("PyModule_Type", &types->module) && find("PyTuple_Type", &types->tuple) &&
           find("PyFunction_Type", &types->function) && find("PyMethod_Type", &types->method) &&
           find("PyCell_Type", &types->cell) && find("PyCoro_Type", &types->coroutine) &&
           find("PyGen_Type", &types->generator) && find("PyContext_Type", &types->context) &&
           find("PyAsyncGen_Type", &types->async_generator);
}

/* The symbols are in the executable, or in a library in the global scope. Python's own extension modules need them
 * there, too. */
static bool find_calls(void)
{
    struct cpython_calls *calls = &the_cpython.calls;
#define FIND(name) find(#name, &calls->name)
    return FIND(Py_GetVersion) && FIND(Py_IsInitialized) && FIND(Py_AddPendingCall) &&
           FIND(PyGILState_GetThisThreadState) && FIND(PyThreadState_GetFrame) && FIND(PyFrame_GetBack) &&
           FIND(PyFrame_GetCode) && FIND(PyFrame_GetLineNumber) && FIND(PySys_GetObject) && FIND(PyList_Size) &&
           FIND(PyList_GetItem) && FIND(Py_IncRef) && FIND(Py_DecRef) && find("_PyRuntime", &the_cpython.runtime) &&
           find_types();
#undef FIND
}

/* The version text begins like "3.11.2 (main, ...)". */
static bool find_layout(char *why, size_t why_bytes)
{
    const char *(*version)(void);
    if (!find("Py_GetVersion", &version)) {
        snprintf(why, why_bytes, "it exports no Py_GetVersion");
        return false;
    }
    const char *text = version();
    unsigned minor = strncmp(text, "3.", 2) == 0 ? (unsigned)strtoul(text + 2, NULL, 10) : 0;
    bool has_no_lock = strstr(text, "free-threading") != NULL;
    the_cpython.layout = has_no_lock ? NULL : cpython_layout_of(minor);
    if (the_cpython.layout == NULL) {
        snprintf(why, why_bytes, "Python %.*s%s is not known", (int)strcspn(text, " "), text,
                 has_no_lock ? " without a lock" : "");
        return false;
    }
    if (!find_calls()) {
        snprintf(why, why_bytes, "Python %.*s does not export what is asked", (int)strcspn(text, " "), text);
        return false;
    }
    snprintf(why, why_bytes, "Python %.*s", (int)strcspn(text, " "), text);
    return true;
}

STALLBOX_EXPORT uint32_t stallbox_runtime_version(void);
uint32_t stallbox_runtime_version(void)
{
    const char *(*version)(void);
    const char *text = find("Py_GetVersion", &version) ? version() : "";
    char *end;
    uint32_t major = (uint32_t)strtoul(text, &end, 10);
    return major << 16 | (*end == '.' ? (uint32_t)strtoul(end + 1, NULL, 10) & 0xffff : 0);
}

static void *resolve(void)
{
    return the_cpython.calls.PyGILState_GetThisThreadState();
}

static bool register_provider(void)
{
    struct stallbox_provider_options options = {.sizeof_options = sizeof options,
                                                .name = "python",
                                                .flags = STALLBOX_PROVIDER_SIGNAL_SAFE,
                                                .resolve = resolve,
                                                .walk_at = cpython_walk,
                                                .awaited_by = cpython_awaited_by,
                                                .lock_holder = interpreter_lock_holder};
    void *loop = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    if (loop != NULL && dladdr1(loop, &info, (void **)&symbol, RTLD_DL_SYMENT) != 0 && symbol != NULL &&
        info.dli_saddr == loop) {
        options.code = loop;
        options.code_bytes = (size_t)symbol->st_size;
    }
    return stallbox_provider_register(&options, &the_cpython.provider) == STALLBOX_OK;
}

/* See agent/providers/runtime_modules.h. */
STALLBOX_EXPORT int stallbox_runtime_attach(char *why, size_t why_bytes);
int stallbox_runtime_attach(char *why, size_t why_bytes)
{
    if (!find_layout(why, why_bytes)) {
        return -1;
    }
    switch (__atomic_load_n(&check_state, __ATOMIC_ACQUIRE)) {
    case AGREES:
        if (!register_provider()) {
            snprintf(why, why_bytes, "there is no room for one more provider");
            return -1;
        }
        return 1;
    case DIFFERS:
        snprintf(why, why_bytes, "its frames do not read as this version's should");
        return -1;
    case NOT_ASKED:
        if (the_cpython.calls.Py_IsInitialized() != 0) {
            search_path_learn_folder(&the_cpython.search_path);
            __atomic_store_n(&check_state, ASKED, __ATOMIC_RELAXED);
            if (the_cpython.calls.Py_AddPendingCall(check, NULL) != 0) {
                __atomic_store_n(&check_state, NOT_ASKED, __ATOMIC_RELAXED);
            }
        }
        return 0;
    default:
        return 0;
    }
}
