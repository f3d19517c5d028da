/* SPDX-License-Identifier: Apache-2.0 */
/* sample_number.c - takes a signal that the program does not use, and gives it up when the program wants it. */
#include "sample_number.h"

#include <signal.h>
#include <string.h>

#include "clock.h"
#include "process_state.h"
#include "sample_handler.h"
#include "signal_stack.h"
#include "the_capture.h"

#define SETTER_MOST_NS UINT64_C(1000000000) /* a setter that takes this long has left by a jump, or has ended */

static uint64_t busy_since_ns; /* 0: at the last look, no action was being set */
static uint32_t busy_word;     /* the word of the setters then */
/* Number + 1 of the timer of a try; 0: none is active. The thread that exchanges it for 0 deletes the timer. */
static uint32_t tried_timer;
static uint32_t given_up;    /* the number whose timers and signals a hook is taking back now */
static uint64_t being_set;   /* signal n in bit n - 1: a hook is setting its action */
static uint64_t not_to_have; /* the same: its setter is forgotten, and may still come back and set it */
SBX_OF_ONE_PROCESS(tried_timer);
SBX_OF_ONE_PROCESS(given_up);
SBX_OF_ONE_PROCESS(being_set);
SBX_OF_ONE_PROCESS(not_to_have);

static uint64_t bit_of(int number)
{
    return UINT64_C(1) << (number - 1);
}

void sbx_sample_number_start(void)
{
    busy_since_ns = 0;
    sbx_store_relaxed(&being_set, 0); /* relaxed: our threads start later */
    sbx_store_relaxed(&not_to_have, 0);
    sbx_store_relaxed(&sbx_the_capture.signal_changes, 0); /* relaxed: our threads start later */
    sbx_store_relaxed(&sbx_the_capture.sample_signal, 0);
}

static bool is_free(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) == 0 && action->sa_handler == SIG_DFL;
}

static bool is_our_action(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == sbx_on_sample_signal;
}

bool sbx_sample_number_is_ours(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && is_our_action(&now);
}

static bool may_be_taken(int number)
{
    struct sigaction now;
    return (sbx_load_seq_cst(&not_to_have) & bit_of(number)) == 0 && sigaction(number, NULL, &now) == 0 &&
           (is_free(&now) || is_our_action(&now)); /* ours: left from an earlier start */
}

/* Discard a pending signal. When a signal is set to "ignore", the kernel drops it in all threads. So a signal that was
 * made for our handler cannot reach a handler that is set afterwards, whenever its thread runs. */
static void discard_pending(int number)
{
    const struct sbx_kernel_sigaction ignored = {.handler = (void *)(uintptr_t)SIG_IGN};
    struct sbx_kernel_sigaction was;
    if (!sbx_sample_number_is_ours(number)) {
        return; /* pending signals are for the program's handler */
    }
    if (sbx_raw_syscall(SYS_rt_sigaction, number, (long)(uintptr_t)&ignored, (long)(uintptr_t)&was, sizeof was.mask, 0,
                        0) == 0) {
        (void)sbx_raw_syscall(SYS_rt_sigaction, number, (long)(uintptr_t)&was, 0, sizeof was.mask, 0, 0);
    }
}

/* Each call that finds another thread in the middle of this does all of it too, and does not wait. */
static void give_up(int number, bool has_waited_in_vain)
{
    sbx_store_seq_cst(&given_up, (uint32_t)number);
    sbx_store_relaxed(&sbx_the_capture.sample_signal, 0);
    sbx_fence_seq_cst(); /* order: seq_cst sample_signal - Dekker with sample_timer */
    bool is_one_out = sbx_thread_take_back_all();
    sbx_sample_number_delete_timer();
    if (is_one_out || has_waited_in_vain) {
        discard_pending(number);
    }
    sbx_store_seq_cst(&given_up, 0);
}

/* Move the word from 0 to `state`, while no action is being set. */
static bool begin(int number, uint32_t state)
{
    uint32_t word = 0, wanted = state | (uint32_t)number;
    if (sbx_cas_acq_rel(&sbx_the_capture.signal_changes, &word, wanted)) { /* order: acq_rel signal_changes */
        busy_since_ns = 0;
        return true;
    }
    uint64_t now_ns = sbx_now_ns();
    if (busy_since_ns == 0 || word != busy_word) {
        busy_since_ns = now_ns;
        busy_word = word;
    } else if (now_ns - busy_since_ns >= SETTER_MOST_NS) {
        busy_since_ns = 0;
        (void)sbx_or_seq_cst(&not_to_have, sbx_load_seq_cst(&being_set));
        (void)sbx_cas_acq_rel(&sbx_the_capture.signal_changes, &word, 0); /* order: acq_rel signal_changes */
        uint32_t ours = sbx_load_relaxed(&sbx_the_capture.sample_signal); /* relaxed: all that give it up do the same */
        if (ours != 0 && (sbx_load_seq_cst(&not_to_have) & bit_of((int)ours)) != 0) {
            give_up((int)ours, true);
        }
    }
    return false;
}

/* order: release signal_changes - the handler now belongs to its new owner */
static void end(uint32_t state)
{
    uint32_t word = sbx_load_relaxed(&sbx_the_capture.signal_changes);
    while (!sbx_cas_acq_rel(&sbx_the_capture.signal_changes, &word,
                            word & ~(state | SBX_SIGNAL_LEFT | SBX_SIGNAL_NUMBER))) {
    }
}

/* Put back a handler that was set past our hooks between our look and the exchange. Repeat until the replaced handler
 * is the one that was put there, so that a handler set meanwhile is not lost either. */
static void put_back(int number, struct sigaction *theirs)
{
    struct sigaction was;
    void *put = (void *)(uintptr_t)sbx_on_sample_signal;
    while (sigaction(number, theirs, &was) == 0 && (void *)(uintptr_t)was.sa_sigaction != put) {
        put = (void *)(uintptr_t)theirs->sa_sigaction;
        *theirs = was;
    }
}

/* Install our handler. It runs on the alternate stack, so that the host's stacks need no room for it. All signals are
 * blocked, so that no handler of the host runs on top of it. This includes the signals that the C library reserves and
 * that sigfillset() leaves out. By these our handler recognizes that it was called by the kernel. */
static bool take(int number)
{
    struct sigaction before,
        ours = {.sa_sigaction = sbx_on_sample_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    memset(&ours.sa_mask, 0xff, sizeof ours.sa_mask);
    if (!may_be_taken(number) || sigaction(number, &ours, &before) != 0) { /* again, now that no action is being set */
        return false;
    }
    if (!is_free(&before) && !is_our_action(&before)) {
        put_back(number, &before);
        return false;
    }
    return true;
}

int sbx_sample_number_choose(void)
{
    int number = 0;
    if (sbx_load_relaxed(&sbx_the_capture.sample_signal) != 0) { /* taken from us past our hooks */
        sbx_store_seq_cst(&sbx_the_capture.sample_signal, 0);
        (void)sbx_thread_take_back_all(); /* no further signal is made for the new owner */
    }
    for (int wanted = SBX_SIGNAL_FIRST; wanted >= SBX_SIGNAL_LAST && number == 0; wanted--) {
        if (!may_be_taken(wanted)) {
            continue;
        }
        if (!begin(wanted, SBX_SIGNAL_TAKING)) {
            break;
        }
        number = take(wanted) ? wanted : 0;
        sbx_store_seq_cst(&sbx_the_capture.sample_signal, (uint32_t)number); /* stored before it is known as taken */
        uint32_t word = SBX_SIGNAL_TAKING | (uint32_t)wanted;
        if (!sbx_cas_acq_rel(&sbx_the_capture.signal_changes, &word, 0)) { /* order: acq_rel signal_changes */
            /* A hook waits, or has stopped waiting and sets its handler at the same time. No timer is active yet. */
            sbx_store_seq_cst(&sbx_the_capture.sample_signal, 0);
            number = 0;
            end(SBX_SIGNAL_TAKING);
            break;
        }
    }
    sbx_store_relaxed(&sbx_the_capture.header->async_signal, (uint32_t)number); /* relaxed: a number for people */
    return number;
}

SBX_HOOK_SAFE void sbx_sample_number_delete_timer(void)
{
    uint32_t timer = sbx_load_relaxed(&tried_timer);              /* relaxed: the exchange decides */
    if (timer != 0 && sbx_cas_acq_rel(&tried_timer, &timer, 0) && /* order: acq_rel tried_timer */
        sbx_load_relaxed(&sbx_asking_is_forbidden) == 0) {
        (void)sbx_raw_timer_delete(timer - 1);
    }
}

bool sbx_sample_number_try(int number, long timer)
{
    if (!begin(number, SBX_SIGNAL_TRYING)) {
        return false;
    }
    sbx_store_seq_cst(&tried_timer, timer >= 0 ? (uint32_t)timer + 1 : 0);
    sbx_fence_seq_cst(); /* order: seq_cst tried_timer - Dekker with a hook that stopped waiting */
    /* A hook that wants the number may not have seen the timer, which is not armed yet; or the program has taken the
     * number since the caller last looked. */
    if (sbx_sample_number_is_wanted() || sbx_load_seq_cst(&sbx_the_capture.sample_signal) != (uint32_t)number ||
        !sbx_sample_number_is_ours(number)) {
        sbx_sample_number_end_try();
        return false;
    }
    return true;
}

bool sbx_sample_number_is_wanted(void)
{
    uint32_t word = sbx_load_relaxed(&sbx_the_capture.signal_changes); /* relaxed: a late look makes a hook wait */
    return (word & ~(SBX_SIGNAL_TRYING | SBX_SIGNAL_NUMBER)) != 0;
}

void sbx_sample_number_end_try(void)
{
    sbx_sample_number_delete_timer();
    end(SBX_SIGNAL_TRYING);
}

/* ---- the program's calls ---- */

/* Tell the thread in the middle of a try that the hook does not wait any more. False: the try has just ended. */
static bool leave_it_behind(int number)
{
    uint32_t word = sbx_load_relaxed(&sbx_the_capture.signal_changes);
    do {
        if ((word & (SBX_SIGNAL_TAKING | SBX_SIGNAL_TRYING)) == 0 || (word & SBX_SIGNAL_NUMBER) != (uint32_t)number) {
            return false;
        }
    } while (!sbx_cas_acq_rel(&sbx_the_capture.signal_changes, &word, /* order: acq_rel signal_changes */
                              word | SBX_SIGNAL_LEFT));
    sbx_fence_seq_cst(); /* order: seq_cst tried_timer - Dekker with the thread that tries */
    return true;
}

SBX_HOOK_SAFE bool sbx_sample_number_begin_set(int number, bool is_kept)
{
    if (number < SBX_SIGNAL_LAST || number > SBX_SIGNAL_FIRST ||
        (sbx_load_seq_cst(&not_to_have) & bit_of(number)) != 0) { /* the number is never ours */
        return false;
    }
    (void)sbx_add_acq_rel(&sbx_the_capture.signal_changes, SBX_SIGNAL_SETTER); /* order: acq_rel signal_changes */
    if (!is_kept) {
        (void)sbx_or_seq_cst(&being_set, bit_of(number));
    }
    bool in_vain = !sbx_signal_changes_await(number, SBX_SIGNAL_TAKING | SBX_SIGNAL_TRYING) && leave_it_behind(number);
    if (!is_kept && (sbx_load_seq_cst(&sbx_the_capture.sample_signal) == (uint32_t)number ||
                     sbx_load_seq_cst(&given_up) == (uint32_t)number)) {
        give_up(number, in_vain);
    }
    return true;
}

SBX_HOOK_SAFE void sbx_sample_number_end_set(int number)
{
    const uint32_t others = SBX_SIGNAL_TAKING | SBX_SIGNAL_TRYING | SBX_SIGNAL_LEFT | SBX_SIGNAL_NUMBER;
    uint32_t word = sbx_load_relaxed(&sbx_the_capture.signal_changes);
    /* Not below 0, and not for another setter: a setter that takes longer than a second is forgotten. order: acq_rel
     * signal_changes */
    while ((word & ~others) != 0 && (sbx_load_seq_cst(&not_to_have) & bit_of(number)) == 0 &&
           !sbx_cas_acq_rel(&sbx_the_capture.signal_changes, &word, word - SBX_SIGNAL_SETTER)) {
    }
    (void)sbx_and_seq_cst(&being_set, ~bit_of(number));
}
