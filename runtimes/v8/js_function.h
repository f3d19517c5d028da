/* SPDX-License-Identifier: Apache-2.0 */
/* js_function.h - a function of JavaScript: which script has it, where it begins there, and what it is called. */
#ifndef JS_FUNCTION_H
#define JS_FUNCTION_H

#include "js_heap.h"
#include "js_layout.h"
#include "js_string.h"

enum js_sort {
    JS_NOTHING,  /* the word means no function */
    JS_BUILT_IN, /* one of V8's own, or a native one */
    JS_FUNCTION  /* one of a script */
};

struct js_function {
    uint64_t shared, script; /* addresses of the objects */
    uint64_t key;            /* of this function, wherever the collector moves it to; never 0 */
    uint64_t script_key;
};

/* What function is it? `word` is tagged: a function, or the object that all closures of one function share. `isolate` is whose it
 * is: each has its own numbers. *function_out is set for JS_FUNCTION alone. */
enum js_sort js_function_look(struct js_pages *pages, const struct js_layout *layout, uint64_t isolate, uint64_t word,
                              struct js_function *function_out);

enum {
    JS_NAME_BYTES = 96,
    JS_FILE_BYTES = 512,
    JS_BEGIN_UNITS =
        48, /* of the source, by which a function's id tells it from what another version has at its place */
    JS_BEGIN_BYTES = 3 * JS_BEGIN_UNITS
};

struct js_description {
    uint32_t position; /* characters before it in its script's source */
    size_t name_bytes, file_bytes;
    char name[JS_NAME_BYTES]; /* as it was written, or "(anonymous)"; not terminated */
    char file[JS_FILE_BYTES]; /* as V8 calls the script */
    size_t begin_bytes;
    char begin[JS_BEGIN_BYTES]; /* its source from its place on; its name, where the source lies in parts */
};

/* Its name, script and place. False: they could not be read. */
bool js_function_describe(struct js_pages *pages, const struct js_layout *layout, const struct js_function *function,
                          struct js_description *description_out);

#endif
