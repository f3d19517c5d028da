/* SPDX-License-Identifier: Apache-2.0 */
/* crash_signals.h - for which fatal signals the crash handler is in, and since when.
 *
 * A signal with any action other than the default belongs to the host, and is never changed. A handler that the host
 * installs later replaces ours, as sigaction(2) does. header.crash_signals says which signals are ours. */
#ifndef SBX_CRASH_SIGNALS_H
#define SBX_CRASH_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"

/* At the agent's start: put the handlers in now. With SBX_CRASH_SETTLED only if `hooks_are_in`: the hooks of
 * sigaction() and its like are in all modules. Then the handlers are hidden for a second. */
void sbx_crash_signals_start(const struct sbx_capture_settings *settings, bool hooks_are_in, uint64_t now_ns);

/* The watch thread's tick. Puts the handlers in when the hooks are in or the program has settled, and takes them out
 * when the settings say so. Notices when the host has replaced them. Removes the note of a crash that the process
 * survived. */
void sbx_crash_signals_tick(const struct sbx_capture_settings *settings, bool hooks_are_in, uint64_t now_ns);

/* When the handlers are to go in, or may be shown, CLOCK_MONOTONIC; UINT64_MAX: done already, or never. */
uint64_t sbx_crash_signals_due_ns(const struct sbx_capture_settings *settings);

/* Find out which handlers of the host are one-shot (SA_RESETHAND). The next function does it each second; to be called
 * before a rest, in which the watch thread does not look. */
void sbx_crash_signals_learn(void);

/* Has a one-shot handler of the host (SA_RESETHAND) been called? Then the process is about to end, and until then
 * another running thread may disturb it. For example, redis writes patterns into all memory, one page after the other,
 * and says in its crash report whether it read them back. A thread of ours that runs meanwhile would read those
 * patterns. True for half a minute at most. */
bool sbx_crash_signals_host_is_ending(uint64_t now_ns);

/* Where the action is still ours, put the default action back. */
void sbx_crash_signals_stop(void);

#endif
