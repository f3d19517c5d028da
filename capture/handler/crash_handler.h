/* SPDX-License-Identifier: Apache-2.0 */
/* crash_handler.h - the process is dying of a signal: leave word and a last stack in the recording, and stand aside.
 *
 * Everything else about the death stays what it would have been without us: the same signal ends the process, with the
 * siginfo and the registers it came with, so that core dumps, exit status and a debugger's view are unchanged. docs/DEATH.md
 * says who else may want these signals and what becomes of them then. */
#ifndef SBX_CRASH_HANDLER_H
#define SBX_CRASH_HANDLER_H

#include <signal.h>

#include "marks.h"

SBX_SIGNAL_SAFE void sbx_on_fatal_signal(int number, siginfo_t *info, void *context);

/* From a handler: the default action takes this signal once the handler has returned. */
SBX_SIGNAL_SAFE void sbx_end_by_default(int number, siginfo_t *info);

/* The same signal once more to this thread, which is in its handler: it comes when that returns. */
SBX_SIGNAL_SAFE void sbx_send_again(int number, siginfo_t *info);

#endif
