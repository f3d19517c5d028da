/* SPDX-License-Identifier: Apache-2.0 */
/* late_start.c - armed before main(), started by a wait. */
#include "late_start.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "attendance.h"
#include "clock.h"
#include "forked_child.h"
#include "got_hook.h"
#include "handler_above.h"
#include "imports.h"
#include "loader_visit.h"
#include "ordered_start.h"
#include "own_thread.h"
#include "process_barrier.h"
#include "raw_syscall.h"
#include "recording_file.h"
#include "the_agent.h"
#include "the_capture.h"
#include "thread_block.h"

enum {
    SETTLE_MS = 1000, /* how long a program that needs us gone waits for a start under way; usually 3 to 10 */
    SETTLE_EXIT_MS = 50,
};

enum state {
    OFF = 0,
    ARMED = 1,
    ASLEEP = 2, /* our thread has begun, and sleeps until the program is old enough */
    STARTING = 3,
    DONE = 4,
};

static struct {
    uint32_t state; /* enum state. A futex word */
    uint32_t pid;
    uint32_t tid; /* of our thread; 0: there is none, or it has not begun yet */
    uint64_t armed_ns;
    dev_t root_device;
    ino_t root_inode;
    struct sbx_preload_orders orders;
    char folder[SBX_RECORDING_PATH_MAX], spool[SBX_RECORDING_PATH_MAX];
} late;

static void set_state(enum state state)
{
    sbx_store_release(&late.state, (uint32_t)state); /* order: release late.state */
    syscall(SYS_futex, &late.state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static bool is_below_its_root(void)
{
    struct stat root;
    return stat("/", &root) == 0 && root.st_dev == late.root_device && root.st_ino == late.root_inode;
}

/* Sleep until the program is old enough. Returns whether it is to be recorded then. */
static bool sleep_until_due(void)
{
    uint32_t expected = ASLEEP;
    uint64_t now_ns;
    while (sbx_load_acquire(&late.state) == ASLEEP && /* order: acquire late.state */
           (now_ns = sbx_now_ns()) < late.armed_ns + SBX_OLD_ENOUGH_NS) {
        const struct timespec pause = {0, (long)(late.armed_ns + SBX_OLD_ENOUGH_NS - now_ns)};
        syscall(SYS_futex, &late.state, FUTEX_WAIT_PRIVATE, ASLEEP, &pause, NULL, 0);
    }
    return sbx_cas_acq_rel(&late.state, &expected, STARTING) || /* order: acq_rel late.state - or it was cancelled */
           expected == STARTING;
}

static void *start(void *unused)
{
    (void)unused;
    sbx_thread_become(SBX_THREAD_GONE);
    sbx_store_release(&late.tid, (uint32_t)syscall(SYS_gettid)); /* order: release late.tid */
    if (!sleep_until_due()) {
        return NULL;
    }
    if (is_below_its_root()) {
        (void)sbx_process_barrier_start();
        sbx_ordered_start(late.folder, late.spool, &late.orders);
    }
    set_state(DONE);
    return NULL;
}

/* Called when a wait begins, or when a module is about to be loaded. */
SBX_HOOK_SAFE static void ask(uint8_t group, uint8_t op, const void *caller)
{
    (void)op;
    (void)caller; /* its hooks are those of waits */
    uint32_t expected = ARMED;
    bool is_load = group == SBX_GROUP_LOADER;
    if (sbx_load_relaxed(&late.state) != ARMED || /* relaxed: decided by the exchange below */
        (group != SBX_GROUP_POLL && !is_load && sbx_now_ns() - late.armed_ns < SBX_OLD_ENOUGH_NS)) {
        return;
    }
    /* A forked child has a start of its own (forked_child.h), and a vforked child runs in its parent's memory. For
     * dlopen() the stack is not searched, because it is never called in a signal handler. */
    if ((uint32_t)sbx_raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0) != late.pid ||
        (!is_load && sbx_handler_find_above(0) != SBX_HANDLER_NONE) ||
        /* order: acq_rel late.state - one starter */
        !sbx_cas_acq_rel(&late.state, &expected, (uint32_t)(is_load ? ASLEEP : STARTING))) {
        return;
    }
    int saved_errno = errno;
    pthread_t thread;
    sbx_store_relaxed(&late.tid, 0);
    if (sbx_own_thread_start(SBX_OWN_STARTER, &thread, start) == 0) {
        pthread_detach(thread);
    } else {
        set_state(OFF);
    }
    errno = saved_errno;
}

/* The thread was cancelled: wait until it is gone from the kernel. */
static void wait_for_its_end(uint32_t timeout_ms)
{
    for (uint32_t waited = 0; waited < 10 * timeout_ms; waited++) {
        uint32_t tid = sbx_load_acquire(&late.tid); /* order: acquire late.tid; 0: it is just beginning */
        if (tid != 0 && sbx_raw_syscall(SYS_tgkill, late.pid, tid, 0, 0, 0, 0) == -ESRCH) {
            return;
        }
        const struct timespec pause = {0, 100000};
        uint32_t nobody = 0;
        syscall(SYS_futex, &nobody, FUTEX_WAIT_PRIVATE, 0, &pause, NULL, 0);
    }
}

/* Waits until no start is under way. False: one still is after `timeout_ms`. */
static bool wait_for_start(uint32_t timeout_ms)
{
    for (uint32_t waited_ms = 0;; waited_ms++) {
        uint32_t state = sbx_load_acquire(&late.state); /* order: acquire late.state */
        if (state != STARTING) {
            return true;
        }
        if (waited_ms >= timeout_ms) {
            return false;
        }
        const struct timespec pause = {0, 1000000};
        syscall(SYS_futex, &late.state, FUTEX_WAIT_PRIVATE, state, &pause, NULL, 0);
    }
}

/* The program is about to do something that may be impossible while the recorder runs. If the recorder has not started,
 * the program has only our hooks, and the start may still come; before a sandbox it is switched off for good. */
SBX_HOOK_SAFE static void settle(enum sbx_settle what)
{
    bool for_good = what == SBX_SETTLE_SANDBOX;
    if (sbx_load_acquire(&late.state) == DONE || /* order: acquire late.state */
        (uint32_t)sbx_raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0) != late.pid) {
        return;
    }
    int saved_errno = errno;
    uint32_t armed = ARMED, asleep = ASLEEP;
    if (for_good) {
        (void)sbx_cas_acq_rel(&late.state, &armed, OFF); /* order: acq_rel late.state */
    }
    /* order: acq_rel late.state - it is cancelled, or under way already */
    if (sbx_cas_acq_rel(&late.state, &asleep, (uint32_t)(for_good ? OFF : ARMED))) {
        syscall(SYS_futex, &late.state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
        wait_for_its_end(SETTLE_MS);
    }
    (void)wait_for_start(SETTLE_MS);
    errno = saved_errno;
}

/* Called before a fork, and in the forked child: is no start under way? Our sleeping thread has changed nothing yet. */
static bool is_untouched(uint32_t wait_ms)
{
    if (wait_ms != 0) {
        (void)wait_for_start(wait_ms);
    }
    uint32_t state =
        sbx_load_relaxed(&late.state); /* relaxed: a child has one thread; before a fork the answer is only a hint */
    return state == ARMED || state == ASLEEP;
}

/* These functions do not wait, but may bring in a module or code that waits. A loaded module may wait. Functions that
 * are looked up may be called by pointer, and they may be ours. A program that calls exec keeps the companion
 * (attendance.h) for the next program. */
#define MAY_BRING_WAITS                                \
    "dlopen\0dlmopen\0dlsym\0dlvsym\0stallbox_start\0" \
    "execve\0execv\0execvp\0execvpe\0execl\0execlp\0execle\0fexecve\0execveat\0"

bool sbx_late_start_may_come(void)
{
    return sbx_imports_any(SBX_WAITS_THAT_ASK, MAY_BRING_WAITS);
}

bool sbx_late_start_arm(const char *recordings_folder, const char *spool_path, const struct sbx_preload_orders *orders)
{
    struct stat root;
    uint32_t left;
    if (orders->settings.enabled == 0 || sbx_agent_is_declined() || stat("/", &root) != 0 ||
        strlen(recordings_folder) >= sizeof late.folder || strlen(spool_path) >= sizeof late.spool) {
        return false;
    }
    late.orders = *orders;
    memcpy(late.folder, recordings_folder, strlen(recordings_folder) + 1);
    memcpy(late.spool, spool_path, strlen(spool_path) + 1);
    late.root_device = root.st_dev;
    late.root_inode = root.st_ino;
    late.pid = (uint32_t)getpid();
    sbx_attendance_join(recordings_folder, orders->roster); /* its companion must wait for this program, too */
    sbx_handler_learn();
    sbx_agent_look_at_environment();
    sbx_loader_visit_start();
    sbx_got_hook_resolve();
    late.armed_ns = sbx_now_ns();
    sbx_ordered_start_prepare(orders);
    sbx_forked_child_look_out_unstarted(late.folder, late.spool, &late.orders, is_untouched);
    sbx_the_capture.settle = settle;
    sbx_the_capture.late_ask = ask;
    sbx_store_release(&late.state, ARMED); /* order: release late.state */
    (void)sbx_got_hook_apply(SBX_WAITS_THAT_ASK & orders->settings.points, UINT64_MAX, &left);
    return true;
}

void sbx_late_start_settle_at_exit(void)
{
    if (sbx_load_relaxed(&late.state) == STARTING && late.pid == (uint32_t)getpid()) { /* relaxed: read again below */
        (void)wait_for_start(SETTLE_EXIT_MS);
    }
}
