/* SPDX-License-Identifier: Apache-2.0 */
/* compiled_leaf.h - how much of its frame a compiled method has at one of its instructions.
 *
 * A frame is not there yet while the method begins, and not any more while it returns. The instructions say which: both compilers
 * begin and end a method in a few ways only. x86-64. */
#ifndef SBX_COMPILED_LEAF_H
#define SBX_COMPILED_LEAF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"

enum sbx_leaf_frame {
    SBX_LEAF_WHOLE,      /* as the blob says: rbp was saved in it */
    SBX_LEAF_NONE,       /* the return address is on top */
    SBX_LEAF_PUSHED,     /* rbp is on top, the return address above */
    SBX_LEAF_UNSAVED_FP, /* as the blob says, but rbp is still the caller's, in its register */
    SBX_LEAF_UNKNOWN     /* of a stub: on its way out, how far is not told */
};

/* The instructions of the method from its entry up to `end`, and the one that was met. `is_beginning`: it lies before the place
 * from which on, says the blob, frames are whole. Never reads outside of [entry, end). */
SBX_SIGNAL_SAFE enum sbx_leaf_frame sbx_compiled_leaf(const uint8_t *entry, const uint8_t *end, const uint8_t *met,
                                                      int is_beginning);

/* The same of a stub that calls the machine for a compiled method. Its blob says that frames of it are never whole; one that begins with `sub rsp, n` for
 * a frame of `words`, as C2's do, has that frame up to its way out. False: it begins otherwise. Never reads outside of [code, end). */
SBX_SIGNAL_SAFE bool sbx_stub_leaf(const uint8_t *code, const uint8_t *end, const uint8_t *met, uint32_t words,
                                   enum sbx_leaf_frame *leaf_out);

#endif
