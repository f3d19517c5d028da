/* SPDX-License-Identifier: Apache-2.0 */
/* js_layout.h - the offsets in V8 10.2 (Node 18) and 11.3 (Node 20), on x86-64 without compressed pointers.
 *
 * Node exports about five hundred numbers for debuggers of core dumps ("v8dbg_..."). Type numbers differ between the
 * versions and are read from these exports. Offsets are the same in both versions. Each exported offset is compared. If
 * one differs, this is another V8, and it is not read. */
#ifndef JS_LAYOUT_H
#define JS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* of a frame, from its frame pointer; the words at 0 and 8 lead to its caller */
    JS_FRAME_CONTEXT = -8, /* or a number: the type of a frame without a JavaScript function */
    JS_FRAME_FUNCTION = -16,
    JS_FRAME_BYTECODES = -32,
    JS_FRAME_BYTECODE = -40,  /* a number: bytes from the tagged address of the bytecodes */
    JS_FRAME_LAST_EXIT = -64, /* of an entry frame: the frame that called native code before it; 0: none */
    JS_FUNCTION_SHARED = 24,
    JS_FUNCTION_CODE = 48,
    JS_SHARED_DATA = 8,
    JS_SHARED_NAME = 16, /* a string, or the scope info with the name */
    JS_SHARED_SCRIPT = 32,
    JS_SHARED_NUMBERS = 40,
    JS_SHARED_TOKEN = 44,   /* two bytes: distance from "function" to its parameters */
    JS_SHARED_LITERAL = 52, /* number of the function in its script */
    JS_SHARED_BYTES = 56,
    JS_DEBUG_SCRIPT = 24,
    JS_SCRIPT_SOURCE = 8,
    JS_SCRIPT_NAME = 16,
    JS_SCRIPT_LINE = 24, /* line number of its first line */
    JS_SCRIPT_LINE_ENDS = 56,
    JS_SCRIPT_ID = 64,
    JS_SCRIPT_BYTES = 72,
    JS_BYTECODES_LENGTH = 8,
    JS_BYTECODES_POSITIONS = 32,
    JS_ARRAY_LENGTH = 8,
    JS_ARRAY_ITEMS = 16,
    JS_STRING_LENGTH = 12,
    JS_STRING_FIRST = 16, /* characters, or the address of the string or resource with them */
    JS_STRING_SECOND = 24,
    JS_MAP_NATIVE_CONTEXT = 32, /* of contexts' maps */
    JS_CONTEXT_EMBEDDER = 48,   /* of a native context */
    JS_SCOPE_FLAGS = 8,
    JS_SCOPE_LOCALS = 24,
    JS_SCOPE_REST = 32,

    /* a thread's state, from the word that contains its isolate's address */
    JS_TOP_LAST_EXIT = 112, /* frame that called native code; 0: the thread runs no native code below JavaScript */
    JS_TOP_ENTRY = 144,     /* frame of the outermost entry; 0: the thread runs no JavaScript */
    JS_TOP_STATE = 160,     /* four bytes: enum js_state */
};

enum js_state {
    JS_STATE_COLLECTS = 1,
    JS_STATE_LAST = 8
};

/* Type numbers of objects and frames of the current version. */
struct js_layout {
    uint32_t type_shared, type_script, type_scope, type_bytecodes, type_debug, type_array, type_bytes, type_code;
    uint32_t type_stream, type_interpreter;
    /* types of the parts of asynchronous functions; contexts are a range */
    uint32_t type_function, type_context_first, type_context_last, type_promise, type_reaction, type_capability,
        type_async_function, type_async_generator, type_request, type_fulfill_job, type_reject_job;
    uint32_t type_embedder; /* of the embedder's data of a context; 0: its place is not known */
    uint32_t frame_entry, frame_construct_entry, frame_exit, frame_builtin_exit;
    uint32_t bytecodes_first; /* where bytecodes begin in their object */
    uint32_t
        fast_call; /* in an isolate: frame pointer and pc of a function that called native code without an exit frame */
    uint32_t minor; /* 2: 10.2; 3: 11.3 */
};

/* Find an exported number; NULL: it is not exported. */
typedef const int32_t *(*js_find_number)(const char *name);

/* Reads the layout of the V8 that calls itself `version`. Returns false if it is not known; then `why` says so in
 * words. */
bool js_layout_read(struct js_layout *layout, const char *version, js_find_number find, char *why, size_t why_bytes);

#endif
