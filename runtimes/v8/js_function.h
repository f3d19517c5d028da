/* SPDX-License-Identifier: Apache-2.0 */
/* js_function.h - a JavaScript function: its script, its position in the script, and its name. */
#ifndef JS_FUNCTION_H
#define JS_FUNCTION_H

#include "js_heap.h"
#include "js_layout.h"
#include "js_string.h"

enum js_sort {
    JS_NOTHING,  /* the word is no function */
    JS_BUILT_IN, /* one of V8's own functions, or a native one */
    JS_FUNCTION  /* a function of a script */
};

struct js_function {
    uint64_t shared, script; /* addresses of the objects */
    uint64_t key;            /* names this function, also after the collector moves it; never 0 */
    uint64_t script_key;
};

/* Which function is it? `word` is tagged: a function, or the object that all closures of one function share. `isolate`
 * is the isolate of the function, because each has its own numbers. *function_out is set only for JS_FUNCTION. */
enum js_sort js_function_look(struct js_pages *pages, const struct js_layout *layout, uint64_t isolate, uint64_t word,
                              struct js_function *function_out);

enum {
    JS_NAME_BYTES = 96,
    JS_FILE_BYTES = 512,
    JS_BEGIN_UNITS =
        48, /* source units in a function's id: they differ for another version's function at the same position */
    JS_BEGIN_BYTES = 3 * JS_BEGIN_UNITS
};

struct js_description {
    uint32_t position; /* characters before the function in its script's source */
    size_t name_bytes, file_bytes;
    char name[JS_NAME_BYTES]; /* as written in the source, or "(anonymous)"; not terminated */
    char file[JS_FILE_BYTES]; /* the script's name in V8 */
    size_t begin_bytes;
    char begin[JS_BEGIN_BYTES]; /* the source from its position on; its name if the source is in several parts */
};

/* Gets its name, script and position. Returns false if they could not be read. */
bool js_function_describe(struct js_pages *pages, const struct js_layout *layout, const struct js_function *function,
                          struct js_description *description_out);

#endif
