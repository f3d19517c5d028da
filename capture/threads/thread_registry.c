/* SPDX-License-Identifier: Apache-2.0 */
/* thread_registry.c - entries and blocks of the threads that record.
 *
 * This is the only place where a hook may do something slow: once in a thread's life. */
#include "thread_registry.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "fork_path.h"
#include "former_seat.h"
#include "left_code.h"
#include "libc_symbols.h"
#include "pages.h"
#include "process_barrier.h"
#include "process_state.h"
#include "raw_syscall.h"
#include "signal_stack.h"
#include "task_list.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_seats.h"
#include "thread_stack.h"
#include "thread_where.h"
#include "waiter_table.h"

static struct sbx_recording_header *the_header;
static struct sbx_thread_entry *the_entries;
static const struct sbx_thread_end *the_end; /* what else is done when a thread ends */
static pthread_key_t exit_key;               /* runs forget_self() when a thread ends */
static bool have_exit_key;                   /* and it may be set for a thread that holds any lock */
static uint32_t open_for_registration;
SBX_OF_ONE_PROCESS(open_for_registration);

/* A registered thread has ended: its block becomes free for another thread. Two may find that out: the scan, and a new
 * thread with the same number. */
static void retire(struct sbx_thread *thread, uint32_t life)
{
    struct sbx_thread_entry *entry = thread->entry;
    if (!sbx_seat_is_left(thread, life)) {
        return;
    }
    sbx_sample_take_back(thread);
    sbx_waiter_leave(thread->index); /* the thread was cancelled in a wait, or ended with one open */
    the_end->completes(thread);
    sbx_ring_was_left(&thread->writer);
    sbx_add_relaxed(&the_header->captures_sync, entry->captures); /* relaxed: statistics */
    entry->died_ns = sbx_now_ns();
    entry->call_kind = SBX_RECORD_NONE;
    entry->message_begin_ns = 0;
    sbx_seat_unnote(thread->tid, thread->index);
    sbx_store_release(&entry->state, SBX_THREAD_DEAD); /* order: release entry.state - the entry may be taken again */
    sbx_seat_is_free(thread->index, true);
}

/* main() was left by pthread_exit(). The kernel lists the thread as long as the process lives. */
static bool first_has_ended;
SBX_OF_ONE_PROCESS(first_has_ended);

/* The calling thread's block, from its TLS or by its number. */
static struct sbx_thread *find_self(void)
{
    struct sbx_thread *thread = sbx_self;
    if (thread == NULL) {
        thread = sbx_seat_of((uint32_t)syscall(SYS_gettid));
    }
    return sbx_thread_is_registered(thread) ? thread : NULL;
}

static void forget_self(void *unused)
{
    struct sbx_thread *thread = find_self();
    (void)unused; /* the block that was the thread's own when it registered */
    if (thread == NULL) {
        uint64_t mask = sbx_raw_block_signals();
        if (sbx_self == NULL && sbx_capture_is_open() && sbx_capture_is_callers()) {
            sbx_seat_forget((uint32_t)sbx_raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0));
        }
        sbx_thread_become(SBX_THREAD_GONE);
        sbx_raw_set_signals(mask);
        return;
    }
    if (thread->tid == the_header->pid) {
        /* relaxed: a late look adopts it, like any thread that is still there */
        sbx_store_relaxed(&first_has_ended, true);
    }
    prctl(PR_GET_NAME, thread->entry->name); /* it registered when it began, and got its name later */
    the_end->begins(thread);
    sbx_thread_become(SBX_THREAD_GONE); /* hooks that run after this, in other destructors, pass through */
    sbx_thread_clock_disarm(&thread->clock);
    if (sbx_capture_is_open() && sbx_thread_give_back_signal_stack(thread) &&
        sbx_load_relaxed(&thread->entry->tid) == thread->tid) {
        sbx_thread_enter(thread);
        retire(thread, thread->generation);
    }
}

/* The block of the thread that registers first. It is mapped before the stacks of our own threads, because the kernel
 * then puts those next to it: one mapping less for each fork to copy (agent/process/own_thread.h). */
static struct sbx_thread *first_block;
SBX_OF_ONE_PROCESS(first_block);

static struct sbx_thread *take_first_block(void)
{
    struct sbx_thread *block = sbx_load_relaxed(&first_block);
    /* order: acq_rel registry.first_block - only one thread takes it */
    return block != NULL && sbx_cas_acq_rel(&first_block, &block, NULL) ? block : NULL;
}

static const struct sbx_thread *forker
    SBX_FORK_DATA; /* in a forked child: the parent's block of the thread that forked */

/* An alternate stack of ours lies in a block of the parent's, and the program does not see it. If the thread runs on it
 * now, it has to stay. */
SBX_FORK_CODE static void drop_signal_stack(void)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    stack_t now;
    if (sbx_raw_sigaltstack(NULL, &now) == 0 && now.ss_sp == forker->signal_stack) {
        (void)sbx_raw_sigaltstack(&none, NULL);
    }
}

SBX_FORK_CODE static void become_inert_in_child(void)
{
    forker = sbx_thread_is_registered(sbx_self) ? sbx_self : NULL;
    if (forker != NULL) {
        drop_signal_stack();
    }
    sbx_former_seat = (struct sbx_former_seat){0}; /* it is about seats of the parent */
    sbx_thread_become(SBX_THREAD_GONE);            /* the recording is the parent's */
    sbx_capture_shut_gate();                       /* fork() is a point itself */
}

/* The key is made when the library is loaded, because a thread registers in its first hook, which may run inside the
 * host's own allocator. glibc keeps the values of the first keys in the thread itself, and allocates for later keys
 * (nptl/pthread_setspecific.c, PTHREAD_KEY_2NDLEVEL_SIZE). musl keeps all values in the thread. If our key is a later
 * one, only the watch thread sees that a thread has ended, within half a second. The constructor runs before the start
 * of a preloaded recorder, in which the first thread registers. */
__attribute__((constructor(102))) static void make_exit_key(void)
{
#ifdef __GLIBC__
    const pthread_key_t in_the_thread = 32;
#else
    const pthread_key_t in_the_thread = UINT_MAX;
#endif
    if (pthread_key_create(&exit_key, forget_self) == 0) {
        have_exit_key = exit_key < in_the_thread;
        if (!have_exit_key) {
            pthread_key_delete(exit_key);
        }
    }
}

SBX_FORK_CODE bool sbx_thread_forked_in_a_call(void)
{
    return forker != NULL && forker->call_depth > 1; /* fork() itself is one of the calls */
}

/* The block of the thread that forked stays mapped, because a handler may have forked in the middle of a hook. */
void sbx_thread_registry_forget_parent(void)
{
    for (uint32_t i = 0; i < SBX_THREADS_MAX; i++) {
        struct sbx_thread *thread = sbx_thread_blocks[i];
        if (thread != NULL && thread != forker) {
            munmap(thread, sizeof *thread);
        }
        if (thread != NULL) { /* no write when it is NULL already, because its page would be copied */
            sbx_thread_blocks[i] = NULL;
        }
    }
}

int sbx_thread_registry_start(struct sbx_recording_header *header, struct sbx_thread_entry *entries,
                              const struct sbx_thread_end *end)
{
    the_end = end;
    the_header = header;
    the_entries = entries;
    sbx_seats_begin(header->threads.count);
    first_block = sbx_pages_map(sizeof *first_block);
    static bool is_at_fork;
    if (!is_at_fork) {
        is_at_fork = true;
        sbx_at_fork(NULL, NULL, become_inert_in_child); /* without this handler only the gate stops the child */
    }
    sbx_store_release(&open_for_registration, 1); /* order: release registry.open - the table above is set */
    return 0;
}

void sbx_thread_registry_stop(void)
{
    sbx_store_release(&open_for_registration, 0); /* order: release registry.open */
}

/* Claim an entry: a fresh one while there are any, else one of a dead thread, in turns. Lock-free: entries are claimed
 * by compare-and-swap on their state. The state is FREE until claim() has filled the entry. If it were LIVE with the
 * last thread's tid, the watch thread would find that thread gone, and retire the entry meanwhile. Returns the index or
 * -1. */
static int claim_entry(void)
{
    for (;;) {
        uint32_t count = sbx_load_acquire(&the_header->thread_count); /* order: acquire header.thread_count */
        if (count < the_header->threads.count && count < sbx_seats_most) {
            uint32_t expected = count;
            if (!sbx_cas_acq_rel(&the_header->thread_count, &expected, count + 1)) {
                continue;
            }
            if (count >= sbx_seats_most / 4 * 3) {
                /* relaxed: a hint; seats may be free again before the next scan */
                sbx_store_relaxed(&sbx_seats_are_scarce, 1);
            }
            return (int)count;
        }
        uint32_t index = sbx_seat_candidate(), expected = SBX_THREAD_DEAD;
        if (index >= count) {
            return -1;
        }
        /* order: acq_rel entry.state - pairs with retire(): its last writes are done */
        bool is_ours = sbx_cas_acq_rel(&the_entries[index].state, &expected, SBX_THREAD_FREE);
        sbx_seat_is_free(index, false);
        if (is_ours) {
            return (int)index;
        }
    }
}

/* Make the block as if unused: all zero. The replay's frames and the fields after them are kept: the cache is still
 * valid, and the rest is scratch. The timer is kept too: the watch thread may be storing one now that it made for the
 * last owner, and the thread that exchanges the word for 0 deletes it. The serial of the newest call continues (K2). */
static void clear_block(struct sbx_thread *thread)
{
    const uint32_t serial = thread->call_serial;
    const size_t timer = offsetof(struct sbx_thread, sample_timer), behind = timer + sizeof thread->sample_timer;
    sbx_ring_was_left(
        &thread->writer); /* a thread that gave its seat back left its chunk open, because it may come back to it */
    sbx_sample_take_back(thread);
    memset(&thread->clock, 0, timer - offsetof(struct sbx_thread, clock));
    memset((char *)thread + behind, 0, offsetof(struct sbx_thread, replay) - behind);
    thread->replay.depth = 0;
    thread->call_serial = serial;
}

/* The number of a life: of a thread of this process, whatever seats it has. Never 0. */
static uint32_t new_life(void)
{
    static uint32_t last;
    uint32_t life = sbx_add_relaxed(&last, 1) + 1; /* relaxed: it only has to be different */
    return life != 0 ? life : sbx_add_relaxed(&last, 1) + 1;
}

/* Continue from what the thread counted on its former seats. */
static void carry_counts(struct sbx_thread_entry *entry, const struct sbx_former_seat *former)
{
    entry->alloc_count = former->alloc_count;
    entry->alloc_bytes = former->alloc_bytes;
    entry->free_count = former->free_count;
    entry->map_count = former->map_count;
    entry->map_bytes = former->map_bytes;
}

/* Claim an entry and a block for thread `tid`. `former` is what is kept of its former seat; NULL: it had none. Returns
 * NULL when no seat is left (counted). */
static struct sbx_thread *claim(uint32_t tid, const struct sbx_former_seat *former)
{
    uint32_t generation = former != NULL && former->life != 0 ? former->life : new_life();
    int index = claim_entry();
    if (index < 0) {
        sbx_count_drop(SBX_DROP_NO_THREAD);
        return NULL;
    }
    struct sbx_thread_entry *entry = &the_entries[index];
    struct sbx_thread *thread = sbx_thread_blocks[index];
    if (thread == NULL) {
        thread = take_first_block();
        thread = thread != NULL ? thread : sbx_pages_map(sizeof *thread);
        if (thread == NULL) {
            sbx_store_release(&the_entries[index].state, SBX_THREAD_DEAD); /* order: release entry.state */
            sbx_seat_is_free((uint32_t)index, true);
            sbx_count_drop(SBX_DROP_NO_THREAD);
            return NULL;
        }
        thread->entry = entry;
        thread->index = (uint32_t)index;
    } else {
        clear_block(thread);
    }
    /* order: release entry.generation - with the fence nobody sees the fields below under the old generation */
    sbx_store_relaxed(&entry->tid, 0);
    sbx_store_relaxed(&entry->generation, generation);
    sbx_fence_seq_cst();
    memset((char *)entry + offsetof(struct sbx_thread_entry, flags), 0,
           sizeof *entry - offsetof(struct sbx_thread_entry, flags));
    sbx_store_relaxed(&entry->born_ns, sbx_now_ns()); /* relaxed: a snapshot compares it, see C.2 */
    if (former != NULL) {
        carry_counts(entry, former);
    }
    if (tid == the_header->pid) {
        entry->flags = SBX_THREAD_FLAG_MAIN;
        the_header->main_thread = (uint32_t)index;
        thread->has_loop = true;
    }
    thread->generation = generation;
    thread->tid = tid;
    sbx_seat_is_taken(thread, generation);
    sbx_store_release(&entry->tid, tid); /* order: release entry.tid - the entry describes this thread now */
    sbx_store_release(&sbx_thread_blocks[index], thread); /* order: release block - the block is whole */
    sbx_store_release(&entry->state,
                      SBX_THREAD_LIVE); /* order: release entry.state - entry and block are this thread's */
    sbx_seat_note(tid, (uint32_t)index);
    return thread;
}

/* The thread has its block from now on, and may be asked for samples. `mask` is its own signal mask. */
static void may_be_asked_again(struct sbx_thread *thread, uint64_t mask)
{
    sbx_store_relaxed(&thread->blocked_signals, mask); /* relaxed: before may_be_asked */
    sbx_thread_take_signal_stack(thread);
    sbx_order_with_handler();
    sbx_thread_become(thread);
}

/* The calling thread takes a seat: one that it has already, or any free one. Signals are blocked. */
static void sit_down(uint64_t mask)
{
    sbx_thread_become(SBX_THREAD_GONE); /* the calls below may pass our hooks */
    uint32_t tid = (uint32_t)sbx_raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
    struct sbx_thread *thread = sbx_seat_of(tid); /* the watch thread has adopted this thread before */
    uint32_t life =
        thread != NULL ? sbx_load_acquire(&thread->entry->generation) : 0; /* order: acquire entry.generation */
    if (thread != NULL && thread->handle != 0 && thread->handle != (uint64_t)pthread_self()) {
        /* The seat is of an earlier thread with the same number. Nobody saw that thread end, unless the scan sees it
         * just now. */
        if (sbx_thread_block_of(thread->index, tid) == thread) {
            retire(thread, life);
        }
        thread = NULL;
    }
    if (thread == NULL) {
        thread = sbx_seat_resume(tid);
        if (thread != NULL) {
            may_be_asked_again(thread, mask);
            return;
        }
        thread = claim(tid, &sbx_former_seat);
    }
    if (thread == NULL) {
        sbx_thread_become(NULL);
        sbx_own_entry = sbx_seatless_entry(tid);
        return;
    }
    prctl(PR_GET_NAME, thread->entry->name);
    sbx_store_relaxed(&thread->handle, (uint64_t)pthread_self()); /* relaxed: sbx_thread_at() tells whether it lives */
    if (have_exit_key) {
        pthread_setspecific(exit_key, thread);
    }
    sbx_thread_find_stack(
        thread); /* always: an adopted entry may be of an earlier thread that had the same number as this one */
    sbx_former_resume_tasks(thread);
    sbx_former_seat.life = thread->generation;
    may_be_asked_again(thread, mask);
}

SBX_HOOK_SAFE struct sbx_thread *sbx_thread_register_self(void)
{
    if (sbx_load_acquire(&open_for_registration) == 0 || !sbx_capture_is_open()) { /* order: acquire registry.open */
        return NULL;
    }
    bool has_had_one = sbx_former_seat.life != 0;
    if ((has_had_one || sbx_is_seatless(sbx_own_entry)) && !sbx_seat_may_be_taken()) {
        if (has_had_one) { /* wait a while before the next check; it does not matter which scratch entry is used */
            sbx_own_entry = sbx_seatless_entry((uint32_t)((uintptr_t)&sbx_former_seat >> 12));
        }
        return NULL;
    }
    int saved_errno = errno;
    if (!sbx_capture_is_callers()) {
        /* A child of vfork(), on its parent's TLS: it would put the parent into a seat of a thread that is known as
         * dead. */
        return NULL;
    }
    uint64_t mask = sbx_raw_block_signals(); /* no handler runs in between, and no jump leaves this half done */
    if (sbx_self == NULL) {
        sit_down(mask);
    }
    struct sbx_thread *thread = sbx_self;
    sbx_raw_set_signals(mask);
    errno = saved_errno;
    return sbx_thread_is_registered(thread) ? thread : NULL;
}

struct sbx_thread *sbx_thread_main(void)
{
    uint32_t index = the_header->main_thread;
    return index < SBX_THREADS_MAX ? sbx_thread_at(index) : NULL;
}

/* Does the thread sleep further out than the frame of our code that `inside` names? Then a jump has left that frame
 * (left_code.h). */
static bool is_seen_outside(const struct sbx_thread *thread, uint64_t inside)
{
    struct sbx_where where;
    return inside >= SBX_INSIDE_PLACE && sbx_where_read(thread->tid, &where) && where.is_blocked &&
           sbx_inside_is_stale(thread, inside, where.sp);
}

bool sbx_thread_registry_is_quiet(void)
{
    uint32_t count = sbx_thread_count();
    if (sbx_load_acquire(&sbx_watch_inside) != 0) { /* order: acquire inside */
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct sbx_thread *thread = sbx_thread_at(i);
        uint64_t inside = thread != NULL ? sbx_load_acquire(&thread->inside) : 0; /* order: acquire inside */
        if (inside != 0 && !is_seen_outside(thread, inside)) {
            return false;
        }
    }
    return true;
}

struct sbx_scan_counts sbx_scan_counts;

/* Read the kernel's name of a thread. False: it has none. */
static bool read_name(uint32_t tid, char name[16])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    ssize_t got = read(file, name, 16);
    close(file);
    sbx_scan_counts.names++;
    if (got <= 1) {
        return false;
    }
    name[got - 1] = 0; /* the line end */
    return true;
}

/* Threads set their names after they begin, so the name is read again and again. Meanwhile another thread may get the
 * seat, and then a third one, and it must not keep this name. So this repeats until the name belongs to the thread that
 * has the seat, or had it last, also if that thread gave it back. */
static void refresh_name(struct sbx_thread *thread)
{
    const int most = 8;
    struct sbx_thread_entry *entry = thread->entry;
    for (int tries = 0; tries < most; tries++) {
        char name[16] = "";
        uint32_t life = sbx_load_acquire(&entry->generation); /* order: acquire entry.generation */
        uint32_t tid = sbx_load_acquire(&entry->tid);         /* order: acquire entry.tid */
        bool is_named = tid != 0 && read_name(tid, name);
        if (tries == 0 && (!is_named || sbx_thread_block_of(thread->index, tid) != thread)) {
            return;
        }
        memcpy(entry->name, name, sizeof name);
        sbx_fence_seq_cst();
        if (sbx_load_relaxed(&entry->generation) == life && sbx_load_relaxed(&entry->tid) == tid) {
            return;
        }
    }
    entry->name[0] = 0; /* no name is better than a wrong one */
}

enum {
    MANY = 256,     /* with this many threads, not all names are read at once (5 us each) */
    NAME_TURNS = 8, /* the name of each thread that is not young is read once in this many scans */
};
static bool are_many; /* at the last scan */

/* A thread usually sets its name when it begins. */
static bool is_young(const struct sbx_thread *thread, uint64_t now_ns)
{
    const uint64_t young_ns = 2 * UINT64_C(1000000000);
    return now_ns - thread->entry->born_ns < young_ns;
}

void sbx_thread_registry_refresh_names(uint64_t now_ns)
{
    for (uint32_t i = 0, count = sbx_thread_count(); i < count; i++) {
        struct sbx_thread *thread = sbx_thread_at(i);
        if (thread != NULL && (!are_many || is_young(thread, now_ns))) {
            refresh_name(thread);
        }
    }
}

/* Threads met once in a list without a block. They are adopted when they are met again, because a thread usually
 * registers itself in its first hook within microseconds, and must not get two blocks. */
static uint32_t strangers[64];
SBX_OF_ONE_PROCESS(strangers);

static void meet(uint32_t tid)
{
    uint32_t *seat = &strangers[tid % SBX_COUNT_OF(strangers)];
    if (sbx_seat_of(tid) != NULL) {
        return;
    }
    if (*seat != tid) {
        *seat = tid;
        return;
    }
    /* A thread that passes no hook would keep its seat for ever. When seats are scarce, they are for threads that ask
     * for one. */
    struct sbx_thread *thread = sbx_load_relaxed(&sbx_seats_are_scarce) == 0 ? claim(tid, NULL) : NULL;
    if (thread != NULL) {
        refresh_name(thread);
    }
}

/* Retire the dead: threads that ended without their destructor (raw clone, cancelled early), and that the kernel does
 * not know any more. Returns how many threads with a seat are alive. */
static uint32_t retire_the_dead(void)
{
    uint32_t count = sbx_thread_count(), alive = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct sbx_thread *thread = sbx_thread_at(i);
        if (thread == NULL) {
            if (sbx_load_relaxed(&the_entries[i].state) == SBX_THREAD_DEAD) { /* relaxed: claiming it checks again */
                sbx_seat_is_free(i, true); /* once more, in case its last owner was stopped in between */
            }
            continue;
        }
        uint32_t tid = thread->tid, generation = sbx_load_acquire(&thread->entry->generation);
        if (syscall(SYS_tgkill, (long)the_header->pid, (long)tid, 0) == 0 || errno != ESRCH) {
            alive++;
            continue;
        }
        /* The thread may have retired itself meanwhile, and its entry may be another's. After this check it cannot,
         * because it is gone. */
        if (sbx_thread_at(i) == thread && thread->tid == tid &&
            sbx_load_acquire(&thread->entry->generation) == generation) { /* order: acquire entry.generation */
            retire(thread, generation);
        }
    }
    return alive;
}

/* The number of threads of this process in the kernel: each is a folder in its list. 0: not known. */
static uint64_t threads_of_kernel(void)
{
    const uint64_t dots = 2; /* "." and ".." */
    struct stat list;
    return stat("/proc/self/task", &list) == 0 && (uint64_t)list.st_nlink > dots ? (uint64_t)list.st_nlink - dots : 0;
}

static void read_list(uint32_t own_tid_1, uint32_t own_tid_2)
{
    static uint8_t listing[16384] __attribute__((aligned(8))); /* used by the watch thread only */
    int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return;
    }
    long got;
    while ((got = syscall(SYS_getdents64, folder, listing, sizeof listing)) > 0) {
        for (long at = 0; at < got;) {
            uint32_t tid = sbx_task_list_next(listing, &at);
            bool is_gone = tid == the_header->pid && sbx_load_relaxed(&first_has_ended);
            if (tid != 0 && tid != own_tid_1 && tid != own_tid_2 && !is_gone) {
                meet(tid);
            }
        }
    }
    close(folder);
    sbx_scan_counts.lists++;
}

void sbx_thread_registry_scan(uint32_t own_tid_1, uint32_t own_tid_2)
{
    uint64_t now_ns = sbx_now_ns();
    uint32_t alive = retire_the_dead(), turn = sbx_scan_counts.scans++ % NAME_TURNS;
    bool is_scarce = alive >= sbx_seats_most / 4 * 3;
    sbx_store_relaxed(&sbx_seats_are_scarce, is_scarce); /* relaxed: a hint */
    are_many = alive >= MANY;
    for (uint32_t i = 0, count = sbx_thread_count(); i < count; i++) {
        struct sbx_thread *thread = sbx_thread_at(i);
        if (thread != NULL && (i % NAME_TURNS == turn || (!are_many && is_young(thread, now_ns)))) {
            refresh_name(thread);
        }
    }
    /* When the kernel counts just the threads that have seats, and ours, its list has no new thread. */
    bool first_is_listed = sbx_load_relaxed(&first_has_ended) && sbx_seat_of(the_header->pid) == NULL;
    uint64_t known = (uint64_t)alive + (own_tid_1 != 0) + (own_tid_2 != 0) + first_is_listed;
    if (!is_scarce && threads_of_kernel() != known) { /* when seats are scarce, no listed thread gets one: meet() */
        read_list(own_tid_1, own_tid_2);
    }
}
