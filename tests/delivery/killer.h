/* SPDX-License-Identifier: Apache-2.0 */
/* killer.h - ends a child at a chosen system call, as a kill -9 or the out-of-memory killer would. */
#ifndef SBX_TEST_KILLER_H
#define SBX_TEST_KILLER_H

#include <stdbool.h>

/* Fork; the child calls prepare(context) (may be NULL), then work(context), and is killed when its `kill_at`-th system
 * call of the latter (from 1) has been done and before anything else is. Returns whether it was killed; false: it made
 * fewer calls and ended by itself, which it must do with status 0. Ends the program when it cannot trace. */
bool sbx_kill_after_call(unsigned kill_at, void (*prepare)(void *context), void (*work)(void *context), void *context);

#endif
