/* SPDX-License-Identifier: Apache-2.0 */
/* demangle.c - linkage names to names as in the source code, with libiberty.
 *
 * A mangled name of a few hundred bytes can stand for text of any length, because it may refer to its own parts.
 * cplus_demangle() would go on until memory ends. Its callback interface allocates nothing for the text. The callback
 * here keeps what fits, and leaves by longjmp once the text is far too long. (libiberty has nothing on the heap at that
 * moment, except a few dozen bytes for one kind of Rust identifier. These leak, but only for a name that was made to do
 * harm.) */
#include "demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#include <libiberty/demangle.h>

enum {
    ABSURD_BYTES = 1 << 20
};

struct text {
    char *out;
    size_t written, room; /* `written` may exceed what fits; `room` counts the NUL */
    jmp_buf absurd;
};

static void append(const char *piece, size_t bytes, void *context)
{
    struct text *text = context;
    if (text->written < text->room) {
        size_t left = text->room - text->written;
        memcpy(text->out + text->written, piece, bytes < left ? bytes : left);
    }
    text->written += bytes;
    if (text->written > ABSURD_BYTES) {
        longjmp(text->absurd, 1);
    }
}

static void copy_name(const char *name, char *out, size_t out_bytes)
{
    size_t bytes = strlen(name);
    if (bytes < out_bytes) {
        memcpy(out, name, bytes + 1);
        return;
    }
    memcpy(out, name, out_bytes - 1);
    out[out_bytes - 1] = '\0';
}

/* Mark the text in `out` as cut. */
static void mark_cut(char *out, size_t out_bytes)
{
    out[out_bytes - 1] = '\0';
    if (out_bytes > 3) {
        memcpy(out + out_bytes - 4, "...", 3);
    }
}

void sbx_demangle(const char *name, char *out, size_t out_bytes)
{
    size_t name_bytes = strlen(name);
    bool is_mangled = strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
    if (!is_mangled || name_bytes >= SBX_NAME_BYTES_MAX || out_bytes < 2) {
        copy_name(name, out, out_bytes);
        if (name_bytes >= out_bytes) {
            mark_cut(out, out_bytes);
        }
        return;
    }
    struct text text = {.out = out, .room = out_bytes};
    if (setjmp(text.absurd) != 0) {
        mark_cut(out, out_bytes); /* the text fills `out`: the limit is far larger */
        return;
    }
    const int options =
        DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP; /* in "Result f<int>()" a reader would take the type for the name */
    bool done = rust_demangle_callback(name, options, append, &text) != 0;
    if (!done) {
        text.written = 0;
        done = cplus_demangle_v3_callback(name, options, append, &text) != 0;
    }
    if (!done || text.written == 0) {
        copy_name(name, out, out_bytes);
    } else if (text.written < out_bytes) {
        out[text.written] = '\0';
    } else {
        mark_cut(out, out_bytes);
    }
}
