/* SPDX-License-Identifier: Apache-2.0 */
/* handler_above.h - is the calling thread in a signal handler? Judged by what the kernel left on its stack.
 *
 * A handler returns to a few instructions that call rt_sigreturn(2), and their address lies on the stack above the
 * handler. On x86-64 these instructions are the restorer that was installed with the handler (the C library's, or one
 * of the program's own); on aarch64 they are in the vdso. On x86-64 the frame that the kernel pushed is checked as
 * well, because an old address may remain in an unused part of a later stack frame. */
#ifndef SBX_HANDLER_ABOVE_H
#define SBX_HANDLER_ABOVE_H

#include <stdint.h>

#include "marks.h"

/* Learn the C library's restorer. Called before main(): SIGRTMAX is ignored for a moment. */
void sbx_handler_learn(void);

#define SBX_HANDLER_NONE    UINT64_C(0)
#define SBX_HANDLER_PERHAPS UINT64_MAX

/* Where the frame of the innermost handler lies on the stack above the caller; NONE; or PERHAPS when this cannot be
 * decided. The search stops at address `until`, where a handler is known to be; 0: at the stack's end. It makes some
 * seventy system calls and copies the stack, so it must not be called often. */
SBX_HOOK_SAFE uint64_t sbx_handler_find_above(uint64_t until);

#endif
