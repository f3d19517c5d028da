/* SPDX-License-Identifier: Apache-2.0 */
/* crash_signals.h - for which fatal signals the crash handler is in, and since when.
 *
 * A signal that has any other action than the default one is the host's: it is left alone, for good. A host that puts in
 * its own handler later replaces ours, as sigaction(2) does. header.crash_signals says which are ours. */
#ifndef SBX_CRASH_SIGNALS_H
#define SBX_CRASH_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"

/* At the agent's start: the handlers go in now. With SBX_CRASH_SETTLED only if `hooks_are_in`, those of sigaction() and its like
 * in all modules: then they are not shown for a second. */
void sbx_crash_signals_start(const struct sbx_capture_settings *settings, bool hooks_are_in, uint64_t now_ns);

/* The watch thread's tick: puts them in when the hooks are in or the program has settled, takes them out when the settings say so, sees
 * when a host has replaced them, and takes back the word of a crash that the process survived. */
void sbx_crash_signals_tick(const struct sbx_capture_settings *settings, bool hooks_are_in, uint64_t now_ns);

/* When they are to go in, or may be shown, CLOCK_MONOTONIC; UINT64_MAX: they are, or never will be. */
uint64_t sbx_crash_signals_due_ns(const struct sbx_capture_settings *settings);

/* See which handlers of the host's serve once. Done by the next each second; before a rest, in which nobody looks. */
void sbx_crash_signals_learn(void);

/* Has a handler of the host's that serves once (SA_RESETHAND) been called? Then the process is about to end, and what it does
 * until then may not bear another thread: redis writes patterns into all memory, one page after the other, and tells in its
 * crash report whether they came back; a thread of ours that ran meanwhile would read them. True for half a minute at most. */
bool sbx_crash_signals_host_is_ending(uint64_t now_ns);

/* Where the action still is ours, put the default one back. */
void sbx_crash_signals_stop(void);

#endif
