/* SPDX-License-Identifier: Apache-2.0 */
/* message_loop.h - messages of the main thread, understood from its poll calls alone.
 *
 * A message is the time from a return of the outermost loop's poll call to its next call. The loop is recognised by the
 * place of the call: same return address, same stack pointer, met twice. A poll call from elsewhere is either nested in
 * the loop (a handler that polls: part of the message) or the loop has changed; a walk of the stack tells which: the
 * loop is alive when one of its innermost activations is still on the stack (DESIGN.md 3.3). */
#ifndef SBX_MESSAGE_LOOP_H
#define SBX_MESSAGE_LOOP_H

#include <stdint.h>

#include "capture.h"

/* A poll-family function is about to be called from return address `pc`, stack pointer `sp`. Like sbx_blocking_begin().
 */
SBX_HOOK_SAFE void sbx_poll_begin(struct sbx_blocking *call, uint8_t op, uint64_t pc, uint64_t sp);

/* It returned. Like sbx_blocking_end(). */
SBX_HOOK_SAFE void sbx_poll_end(struct sbx_blocking *call, bool failed);

#endif
