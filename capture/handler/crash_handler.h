/* SPDX-License-Identifier: Apache-2.0 */
/* crash_handler.h - the process is dying of a signal: write the signal and a last stack into the recording, and change
 * nothing else.
 *
 * Apart from that the process dies as it would without the agent: the same signal ends it, with the siginfo and the
 * registers it came with, so that core dumps, exit status and a debugger's view are unchanged. docs/DEATH.md says which
 * other code may want these signals and what happens to them then. */
#ifndef SBX_CRASH_HANDLER_H
#define SBX_CRASH_HANDLER_H

#include <signal.h>

#include "marks.h"

SBX_SIGNAL_SAFE void sbx_on_fatal_signal(int number, siginfo_t *info, void *context);

/* Called in a signal handler: the default action takes this signal when the handler has returned. */
SBX_SIGNAL_SAFE void sbx_end_by_default(int number, siginfo_t *info);

/* Send the same signal once more to this thread, which is in its handler. It arrives when the handler returns. */
SBX_SIGNAL_SAFE void sbx_send_again(int number, siginfo_t *info);

#endif
