/* SPDX-License-Identifier: Apache-2.0 */
/* self_check.c - before the first walk counts: what we read is compared with what the interpreter says of the same frames. */
#include <string.h>

#include <stallbox/stallbox.h>

#include "cpython.h"
#include "frame_chain.h"
#include "interpreter_lock.h"

int cpython_check_frames(void *thread, uint64_t *root_code_out)
{
    const struct cpython_calls *calls = &the_cpython.calls;
    struct frame_chain chain;
    struct chain_frame ours;
    void *theirs = calls->PyThreadState_GetFrame(thread);
    int result = theirs == NULL ? 0 : 1;
    frame_chain_begin(&chain, the_cpython.layout, the_cpython.code_type, (uint64_t)(uintptr_t)thread, true);
    while (theirs != NULL) {
        void *code = calls->PyFrame_GetCode(theirs);
        bool is_same = frame_chain_next(&chain, &ours) && ours.code == (uint64_t)(uintptr_t)code;
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
    return result == 1 && frame_chain_next(&chain, &ours) ? -1 : result;
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

/* While the interpreter starts, its own frozen modules import the site's and look at what it was given to run: sys.path is not
 * what it will be. A module that is run ("-m") begins in a frozen one as well, and then it is. */
static bool is_of_the_start(uint64_t root_code)
{
    static const char frozen[] = "<frozen ", runs_module[] = "<frozen runpy>";
    char file[CODE_FILE_MAX];
    size_t bytes = code_name_text(the_cpython.layout, the_cpython.string_type,
                                  object_word_at(root_code, the_cpython.layout->code_file), file, sizeof file);
    return bytes >= sizeof frozen - 1 && memcmp(file, frozen, sizeof frozen - 1) == 0 &&
           !(bytes == sizeof runs_module - 1 && memcmp(file, runs_module, bytes) == 0);
}

static void learn_prefixes(void)
{
    const struct cpython_calls *calls = &the_cpython.calls;
    void *list = calls->PySys_GetObject("path"); /* borrowed, as its items */
    ptrdiff_t count = list == NULL ? 0 : calls->PyList_Size(list);
    for (ptrdiff_t i = 0; i < count; i++) {
        char path[CODE_FILE_MAX];
        void *item = calls->PyList_GetItem(list, i);
        size_t bytes = item == NULL ? 0
                                    : code_name_text(the_cpython.layout, the_cpython.string_type,
                                                     (uint64_t)(uintptr_t)item, path, sizeof path);
        source_prefixes_add(&the_cpython.prefixes, path, bytes);
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
    learn_prefixes();
    return cpython_check_lines(thread);
}
