/* SPDX-License-Identifier: Apache-2.0 */
/* message_loop.h - messages: of the main thread, understood from its poll calls alone, and those that any thread says
 * it handles.
 *
 * A message is the time from a return of the outermost loop's poll call to its next call. The loop is recognised by the
 * place of the call: same return address, same stack pointer, met twice. A poll call from elsewhere is either nested in
 * the loop (a handler that polls: part of the message) or the loop has changed; a walk of the stack tells which: the
 * loop is alive when one of its innermost activations is still on the stack (DESIGN.md 3.3). Where the stack alone does not
 * tell, the next pass does: see adopt_site(). */
#ifndef SBX_MESSAGE_LOOP_H
#define SBX_MESSAGE_LOOP_H

#include <stdint.h>

#include "capture.h"

/* A poll-family function is about to be called from return address `pc`, stack pointer `sp`. Like sbx_blocking_begin().
 * Without descriptors and away from the loop it is recorded as a sleep. */
SBX_HOOK_SAFE void sbx_poll_begin(struct sbx_blocking *call, uint8_t op, uint64_t pc, uint64_t sp, bool has_fds);

/* It returned. Like sbx_blocking_end(). `fd`: one of the descriptors, away from the loop; -1 not known. */
SBX_HOOK_SAFE void sbx_poll_end(struct sbx_blocking *call, bool failed, int fd);

/* Has the function with the loop been left in the open message of `thread`, although it handled all of those before? Then the
 * loop has probably ended, and what the program does now is no message. For the watch thread, which may be wrong by one
 * look. */
SBX_HOOK_SAFE bool sbx_message_loop_was_left(const struct sbx_thread *thread);

/* The calling thread begins to handle a message of this kind (at most SBX_MESSAGE_KIND_MAX, else 0), and has handled it.
 * What is entered inside another message, or inside one that a poll call began, is part of that; a poll call inside one
 * is a wait. A leave without its enter does nothing. For any thread; takes no lock; errno is kept. */
enum {
    SBX_MESSAGE_KIND_MAX = SBX_OP_MAX - 1
};
SBX_HOOK_SAFE void sbx_message_enter(uint32_t kind);

/* The calling thread ends the process in the middle of its message: if that was told as hung, it has come to its end. */
SBX_HOOK_SAFE void sbx_message_exit(void);

/* Keep the first name of a kind. Any thread. */
SBX_HOOK_SAFE void sbx_message_set_name(uint32_t kind, const char *name);
SBX_HOOK_SAFE void sbx_message_leave(void);

#endif
