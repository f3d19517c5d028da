/* SPDX-License-Identifier: Apache-2.0 */
/* self_check.c - before frames are reported, compares what we read with what the interpreter says about the same
 * frames. */
#include <string.h>

#include <stallbox/stallbox.h>

#include "cpython.h"
#include "frame_chain.h"
#include "interpreter_lock.h"

int cpython_check_frames(void *thread, uint64_t *root_code_out)
{
    const struct cpython_calls *calls = &the_cpython.calls;
    struct frame_chain chain;
    void *theirs = calls->PyThreadState_GetFrame(thread);
    int result = theirs == NULL ? 0 : 1;
    frame_chain_begin(&chain, the_cpython.layout, the_cpython.types.code, (uint64_t)(uintptr_t)thread, true);
    while (theirs != NULL) {
        void *code = calls->PyFrame_GetCode(theirs);
        const struct chain_frame *ours = frame_chain_next(&chain);
        bool is_same = ours != NULL && ours->code == (uint64_t)(uintptr_t)code;
        *root_code_out = (uint64_t)(uintptr_t)code;
        calls->Py_DecRef(code);
        void *back = calls->PyFrame_GetBack(theirs);
        calls->Py_DecRef(theirs);
        theirs = back;
        if (!is_same) {
            result = -1;
            break;
        }
    }
    if (theirs != NULL) {
        calls->Py_DecRef(theirs);
    }
    return result == 1 && frame_chain_next(&chain) != NULL ? -1 : result;
}

int cpython_check_lines(void *thread)
{
    enum {
        PART = 32
    };
    const struct cpython_calls *calls = &the_cpython.calls;
    uint64_t functions[PART];
    uint32_t lines[PART];
    size_t count = 0, at = 0;
    bool is_same = true;
    for (void *theirs = calls->PyThreadState_GetFrame(thread); theirs != NULL; at++) {
        if (at % PART == 0) {
            count = cpython_walk(thread, NULL, at, functions, lines, PART);
        }
        int line = calls->PyFrame_GetLineNumber(theirs);
        is_same = is_same && at < count && functions[at % PART] != 0 &&
                  (lines[at % PART] & ~STALLBOX_PROVIDER_BORDER) == (uint32_t)(line < 0 ? 0 : line);
        void *back = calls->PyFrame_GetBack(theirs);
        calls->Py_DecRef(theirs);
        theirs = back;
    }
    return is_same && at == count ? 1 : -1;
}

/* While the interpreter starts, its own frozen modules import the site module and look for the code to run. Then
 * sys.path is not complete. A module that is run with "-m" also begins in a frozen module, runpy, but then sys.path is
 * complete. */
static bool is_of_the_start(uint64_t root_code)
{
    static const char frozen[] = "<frozen ", runs_module[] = "<frozen runpy>";
    char file[CODE_FILE_MAX];
    size_t bytes = code_name_text(the_cpython.layout, the_cpython.types.string,
                                  object_word_at(root_code, the_cpython.layout->code_file), file, sizeof file);
    return bytes >= sizeof frozen - 1 && memcmp(file, frozen, sizeof frozen - 1) == 0 &&
           !(bytes == sizeof runs_module - 1 && memcmp(file, runs_module, bytes) == 0);
}

/* We keep a reference to the list, so that it can be read later. A list that does not read as the interpreter says is
 * never read again. */
static void learn_search_path(uint64_t root_code)
{
    char script[CODE_FILE_MAX];
    const struct cpython_calls *calls = &the_cpython.calls;
    struct search_path *path = &the_cpython.search_path;
    void *list = calls->PySys_GetObject("path"); /* borrowed, like its items */
    if (list == NULL || object_word_at((uint64_t)(uintptr_t)list, OBJECT_TYPE) != the_cpython.types.list) {
        return;
    }
    ptrdiff_t count = calls->PyList_Size(list);
    path->layout = the_cpython.layout;
    path->string_type = the_cpython.types.string;
    path->list = (uint64_t)(uintptr_t)list;
    bool is_same = count > SEARCH_PATH_MAX || search_path_count(path) == (size_t)count;
    for (ptrdiff_t i = 0; i < count && i < SEARCH_PATH_MAX; i++) {
        is_same = is_same && search_path_item(path, (size_t)i) == (uint64_t)(uintptr_t)calls->PyList_GetItem(list, i);
    }
    if (!is_same) {
        path->list = 0;
        return;
    }
    calls->Py_IncRef(list);
    search_path_keep(path);
    search_path_keep_script(path, script,
                            code_name_text(path->layout, path->string_type,
                                           object_word_at(root_code, path->layout->code_file), script, sizeof script));
}

/* Keeps a reference to sys.modules, where modules that are imported later are found. */
static void learn_modules(void)
{
    void *modules = the_cpython.calls.PySys_GetObject("modules"); /* borrowed */
    if (modules != NULL && object_word_at((uint64_t)(uintptr_t)modules, OBJECT_TYPE) == the_cpython.types.dict) {
        the_cpython.calls.Py_IncRef(modules);
        the_cpython.modules = (uint64_t)(uintptr_t)modules;
    }
}

int cpython_check(void)
{
    void *thread = the_cpython.calls.PyGILState_GetThisThreadState();
    uint64_t root_code = 0;
    if (thread == NULL || interpreter_lock_collects(the_cpython.layout, (uint64_t)(uintptr_t)thread)) {
        return 0;
    }
    int result = cpython_check_frames(thread, &root_code);
    if (result <= 0) {
        return result;
    }
    if (is_of_the_start(root_code)) {
        return 0;
    }
    learn_search_path(root_code);
    learn_modules();
    return cpython_check_lines(thread);
}
