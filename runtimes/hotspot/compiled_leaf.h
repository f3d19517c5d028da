/* SPDX-License-Identifier: Apache-2.0 */
/* compiled_leaf.h - how much of its frame a compiled method has at one of its instructions.
 *
 * The frame does not exist yet while the method begins, and no longer while it returns. The instructions tell which is
 * the case, because both compilers begin and end a method in a few ways only. x86-64. */
#ifndef SBX_COMPILED_LEAF_H
#define SBX_COMPILED_LEAF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"

enum sbx_leaf_frame {
    SBX_LEAF_WHOLE,      /* as the blob says; rbp is saved in it */
    SBX_LEAF_NONE,       /* the return address is on top of the stack */
    SBX_LEAF_PUSHED,     /* rbp is on top of the stack, the return address above it */
    SBX_LEAF_UNSAVED_FP, /* as the blob says, but rbp still holds the caller's value */
    SBX_LEAF_UNKNOWN     /* of a stub: in its epilogue, but not known where */
};

/* `entry` to `end` are the instructions of the method, and `met` is the one where the thread was interrupted.
 * `is_beginning`: `met` is before the place from which on frames are whole, as the blob says. Never reads outside of
 * [entry, end). */
SBX_SIGNAL_SAFE enum sbx_leaf_frame sbx_compiled_leaf(const uint8_t *entry, const uint8_t *end, const uint8_t *met,
                                                      int is_beginning);

/* The same for a stub that calls the JVM for a compiled method. Its blob says that its frames are never whole. But a
 * stub that begins with `sub rsp, n` for a frame of `words`, as C2's stubs do, has this frame until its epilogue.
 * Returns false if the stub begins otherwise. Never reads outside of [code, end). */
SBX_SIGNAL_SAFE bool sbx_stub_leaf(const uint8_t *code, const uint8_t *end, const uint8_t *met, uint32_t words,
                                   enum sbx_leaf_frame *leaf_out);

#endif
