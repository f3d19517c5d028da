/* SPDX-License-Identifier: Apache-2.0 */
/* handler_above.h - is the calling thread in a signal handler? Told by what the kernel left on its stack.
 *
 * A handler returns to a few instructions that call rt_sigreturn(2), and the address of these lies on the stack above it: on
 * x86-64 they are the restorer that was given with the handler (the C library's, or one of the program's own), on aarch64
 * they are in the vdso. On x86-64 the frame that the kernel pushed is looked at as well, because one that was left over in the
 * hole of a later frame is none. */
#ifndef SBX_HANDLER_ABOVE_H
#define SBX_HANDLER_ABOVE_H

#include <stdint.h>

#include "marks.h"

/* Learn the C library's restorer. Before main(): SIGRTMAX is ignored for a moment. */
void sbx_handler_learn(void);

#define SBX_HANDLER_NONE    UINT64_C(0)
#define SBX_HANDLER_PERHAPS UINT64_MAX

/* Where the innermost handler's frame lies on the stack above the caller, NONE, or PERHAPS where that cannot be told. Not searched from
 * address `until` on, where a handler is known to be; 0: to the stack's end. Some seventy system calls, and the stack is copied: not
 * often. */
SBX_HOOK_SAFE uint64_t sbx_handler_find_above(uint64_t until);

#endif
