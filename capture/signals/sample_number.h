/* SPDX-License-Identifier: Apache-2.0 */
/* sample_number.h - the number of the signal that asks running threads. The program may take any signal at any time.
 *
 * The kernel has no "set this handler if there is none": between our look at a free signal and our store of a handler,
 * the program may have set its own. So a thread that sets the action of a signal through our hooks announces it first,
 * and we take no signal meanwhile. A hook that finds us in the middle of taking the same signal waits until we are
 * done: microseconds, while our thread runs. Then the signal is ours, and the hook takes it from us in the usual way.
 * If our thread has no processor, the hook does not wait without end. It announces that it goes on (LEFT), and discards
 * the pending signals of that number. Our thread makes a signal only while it blocks it, and looks at the word before
 * it unblocks the signal. The exchange reveals handlers that were set past our hooks: the program's handler is put
 * back, and signals that our handler got meanwhile are passed on to it (sample_handler.c). One word says who is in the
 * middle of this (signal_changes.h).
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
    /* Kernel numbering, where 64 is the last. 64 and 63 are not used, because Valgrind takes one of them, and qemu-user
     * has neither. The numbers up to 34 belong to the C library. */
    SBX_SIGNAL_FIRST = 62,
    SBX_SIGNAL_LAST = 35,
};

/* ---- ours ---- */

/* To be called first, by the starting thread: a setter in the process that forked this one does not exist here. */
void sbx_sample_number_start(void);

/* The first free signal from SBX_SIGNAL_FIRST down becomes ours and is stored in sbx_the_capture.sample_signal. Returns
 * it; 0: none is free, or an action is being set just now. All signals are blocked. */
int sbx_sample_number_choose(void);

/* Does the kernel have our handler for it? */
bool sbx_sample_number_is_ours(int number);

/* Call these two around a time in which the calling thread does not block our signal. False: not now. `timer` will make
 * the signal meanwhile (the kernel's number of it; negative: no timer). It is deleted here, or by a hook that stopped
 * waiting for the end, so that it does not call a handler of the program. */
SBX_MUST_CHECK bool sbx_sample_number_try(int number, long timer);
SBX_HOOK_SAFE void sbx_sample_number_delete_timer(void);
/* Between the two: does a hook wait for the end, or has one stopped waiting and gone on? */
bool sbx_sample_number_is_wanted(void);
void sbx_sample_number_end_try(void);

/* ---- the program's calls ---- */

/* The action of that signal is about to be set: from here on we take no signal. If the signal is ours it is given up,
 * with all active timers, unless `is_kept`. False: nothing was begun. Keeps errno. */
SBX_HOOK_SAFE bool sbx_sample_number_begin_set(int number, bool is_kept);
SBX_HOOK_SAFE void sbx_sample_number_end_set(int number);

#endif
