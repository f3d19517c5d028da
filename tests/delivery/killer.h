/* SPDX-License-Identifier: Apache-2.0 */
/* killer.h - ends a child at a chosen system call, as a kill -9 or the out-of-memory killer would. */
#ifndef SBX_TEST_KILLER_H
#define SBX_TEST_KILLER_H

#include <stdbool.h>

/* Fork. The child calls prepare(context) (may be NULL), then work(context). It is killed right after the `kill_at`-th
 * system call of work() (counted from 1), before it does anything else. Returns whether it was killed. False: it made
 * fewer calls and ended by itself, which must be with status 0. Ends the program when tracing is not possible. */
bool sbx_kill_after_call(unsigned kill_at, void (*prepare)(void *context), void (*work)(void *context), void *context);

#endif
