/* SPDX-License-Identifier: Apache-2.0 */
/* sample_number.h - which signal running threads are asked by, between us and a program that may take any of them at any time.
 *
 * The kernel has no "set this handler if there is none": between our look at a free signal and our handler the program may
 * have set its own. So whoever sets the action of a signal through our hooks says so first, and while anybody does we take
 * none; and a hook that meets us in the middle of taking the very signal waits until we are done: microseconds, while our
 * thread runs. Then the signal is ours, and it takes it as any. A thread of ours that is without a processor is not waited for
 * without end: the hook says that it goes on (LEFT), and discards what is pending of the signal. Our thread makes a signal only
 * while it blocks it, and looks at that word before it lets it come. What passes our hooks is told by the exchange: the program's
 * handler is put back, and what the signal brought us meanwhile goes on to it (sample_handler.c). Who is at it just now is one word (signal_changes.h).
 *
 * Synchronization:           [1] [2] [3]     [1] choose, try out (the starting thread, then the watch thread)
 *     [1] choose, try         -   .   .      [2] begin and end of setting (hook; any thread)
 *     [2] begin, end          .   .   .      [3] the handler, looking
 *     [3] look                .   .   .      .: one word, changed by atomic operations */
#ifndef SBX_SAMPLE_NUMBER_H
#define SBX_SAMPLE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "signal_changes.h"

enum {
    /* Kernel numbering, 64 being the last. 64 and 63 are left alone: Valgrind takes the one, qemu-user has neither. Up
     * to 34 they are the C library's. */
    SBX_SIGNAL_FIRST = 62,
    SBX_SIGNAL_LAST = 35,
};

/* ---- ours ---- */

/* Before anything else, by the starting thread: whoever was setting one in a process that we were forked of is not here. */
void sbx_sample_number_start(void);

/* The first free signal from SBX_SIGNAL_FIRST down is ours and in sbx_the_capture.sample_signal. Returns it; 0: none is
 * free, or somebody is setting one just now. All signals are blocked. */
int sbx_sample_number_choose(void);

/* Does the kernel have our handler for it? */
bool sbx_sample_number_is_ours(int number);

/* Around a time in which the calling thread does not block our signal. False: not now. `timer` will make the signal meanwhile (its
 * kernel's number; negative: none will): it is deleted here, or by who has waited for the end in vain, so that no handler of the
 * program's is called for it. */
SBX_MUST_CHECK bool sbx_sample_number_try(int number, long timer);
SBX_HOOK_SAFE void sbx_sample_number_delete_timer(void);
/* Meanwhile: does somebody wait for that to end, or has he waited in vain and gone on? */
bool sbx_sample_number_is_wanted(void);
void sbx_sample_number_end_try(void);

/* ---- the program's calls ---- */

/* The action of that signal is about to be set: from here on we take none. Where it is ours it is given up, with all timers
 * that are out, unless `is_kept`. False: nothing was begun. Keeps errno. */
SBX_HOOK_SAFE bool sbx_sample_number_begin_set(int number, bool is_kept);
SBX_HOOK_SAFE void sbx_sample_number_end_set(int number);

#endif
