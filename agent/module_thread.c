/* SPDX-License-Identifier: Apache-2.0 */
/* module_thread.c - sbx-modules: the loader's list, the unwind rows, the hooks.
 *
 * Apart from the watch thread because all of it may wait for the loader's lock, which a constructor in a slow dlopen
 * holds for as long as it likes, and the watch thread must see exactly such a stall. */
#include "agent.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "got_hook.h"
#include "module_map.h"
#include "point.h"

/* A dlopen leaves word before it has loaded anything (its hook must be a tail call), so one look is not enough: look
 * again after these pauses. A look that finds nothing new costs 30 ns. */
static const uint32_t look_again_ms[] = {1, 5, 20, 100, 500, 2000};

void sbx_module_thread_call(uint32_t points)
{
    sbx_store_relaxed(&sbx_the_agent.wanted_points, points);
    sbx_add_acq_rel(&sbx_the_agent.module_bell, 1); /* order: release module_bell - wanted_points is set */
    syscall(SYS_futex, &sbx_the_agent.module_bell, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Returns how many modules the loader was still busy with. */
static uint32_t apply_hooks(void)
{
    uint32_t points = sbx_load_relaxed(&sbx_the_agent.wanted_points), unsettled;
    uint32_t slots = sbx_got_hook_apply(points, &unsettled);
    sbx_store_relaxed(&sbx_the_capture.header->hooked_slots, slots);
    /* order: release control.hooked_points - hooked_slots is theirs */
    sbx_store_release(&sbx_the_capture.control->hooked_points, points);
    sbx_store_relaxed(&sbx_the_agent.applied_points, points); /* relaxed: this thread alone reads it */
    return unsettled;
}

/* A fork while this thread is inside the loader would leave the loader's lock held in the child for ever (glibc resets
 * its other locks there, not that one; seen with 2.36: every dlopen of such a child hangs). So fork waits for this
 * lock, which is held around every visit to the loader. Not for ever: a program may fork while it holds the loader's
 * lock itself. */
static pthread_mutex_t visit_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool has_visit_lock;

enum {
    FORK_WAIT_MS = 200
};

static void before_fork(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += FORK_WAIT_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    has_visit_lock = pthread_mutex_clocklock(&visit_lock, CLOCK_MONOTONIC, &until) == 0;
}

static void after_fork_in_parent(void)
{
    if (has_visit_lock) {
        pthread_mutex_unlock(&visit_lock);
    }
}

static void after_fork_in_child(void)
{
    /* Nobody visits the loader here any more: the child's own forks need not wait. */
    pthread_mutex_init(&visit_lock, NULL);
}

void sbx_module_thread_prepare(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* One round: what came, what went, what is to be hooked. Returns true when the loader was still busy with something. */
static bool look_around(void)
{
    static bool is_behind;
    pthread_mutex_lock(&visit_lock);
    if (sbx_module_map_refresh() || is_behind ||
        sbx_load_relaxed(&sbx_the_agent.wanted_points) != sbx_load_relaxed(&sbx_the_agent.applied_points)) {
        is_behind = apply_hooks() != 0;
    }
    pthread_mutex_unlock(&visit_lock);
    return is_behind;
}

static bool build_some_rows(void)
{
    pthread_mutex_lock(&visit_lock);
    bool has_more = sbx_module_map_build_rows();
    pthread_mutex_unlock(&visit_lock);
    return has_more;
}

void *sbx_module_main(void *unused)
{
    (void)unused;
    sbx_thread_become(SBX_THREAD_GONE);
    prctl(PR_SET_NAME, "sbx-modules");
    sbx_store_release(&sbx_the_agent.module_tid, (uint32_t)syscall(SYS_gettid)); /* order: release agent.tid */
    unsigned looks_left = 0;
    while (sbx_load_acquire(&sbx_the_agent.stopping) == 0) {          /* order: acquire agent.stopping */
        uint32_t bell = sbx_load_acquire(&sbx_the_agent.module_bell); /* order: acquire module_bell */
        if (sbx_swap_acq_rel(&sbx_modules_dirty, 0) != 0) {           /* order: acquire modules_dirty */
            looks_left = SBX_COUNT_OF(look_again_ms);
        }
        if (look_around() && looks_left == 0) {
            looks_left = SBX_COUNT_OF(look_again_ms);
        }
        while (sbx_load_acquire(&sbx_the_agent.stopping) == 0 && build_some_rows()) {
        }
        struct timespec pause = {0, 0};
        if (looks_left > 0) {
            uint32_t ms = look_again_ms[SBX_COUNT_OF(look_again_ms) - looks_left];
            looks_left--;
            pause = (struct timespec){ms / 1000, (long)(ms % 1000) * 1000000};
        }
        bool has_pause = pause.tv_sec != 0 || pause.tv_nsec != 0;
        syscall(SYS_futex, &sbx_the_agent.module_bell, FUTEX_WAIT_PRIVATE, bell, has_pause ? &pause : NULL, NULL, 0);
    }
    /* Stopping: the hooks come out here, where they went in. */
    sbx_store_relaxed(&sbx_the_agent.wanted_points, 0);
    pthread_mutex_lock(&visit_lock);
    apply_hooks();
    pthread_mutex_unlock(&visit_lock);
    sbx_store_release(&sbx_the_agent.module_tid, 0); /* order: release agent.tid */
    return NULL;
}
