/* SPDX-License-Identifier: Apache-2.0 */
/* light_sleep.c - a sleep that takes a signal, and the sender of that signal. */
#include "light_sleep.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "order.h"
#include "raw_syscall.h"
#include "thread_timer.h"

enum {
    AWAKE = 0,  /* or sleeping on the futex */
    ASLEEP = 1, /* a signal wakes it */
    RUNG = 2,   /* a thread is about to send that signal */
};

enum {
    SENDER_LOOK_NS = 50000,
    SENDER_LOOKS = 20000, /* one second: the sender has no processor */
};

#define OURS (UINT64_C(1) << (SIGSTKFLT - 1))

/* The signal that was taken, or a negative errno: EAGAIN when the time is over, EINTR after a stop. `pause` NULL: no
 * limit. */
static long take_signal(const struct timespec *pause, siginfo_t *info_out)
{
    const uint64_t ours = OURS;
    return sbx_raw_syscall(SYS_rt_sigtimedwait, (long)(uintptr_t)&ours, (long)(uintptr_t)info_out,
                           (long)(uintptr_t)pause, sizeof ours, 0, 0);
}

/* Is it a ring? When the user's signal queue is full, the kernel keeps the signal number and drops the sender. */
static bool is_ring(const siginfo_t *info)
{
    return (info->si_code == SI_TKILL && info->si_pid == getpid()) || (info->si_code == SI_USER && info->si_pid == 0);
}

/* Can this thread take a signal that it sends to itself? Not below a filter that refuses one of these calls. */
static bool try_on_self(void)
{
    const struct timespec at_once = {0, 0};
    siginfo_t info;
    return (sbx_raw_signal_mask() & OURS) != 0 &&
           sbx_raw_syscall(SYS_tgkill, getpid(), sbx_raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0), SIGSTKFLT, 0, 0, 0) ==
               0 &&
           take_signal(&at_once, &info) == SIGSTKFLT && is_ring(&info);
}

/* Ends the sleep. A thread that has exchanged the state still has to send its signal. Until it has, this thread must
 * not end, because its tid may be reused. */
static void get_up(struct sbx_light_sleep *sleep)
{
    uint32_t asleep = ASLEEP;
    if (sbx_cas_acq_rel(&sleep->state, &asleep, AWAKE)) { /* order: acq_rel light_sleep.state - nobody sends */
        return;
    }
    const struct timespec pause = {0, SENDER_LOOK_NS};
    /* order: acquire light_sleep.state - it is sent */
    for (int i = 0; i < SENDER_LOOKS && sbx_load_acquire(&sleep->state) != AWAKE; i++) {
        nanosleep(&pause, NULL);
    }
}

/* Was a stop the end of the sleep? */
static bool was_stopped(struct sbx_light_sleep *sleep, long taken, const siginfo_t *info)
{
    if (taken == -EINTR) {
        return true;
    }
    if (taken == SIGSTKFLT && !is_ring(info)) { /* the signal is the program's; sleep on the futex from now on */
        sbx_store_relaxed(&sleep->trust, SBX_LIGHT_REFUSED);
        (void)kill(getpid(), SIGSTKFLT);
    } else if (taken != SIGSTKFLT && taken != -EAGAIN) {
        sbx_store_relaxed(&sleep->trust, SBX_LIGHT_REFUSED);
    }
    return false;
}

bool sbx_light_sleep_until(struct sbx_light_sleep *sleep, uint32_t seen, const struct timespec *pause, bool is_light)
{
    /* relaxed, all: written by this thread only */
    if (is_light && sbx_load_relaxed(&sleep->trust) == SBX_LIGHT_UNTRIED) {
        sbx_store_relaxed(&sleep->trust, try_on_self() ? SBX_LIGHT_WORKS : SBX_LIGHT_REFUSED);
    }
    if (!is_light || sbx_load_relaxed(&sleep->trust) != SBX_LIGHT_WORKS) {
        syscall(SYS_futex, &sleep->bell, FUTEX_WAIT_PRIVATE, seen, pause, NULL, 0);
        return false;
    }
    siginfo_t info;
    long taken = -EAGAIN;
    sbx_store_relaxed(&sleep->tid, (uint32_t)sbx_raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0)); /* relaxed: before state */
    sbx_store_seq_cst(&sleep->state, ASLEEP); /* order: seq_cst light_sleep.state - Dekker with module_bell */
    sbx_fence_seq_cst();
    if (sbx_load_relaxed(&sleep->bell) == seen) { /* order: seq_cst module_bell - Dekker with light_sleep.state */
        taken = take_signal(pause, &info);
    }
    get_up(sleep);
    return was_stopped(sleep, taken, &info);
}

void sbx_light_sleep_ring(struct sbx_light_sleep *sleep)
{
    uint32_t asleep = ASLEEP;
    sbx_add_acq_rel(&sleep->bell, 1); /* order: release module_bell - the woken thread sees what was written before */
    sbx_fence_seq_cst();              /* order: seq_cst module_bell - Dekker with light_sleep.state */
    if (!sbx_cas_acq_rel(&sleep->state, &asleep, RUNG)) { /* order: acq_rel light_sleep.state - one sends */
        syscall(SYS_futex, &sleep->bell, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
        return;
    }
    syscall(SYS_tgkill, getpid(), sbx_load_relaxed(&sleep->tid), SIGSTKFLT);
    sbx_store_release(&sleep->state, AWAKE); /* order: release light_sleep.state - it is sent */
}
