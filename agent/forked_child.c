/* SPDX-License-Identifier: Apache-2.0 */
/* forked_child.c - a child is pending after the fork, and starts at a sign of life.
 *
 * The child abandons its copy of the parent's data and never cleans it up, because the parent's threads may have
 * been changing that data at the fork. What is zero in every process at its start is made zero again
 * (port/process_state.h). */
#include "forked_child.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "alloc_place.h"
#include "attendance.h"
#include "clock.h"
#include "consent.h"
#include "family.h"
#include "fork_path.h"
#include "handler_above.h"
#include "handover.h"
#include "libc_symbols.h"
#include "loader_visit.h"
#include "module_map.h"
#include "module_thread.h"
#include "own_thread.h"
#include "process_barrier.h"
#include "process_life.h"
#include "process_state.h"
#include "raw_syscall.h"
#include "service_pings.h"
#include "the_agent.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_registry.h"

enum {
    START_WAIT_MS = 1000, /* how long a program that drops privileges waits for the start; one takes 1 to 3 */
    EXIT_WAIT_MS = 50
};
#define ASK_AGAIN_NS UINT64_C(1000000000) /* for a child without a seat */
#define SECOND_NS    UINT64_C(1000000000)
#define WORKED_NS    UINT64_C(5000000) /* of CPU time: counts as being old enough */

/* Waits, reads and writes of files, and loads of modules: none of these is called while an allocator's lock is held.
 * Locks, clocks, mappings and streams may be. */
#define SIGNS_OF_LIFE                                                                          \
    (SBX_WAITS_THAT_ASK | SBX_POINT_BIT(SBX_GROUP_FILE) | SBX_POINT_BIT(SBX_GROUP_FILE_LOCK) | \
     SBX_POINT_BIT(SBX_GROUP_SYNC) | SBX_POINT_BIT(SBX_GROUP_BARRIER) | SBX_POINT_BIT(SBX_GROUP_LOADER))

/* What a child does that computes: allocations, clock reads, output to a buffer. These are leaf points, which ask when
 * their count runs out. Some of these calls are made with an allocator's lock held (alloc_place.h). */
#define SIGNS_OF_WORK (SBX_POINT_BIT(SBX_GROUP_ALLOC) | SBX_POINT_BIT(SBX_GROUP_CLOCK) | SBX_POINT_BIT(SBX_GROUP_STDIO))

enum state {
    OFF = 0,
    PENDING = 1,
    STARTING = 2,
    DONE = 3,
    PUT_OFF = 4, /* the child has a thread of ours, which sleeps until it is old enough */
    HURRIED = 5, /* that thread is to start now: there is no later */
    ENDING = 6   /* that thread is to end */
};

static struct {
    uint32_t state; /* enum state. A futex word */
    uint32_t pid, parent_pid;
    uint32_t parent_is_recorded;      /* 1: what follows describes the parent; 0: an older ancestor */
    uint64_t forked_ns, ask_again_ns; /* the second one belongs to the sleeping thread, if there is one */
    uint32_t sleeper_tid;             /* 0: it has not begun to run */
    uint64_t handler_at;              /* frame address of the signal handler that forked; 0: not in a handler */
    uint64_t allocations;             /* the child's count of allocations at the fork */
    struct sbx_capture_settings settings;
    enum sbx_consent consent;
    bool is_consent_required;
    /* In a process whose recorder has not started, and in its children: says that no start is under way. NULL: the
     * start has begun, or never will. */
    bool (*is_untouched)(uint32_t wait_ms);
    uint8_t unstarted_id[16]; /* id of the family that such a process founds */
    struct sbx_family_entry family;
    uint32_t modules;
    uint32_t told_by;    /* pid of the recorded process described here; 0: the paths are being written */
    uint32_t generation; /* of the settings that were copied last; 0: none were copied yet */
} child SBX_FORK_DATA_FIRST;

/* The folder for the recordings of this process's children, and their spool. */
static char child_folder[SBX_RECORDING_PATH_MAX], child_spool[SBX_PATH_MAX];

static void set_state(enum state state)
{
    sbx_store_release(&child.state, (uint32_t)state); /* order: release child.state */
    syscall(SYS_futex, &child.state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Is the caller in the process that is pending? A child of vfork() is not. */
SBX_FORK_CODE static bool is_callers(void)
{
    return (uint32_t)sbx_raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0) == child.pid;
}

/* ---- the start ---- */

static void forget_parent(void)
{
    sbx_module_map_inherit();
    sbx_thread_registry_forget_parent();
    sbx_process_state_clear();
    sbx_handover_forget_parent();
    sbx_attendance_forget_parent();
    sbx_service_pings_forget_parent();
    sbx_the_agent_forget_parent();
    sbx_capture_forget_parent();
}

/* A process that has lost its parent is not a worker: daemon(3), or a program that puts itself into the background. */
static bool is_daemon(void)
{
    return (uint32_t)getppid() != child.parent_pid;
}

/* This process is the first of its family. If it has no family, it founds one. */
static bool lead(void)
{
    struct sbx_recording_header *header = sbx_the_capture.header;
    bool has_family = sbx_family_is_of((uint32_t)getpid()); /* it has forked before it was recorded */
    if (!has_family && !sbx_family_found(header->session_id, sbx_process_began((uint32_t)getpid()))) {
        return false;
    }
    memcpy(header->family.id, sbx_family_id(), sizeof header->family.id);
    header->family.role = SBX_ROLE_MAIN;
    return true;
}

/* The children of this process record into the same folder. They find here what was written before the fork. */
static void keep_paths(void)
{
    const char *path = sbx_the_agent.recording.path, *spool = sbx_the_agent.recording.header->spool_path;
    const char *slash = strrchr(path, '/');
    size_t bytes = slash != NULL ? (size_t)(slash - path) : 0;
    sbx_store_relaxed(&child.told_by, 0); /* relaxed: a fork copies the memory of one moment */
    sbx_order_with_handler();
    child.generation = 0;
    memcpy(child_folder, path, bytes);
    child_folder[bytes] = 0;
    memcpy(child_spool, spool, sizeof child_spool);
    sbx_store_release(&child.told_by, bytes != 0 ? (uint32_t)getpid() : 0); /* order: release child.told_by */
}

/* The thread that runs this start is the module thread of this process from then on. */
static void *start(void *unused)
{
    (void)unused;
    sbx_thread_become(SBX_THREAD_GONE);
    sbx_family_date_seat(child.pid);
    forget_parent();
    sbx_the_agent.shares_descriptors = sbx_module_thread_become();
    sbx_the_agent.family = child.family;
    sbx_the_agent.family.role = is_daemon() ? SBX_ROLE_MAIN : SBX_ROLE_WORKER;
    sbx_the_agent.parent_modules = child.modules;
    if (child.is_untouched != NULL) { /* do what its parent would have done at its own start */
        child.is_untouched = NULL;
        child.consent = sbx_consent_read(child_spool);
        (void)sbx_process_barrier_start();
    }
    int result = sbx_agent_start_by_module_thread(child_folder, child_spool, &child.settings, child.consent,
                                                  child.is_consent_required);
    if (result != 0) {
        sbx_family_give_seat(child.pid);
    } else {
        keep_paths();
        if (sbx_the_agent.family.role == SBX_ROLE_MAIN) {
            sbx_family_give_seat(child.pid);
            (void)lead();
        }
    }
    sbx_attendance_began(result);
    if (result != 0) {
        pthread_detach(pthread_self()); /* nobody waits for its end */
    }
    set_state(DONE);
    /* order: acquire agent.stopping */
    if (result == 0 || sbx_load_acquire(&sbx_the_agent.stopping) != 0) {
        sbx_module_thread_go_on();
    } else {                                             /* nothing was hooked yet */
        sbx_store_release(&sbx_the_agent.module_tid, 0); /* order: release agent.tid */
    }
    return NULL;
}

/* Returns whether a start is under way, begun by this call or by another one. */
static bool begin(uint64_t now_ns, bool is_last_chance)
{
    uint32_t expected = PENDING;
    if (now_ns < child.ask_again_ns && !is_last_chance) {
        return false;
    }
    if (!sbx_cas_acq_rel(&child.state, &expected, STARTING)) { /* order: acq_rel child.state - one starter */
        return expected == STARTING;
    }
    pthread_t thread;
    uint64_t worked_ns = sbx_read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    bool has_seat = sbx_family_take_seat(child.pid, now_ns, worked_ns, is_last_chance);
    if (has_seat && sbx_own_thread_start(SBX_OWN_MODULES, &thread, start) == 0) {
        sbx_family_charge_start(now_ns, sbx_budget_of(&child.settings));
        return true;
    }
    if (has_seat) {
        sbx_family_give_seat(child.pid);
    }
    sbx_attendance_unrecorded_child();
    child.ask_again_ns = now_ns + ASK_AGAIN_NS;
    set_state(PENDING);
    return false;
}

/* ---- later ---- */

SBX_FORK_CODE static inline bool is_still_to_come(uint32_t state)
{
    return state == PENDING || state >= PUT_OFF;
}

/* Sleeps until `due_ns`, or until the state changes. */
static void sleep_until(uint64_t due_ns)
{
    for (;;) {
        uint64_t now_ns = sbx_now_ns();
        if (now_ns >= due_ns || sbx_load_acquire(&child.state) != PUT_OFF) { /* order: acquire child.state */
            return;
        }
        const struct timespec pause = {(time_t)((due_ns - now_ns) / SECOND_NS), (long)((due_ns - now_ns) % SECOND_NS)};
        syscall(SYS_futex, &child.state, FUTEX_WAIT_PRIVATE, PUT_OFF, &pause, NULL, 0);
    }
}

/* The thread of a child that is put off. It exists from the child's first wait on, whatever the child waits for: if the
 * child hangs in that wait, no other call would start the recorder. The thread takes a seat when the recorder is to
 * start, and becomes the module thread. */
static void *start_later(void *unused)
{
    sbx_thread_become(SBX_THREAD_GONE);
    sbx_store_relaxed(&child.sleeper_tid, (uint32_t)syscall(SYS_gettid)); /* relaxed: read after the thread's end */
    for (;;) {
        sleep_until(child.ask_again_ns);
        uint32_t state = sbx_load_acquire(&child.state); /* order: acquire child.state */
        if (state == OFF || state == ENDING) {
            pthread_detach(pthread_self()); /* nobody joins it; its end is seen by its tid */
            return NULL;
        }
        if (state == STARTING) { /* the creator of this thread has not set the state yet */
            syscall(SYS_futex, &child.state, FUTEX_WAIT_PRIVATE, STARTING, NULL, NULL, 0);
            continue;
        }
        if (!sbx_cas_acq_rel(&child.state, &state, STARTING)) { /* order: acq_rel child.state */
            continue;
        }
        uint64_t now_ns = sbx_now_ns();
        if (sbx_family_take_seat(child.pid, now_ns, sbx_read_clock_ns(CLOCK_PROCESS_CPUTIME_ID), state == HURRIED)) {
            sbx_family_charge_start(now_ns, sbx_budget_of(&child.settings));
            return start(unused);
        }
        child.ask_again_ns = now_ns + ASK_AGAIN_NS;
        set_state(PUT_OFF);
    }
}

static void begin_later(uint64_t now_ns, uint64_t due_ns)
{
    uint32_t expected = PENDING;
    if (!sbx_cas_acq_rel(&child.state, &expected, STARTING)) { /* order: acq_rel child.state - one starter */
        return;
    }
    pthread_t sleeper;
    child.ask_again_ns = due_ns;
    child.sleeper_tid = 0;
    bool has_sleeper = sbx_own_thread_start(SBX_OWN_MODULES, &sleeper, start_later) == 0;
    if (has_sleeper) {
        sbx_attendance_put_off_child();
    } else {
        sbx_attendance_unrecorded_child();
        child.ask_again_ns = now_ns + ASK_AGAIN_NS;
    }
    set_state(has_sleeper ? PUT_OFF : PENDING);
}

/* The child starts at once. Returns whether it was put off. */
static bool hurry(void)
{
    uint32_t expected = PUT_OFF;
    bool was_put_off = sbx_cas_acq_rel(&child.state, &expected, HURRIED); /* order: acq_rel child.state */
    if (was_put_off) {
        syscall(SYS_futex, &child.state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    }
    return was_put_off || expected == HURRIED;
}

/* True as well before the thread has begun to run: then it has no tid yet. */
static bool sleeper_lives(void)
{
    uint32_t tid = sbx_load_relaxed(&child.sleeper_tid); /* relaxed: written before that thread reads the state */
    return tid == 0 || sbx_raw_syscall(SYS_tgkill, child.pid, tid, 0, 0, 0, 0) == 0;
}

/* There is no thread of ours when this returns, except if the thread got no processor for a second. In that case it
 * ends when it gets one, and the child is never recorded because the thread's stack is in use. Returns whether there
 * was a thread. */
static bool call_off(enum state next)
{
    uint32_t expected = PUT_OFF, nobodys_word = 0;
    const struct timespec pause = {0, 100000};
    if (!sbx_cas_acq_rel(&child.state, &expected, ENDING)) { /* order: acq_rel child.state */
        return false;
    }
    syscall(SYS_futex, &child.state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    for (uint32_t waits = 0; waits < 10 * START_WAIT_MS && sleeper_lives(); waits++) {
        syscall(SYS_futex, &nobodys_word, FUTEX_WAIT_PRIVATE, 0, &pause, NULL, 0);
    }
    set_state(sleeper_lives() ? OFF : next);
    return true;
}

/* ---- when ---- */

/* A poll that has no time to wait has no op (message_loop.c). If it finds a descriptor ready, that may be a client's
 * request, so the child's next work matters. */
static bool waits_for_work(uint8_t group, uint8_t op)
{
    return (group == SBX_GROUP_POLL && op != SBX_OP_NONE) || op == SBX_OP_ACCEPT || op == SBX_OP_PAUSE ||
           op == SBX_OP_SIGSUSPEND;
}

static bool is_of_work(uint8_t group)
{
    return (SBX_POINT_BIT(group) & SIGNS_OF_WORK) != 0;
}

/* pthread_create() may allocate, so it is not called in a signal handler, which may have interrupted an allocation. A
 * child that was forked in a handler stays in that handler, as some processes of postgres do. Such a child may create a
 * thread when it has made allocations of its own, but not in one of these, which may be served without the lock, nor
 * in another leaf call. */
static bool may_make_thread(uint64_t now_ns, uint8_t group)
{
    bool may =
        sbx_handler_find_above(child.handler_at) == SBX_HANDLER_NONE && (!is_of_work(group) || child.handler_at == 0);
    if (!may) {
        child.ask_again_ns = now_ns + ASK_AGAIN_NS; /* the check is not cheap */
    }
    return may && (child.handler_at == 0 || sbx_entry_of_nobody.alloc_count != child.allocations);
}

/* The child can neither read nor write the parent's recording. Old pointers into it find zeroes. */
SBX_FORK_CODE static bool shut_out(struct sbx_recording_header *header, size_t bytes)
{
    return sbx_raw_syscall(SYS_mmap, (long)(uintptr_t)header, (long)bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == (long)(uintptr_t)header;
}

/* A child in which no fork handler ran, because of _Fork() or a raw clone(). It may create no thread: a lock that
 * another thread of its parent held at the fork stays locked in the child. When it waits for work it is counted, and
 * its parent's recording is unmapped. The gate, which every kind of fork wipes, distinguishes it from a child of
 * vfork() and from a process that was switched off. */
SBX_HOOK_SAFE static void ask_unfollowed(uint8_t group, uint8_t op, const void *caller)
{
    (void)caller;
    if (sbx_capture_is_ours() || !waits_for_work(group, op) || is_callers()) {
        return;
    }
    const struct sbx_capture_settings *wanted = &sbx_the_capture.control->wanted;
    bool is_wanted =
        sbx_load_relaxed(&sbx_the_agent.is_running) != 0 && wanted->enabled != 0 && wanted->follow_forks != 0;
    sbx_store_relaxed(&sbx_the_capture.late_ask, NULL); /* relaxed: once in each child */
    sbx_store_relaxed(&sbx_the_capture.leave, NULL);
    sbx_thread_become(SBX_THREAD_GONE);
    (void)shut_out(sbx_the_agent.recording.header, sbx_the_agent.recording.bytes);
    if (is_wanted) {
        sbx_attendance_unrecorded_child();
    }
}

/* The thread that forked continues as a thread of the program. */
static void come_back(void)
{
    if (sbx_self == SBX_THREAD_GONE && (uint32_t)sbx_raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0) == child.pid) {
        sbx_thread_become(NULL);
        sbx_store_relaxed(&sbx_entry_of_nobody.countdown, INT64_MAX); /* relaxed: scratch */
        sbx_store_relaxed(&sbx_the_capture.late_ask, ask_unfollowed); /* relaxed: asking twice is harmless */
    }
}

/* Children that call exec or end at once do so before that age. */
static bool has_worked(uint64_t now_ns)
{
    return now_ns - child.forked_ns >= WORKED_NS && sbx_read_clock_ns(CLOCK_PROCESS_CPUTIME_ID) >= WORKED_NS;
}

static bool is_old_enough(uint64_t now_ns)
{
    return now_ns - child.forked_ns >= SBX_OLD_ENOUGH_NS || has_worked(now_ns);
}

/* May the recorder begin in this leaf call? If not, one of the next eight is looked at, chosen by a hash: any regular
 * choice could meet the same place of a loop each time. */
static bool lets_begin(uint8_t group, uint8_t op, const void *caller)
{
    bool lets = sbx_alloc_lets_threads_begin(group, op, caller);
    if (!lets) {
        sbx_entry_of_nobody.countdown = (uint32_t)sbx_entry_of_nobody.alloc_count * UINT32_C(2654435761) >> 29;
    }
    return lets;
}

/* A call of this kind shows that the child will live. Every child allocates, so leaf calls show it by what the child
 * has computed, and not by its age: on a busy machine a child that calls exec at once may be old. */
static bool is_sign(uint8_t group, uint8_t op, uint64_t now_ns)
{
    return waits_for_work(group, op) || (is_of_work(group) ? has_worked(now_ns) : is_old_enough(now_ns));
}

/* When the child is to start: now, or later if its family makes many short-lived children and has used up what it may
 * spend on their starts. A child that waits for connections is not short-lived. */
static uint64_t due_ns(uint64_t now_ns, uint8_t op)
{
    bool serves = op == SBX_OP_ACCEPT || op == SBX_OP_PAUSE || op == SBX_OP_SIGSUSPEND;
    return serves ? now_ns : child.forked_ns + sbx_family_put_off_ns(now_ns, sbx_budget_of(&child.settings));
}

/* A sleeping thread starts the child at that time. Without such a thread, the first sign of life after that time
 * does. */
static void put_off(uint64_t now_ns, uint64_t begin_ns, uint8_t group)
{
    if (sbx_family_lend_sleeper(now_ns) && may_make_thread(now_ns, group)) {
        begin_later(now_ns, begin_ns);
    } else {
        sbx_attendance_put_off_child();
        child.ask_again_ns = begin_ns;
    }
}

/* A thread of the program waits, works with files, loads a module or computes. errno is saved only after the clock is
 * read. Reading the clock does not change errno, and finding the address of errno through libc would touch one page
 * more in each child that only polls once. */
SBX_FORK_CODE SBX_HOOK_SAFE static void ask(uint8_t group, uint8_t op, const void *caller)
{
    uint32_t state = sbx_load_acquire(&child.state); /* order: acquire child.state */
    if ((SBX_POINT_BIT(group) & (SIGNS_OF_LIFE | SIGNS_OF_WORK)) == 0 || state == STARTING || state >= PUT_OFF) {
        return;
    }
    uint64_t now_ns = sbx_now_ns();
    bool is_too_early = state == PENDING && (now_ns < child.ask_again_ns ||
                                             (!waits_for_work(group, op) && now_ns - child.forked_ns < WORKED_NS));
    if (is_too_early || (state == PENDING && is_of_work(group) && !lets_begin(group, op, caller)) ||
        !is_callers()) { /* the usual case, which makes no system call */
        return;
    }
    int saved_errno = errno;
    if (state == DONE) {
        come_back();
    } else if (state == OFF) {
        if (is_sign(group, op, now_ns)) {
            sbx_store_relaxed(&sbx_the_capture.late_ask, NULL); /* relaxed: about once in each child */
            sbx_attendance_unrecorded_child();
        }
    } else if (is_sign(group, op, now_ns)) {
        uint64_t begin_ns = due_ns(now_ns, op);
        if (begin_ns > now_ns) {
            put_off(now_ns, begin_ns, group);
        } else if (may_make_thread(now_ns, group) && begin(now_ns, false)) {
            come_back();
        }
    }
    errno = saved_errno;
}

/* Returns whether no start is under way any more. */
static bool wait_for_start(uint32_t timeout_ms)
{
    for (uint32_t waited_ms = 0;; waited_ms++) {
        uint32_t state = sbx_load_acquire(&child.state); /* order: acquire child.state */
        if (state != STARTING && state != HURRIED && state != ENDING) {
            return true;
        }
        if (waited_ms >= timeout_ms) {
            return false;
        }
        const struct timespec pause = {0, 1000000};
        syscall(SYS_futex, &child.state, FUTEX_WAIT_PRIVATE, state, &pause, NULL, 0);
    }
}

/* Start now, because a later start may be impossible. Returns whether a start is under way. */
static bool begin_at_last(uint64_t now_ns)
{
    (void)wait_for_start(START_WAIT_MS);                        /* a start that was under way may have found no seat */
    return sbx_load_acquire(&child.state) == DONE || hurry() || /* order: acquire child.state */
           begin(now_ns, true);
}

SBX_HOOK_SAFE static void settle(enum sbx_settle what)
{
    uint32_t state = sbx_load_acquire(&child.state); /* order: acquire child.state */
    if (state == OFF || state == DONE || !is_callers()) {
        return;
    }
    int saved_errno = errno;
    uint32_t expected = PENDING;
    if (what == SBX_SETTLE_SANDBOX) {
        (void)wait_for_start(START_WAIT_MS);
        if (sbx_cas_acq_rel(&child.state, &expected, OFF) || call_off(OFF)) { /* order: acq_rel child.state */
            child.is_untouched = NULL;
            sbx_store_relaxed(&sbx_the_capture.late_ask, NULL); /* relaxed: not one more call of ours */
            sbx_store_relaxed(&sbx_the_capture.lets_polls_pass, 0);
        }
    } else if (what == SBX_SETTLE_RIGHTS && (state != PENDING || may_make_thread(sbx_now_ns(), SBX_GROUP_LOADER)) &&
               begin_at_last(sbx_now_ns())) {
        come_back();
    }
    (void)wait_for_start(START_WAIT_MS);
    if (what == SBX_SETTLE_ONE_THREAD) {
        (void)call_off(PENDING);
    }
    errno = saved_errno;
}

int sbx_forked_child_start(void)
{
    uint32_t state = sbx_load_acquire(&child.state); /* order: acquire child.state */
    if (child.forked_ns == 0) {
        return -ESRCH;
    }
    if (state == OFF || !is_callers()) {
        return -ENOTSUP;
    }
    if (state == DONE) {
        return sbx_load_acquire(&sbx_the_agent.is_running) != 0 ? -EALREADY : -ENOTSUP;
    }
    if (!begin_at_last(sbx_now_ns())) {
        return -ENOTSUP;
    }
    come_back();
    return wait_for_start(START_WAIT_MS) && sbx_load_acquire(&sbx_the_agent.is_running) != 0 ? 0 : -ETIMEDOUT;
}

bool sbx_forked_child_is_to_come(void)
{
    uint32_t state = sbx_load_acquire(&child.state); /* order: acquire child.state */
    return (is_still_to_come(state) || state == STARTING) && is_callers();
}

/* A child that was put off ends without a recorder: its thread sleeps until the process ends. */
void sbx_forked_child_settle_at_exit(void)
{
    uint32_t state = sbx_load_acquire(&child.state); /* order: acquire child.state */
    if ((state == STARTING || state >= PUT_OFF) && is_callers()) {
        (void)wait_for_start(EXIT_WAIT_MS);
        state = PUT_OFF;
        (void)sbx_cas_acq_rel(&child.state, &state, OFF); /* order: acq_rel child.state */
    }
}

/* ---- the fork ---- */

/* In the parent, before the fork: what the child needs to know of it. It is written only if it has changed, because a
 * written page costs a fault after each fork. Two threads that fork at once write the same values. */
static void hand_down(void)
{
    const struct sbx_recording_header *header = sbx_the_agent.recording.header;
    const struct sbx_control_page *control = sbx_the_capture.control;
    if (sbx_load_acquire(&sbx_the_agent.is_running) == 0 ||               /* order: acquire agent.is_running */
        sbx_load_acquire(&child.told_by) != child.pid || !is_callers()) { /* order: acquire child.told_by */
        return;
    }
    uint32_t consent = sbx_load_relaxed(&header->consent);        /* relaxed: the child reads consent again */
    uint32_t modules = sbx_load_relaxed(&header->module_count);   /* relaxed: for the recording's size */
    uint32_t generation = sbx_load_acquire(&control->generation); /* order: acquire control.generation */
    if (child.generation == generation && child.modules == modules && child.consent == (enum sbx_consent)consent) {
        return;
    }
    child.generation = generation;
    child.settings = control->wanted;
    child.consent = (enum sbx_consent)consent;
    child.is_consent_required = sbx_the_agent.is_consent_required != 0;
    child.modules = modules;
    memcpy(child.family.parent_session, header->session_id, sizeof child.family.parent_session);
}

/* Does the child know all that it needs? Not if the parent had no recorder, was ending, or was just changing data that
 * would be inherited. */
SBX_FORK_CODE static bool take_over(void)
{
    return sbx_loader_was_left() &&
           sbx_load_acquire(&sbx_the_agent.is_running) != 0 &&     /* order: acquire agent.is_running */
           sbx_load_acquire(&child.told_by) == child.parent_pid && /* order: acquire child.told_by */
           sbx_the_agent.recording.path[0] != 0;                   /* empty: the parent is ending */
}

/* A child that is forked while the recorder starts is never recorded, because it would inherit half-initialized data.
 * Without this wait, a server that begins to wait or to work with files and forks its workers at once would lose all of
 * them when a start takes long. */
static void wait_for_a_start(void)
{
    bool (*is_untouched)(uint32_t) = sbx_load_relaxed(&child.is_untouched);
    uint32_t state = sbx_load_acquire(&child.state); /* order: acquire child.state */
    if ((state != STARTING && (state != OFF || is_untouched == NULL)) || !is_callers()) {
        return;
    }
    int saved_errno = errno;
    uint32_t wait_ms = sbx_fork_is_real_time() ? SBX_FORK_REAL_TIME_WAIT_MS : SBX_FORK_WAIT_MS;
    if (state == STARTING) {
        (void)wait_for_start(wait_ms);
    } else {
        (void)is_untouched(wait_ms);
    }
    errno = saved_errno;
}

/* May run in a signal handler. In a process whose recorder has not started, the first fork founds the family. This fork
 * handler runs before that of the loader's visits, because it was registered later: so it does not delay a start that
 * is visiting modules. */
static void before_fork(void)
{
    wait_for_a_start();
    hand_down();
    if (child.state == OFF && child.is_untouched != NULL && child.is_untouched(0) && !sbx_family_is_of(child.pid)) {
        int saved_errno = errno;
        (void)sbx_family_found(child.unstarted_id, 0); /* 0: this is the program's thread, perhaps below a filter */
        errno = saved_errno;
    }
}

/* A child of a program whose recorder has not begun. */
SBX_FORK_CODE static bool take_over_from_unstarted(void)
{
    return sbx_loader_was_left() && child.is_untouched(0);
}

/* Runs in the child, on its only thread, perhaps in a signal handler: no allocation, no lock, nothing slow. */
SBX_FORK_CODE static void begin_pending(void)
{
    bool may_begin = is_still_to_come(child.state), has_mapping = sbx_the_agent.recording.header != NULL;
    child.parent_pid = child.family.parent_pid = child.pid;
    child.pid = (uint32_t)sbx_raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
    child.forked_ns = sbx_fork_now_ns();
    child.ask_again_ns = 0;
    child.allocations = sbx_entry_of_nobody.alloc_count;
    if (child.handler_at == 0 && sbx_thread_forked_in_a_call()) {
        int saved_errno = errno;
        uint64_t handler_at = sbx_handler_find_above(0);
        child.handler_at = handler_at != SBX_HANDLER_PERHAPS ? handler_at : 0;
        errno = saved_errno;
    }
    if (child.state == OFF && !has_mapping && child.is_untouched != NULL) {
        may_begin = take_over_from_unstarted();
    }
    memcpy(child.family.id, sbx_family_id(), sizeof child.family.id);
    if (!is_still_to_come(child.state) &&
        has_mapping) { /* a child that was pending itself has unmapped its parent's recording already */
        may_begin = child.state != STARTING && take_over();
        may_begin = shut_out(sbx_the_agent.recording.header, sbx_the_agent.recording.bytes) && may_begin;
    }
    may_begin = may_begin && child.settings.enabled != 0 && child.settings.follow_forks != 0 &&
                child.consent != SBX_CONSENT_DENIED &&
                sbx_load_relaxed(&sbx_the_capture.bars_children) == 0; /* relaxed: a child has one thread */
    child.is_untouched = may_begin ? child.is_untouched : NULL;
    sbx_store_relaxed(&child.state, may_begin ? PENDING : OFF); /* relaxed: a child has one thread */
    sbx_entry_of_nobody.countdown = may_begin ? SBX_NOBODYS_STRIDE : INT64_MAX;
    sbx_store_relaxed(&sbx_the_capture.leave, NULL);
    sbx_store_relaxed(&sbx_the_capture.own_threads, 0);
    sbx_the_capture.settle = may_begin ? settle : NULL;
    sbx_store_relaxed(&sbx_the_capture.lets_polls_pass, may_begin);
    sbx_store_relaxed(&sbx_the_capture.late_ask, ask);
}

static void watch_forks(void)
{
    static bool is_at_fork;
    child.pid = (uint32_t)getpid();
    if (!is_at_fork) {
        is_at_fork = sbx_at_fork(before_fork, NULL, begin_pending) == 0; /* without it children are not recorded */
    }
}

void sbx_forked_child_look_out(void)
{
    if (lead()) {
        keep_paths();
        watch_forks();
        sbx_store_relaxed(&sbx_the_capture.late_ask, ask_unfollowed); /* relaxed: a late start asks nothing more */
    }
    child.is_untouched = NULL;
}

void sbx_forked_child_look_out_unstarted(const char *folder, const char *spool, const struct sbx_preload_orders *orders,
                                         bool (*is_untouched)(uint32_t wait_ms))
{
    if (strlen(folder) >= sizeof child_folder || strlen(spool) >= sizeof child_spool) {
        return;
    }
    memcpy(child_folder, folder, strlen(folder) + 1);
    memcpy(child_spool, spool, strlen(spool) + 1);
    child.settings = orders->settings;
    if (getrandom(child.unstarted_id, sizeof child.unstarted_id, GRND_NONBLOCK) != (ssize_t)sizeof child.unstarted_id) {
        return;
    }
    child.is_untouched = is_untouched;
    watch_forks();
}
