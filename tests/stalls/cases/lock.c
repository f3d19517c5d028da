/* SPDX-License-Identifier: Apache-2.0 */
/* lock.c - another thread has the lock, and is busy with various things. */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stall.h"

#define LASTS_NS (stall_ms * INT64_C(1000000))

static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER, second_lock = PTHREAD_MUTEX_INITIALIZER,
                       third_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin_lock;
static atomic_int holders; /* how many hold what they are to hold */

static void await_holders(int count)
{
    while (atomic_load(&holders) < count) {
        stall_pause_ms(2);
    }
}

static void tell_held(void)
{
    atomic_fetch_add(&holders, 1);
}

/* ---- what holders do ---- */

static STALL_FUNCTION void compact_store(void)
{
    const struct timespec pause = {1, 500000000};
    nanosleep(&pause, NULL);
    STALL_STAY();
}

static STALL_FUNCTION void rebuild_index(void)
{
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        for (int i = 0; i < 5000; i++) {
            stall_sink += (uint64_t)i * 3;
        }
    }
}

static STALL_FUNCTION void flush_table(void)
{
    static char block[128 * 1024];
    char path[300];
    snprintf(path, sizeof path, "%s/table", stall_folder());
    int file = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        if (pwrite(file, block, sizeof block, 0) < 0) {
            abort();
        }
        fsync(file);
    }
    close(file);
}

/* ---- a mutex ---- */

static void *hold_and_sleep(void *unused)
{
    pthread_mutex_lock(&store_lock);
    tell_held();
    compact_store();
    pthread_mutex_unlock(&store_lock);
    return unused;
}

static STALL_FUNCTION void read_store(int n)
{
    stall_thread("compactor", hold_and_sleep, NULL, NULL);
    await_holders(1);
    pthread_mutex_lock(&store_lock);
    stall_sink += (uint64_t)n;
    pthread_mutex_unlock(&store_lock);
}

static void *hold_and_compute(void *unused)
{
    pthread_mutex_lock(&store_lock);
    tell_held();
    rebuild_index();
    pthread_mutex_unlock(&store_lock);
    return unused;
}

static STALL_FUNCTION void query_index(int n)
{
    stall_thread("indexer", hold_and_compute, NULL, NULL);
    await_holders(1);
    pthread_mutex_lock(&store_lock);
    stall_sink += (uint64_t)n;
    pthread_mutex_unlock(&store_lock);
}

/* ---- the same through a function of the application that everything locks with ---- */

static STALL_FUNCTION void enter_store(void)
{
    pthread_mutex_lock(&store_lock);
    STALL_STAY();
}

static STALL_FUNCTION void query_through_wrapper(int n)
{
    stall_thread("indexer", hold_and_compute, NULL, NULL);
    await_holders(1);
    enter_store();
    stall_sink += (uint64_t)n;
    pthread_mutex_unlock(&store_lock);
}

/* ---- with a time-out ---- */

static void *hold_and_flush(void *unused)
{
    pthread_mutex_lock(&store_lock);
    tell_held();
    flush_table();
    pthread_mutex_unlock(&store_lock);
    return unused;
}

static STALL_FUNCTION void update_store(int n)
{
    struct timespec until;
    stall_thread("flusher", hold_and_flush, NULL, NULL);
    await_holders(1);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    if (pthread_mutex_timedlock(&store_lock, &until) == 0) {
        stall_sink += (uint64_t)n;
        pthread_mutex_unlock(&store_lock);
    }
}

/* ---- a recursive one ---- */

static pthread_mutex_t document_lock;

static void prepare_recursive(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&document_lock, &attributes);
}

static void *hold_recursive(void *unused)
{
    pthread_mutex_lock(&document_lock);
    pthread_mutex_lock(&document_lock);
    tell_held();
    rebuild_index();
    pthread_mutex_unlock(&document_lock);
    pthread_mutex_unlock(&document_lock);
    return unused;
}

static STALL_FUNCTION void paint_document(int n)
{
    stall_thread("spellcheck", hold_recursive, NULL, NULL);
    await_holders(1);
    pthread_mutex_lock(&document_lock);
    stall_sink += (uint64_t)n;
    pthread_mutex_unlock(&document_lock);
}

/* ---- many short holds by a thread that hardly lets go ---- */

static atomic_int convoy_over;

static STALL_FUNCTION void append_log(void)
{
    pthread_mutex_lock(&store_lock);
    for (int64_t until_ns = stall_now_ns() + 30000000; stall_now_ns() < until_ns;) {
        for (int i = 0; i < 2000; i++) {
            stall_sink += (uint64_t)i * 3;
        }
    }
    pthread_mutex_unlock(&store_lock);
}

static void *log_all_the_time(void *unused)
{
    while (atomic_load(&convoy_over) == 0) {
        append_log();
    }
    return unused;
}

static STALL_FUNCTION void log_one_line(void)
{
    pthread_mutex_lock(&store_lock);
    stall_sink += 1;
    pthread_mutex_unlock(&store_lock);
}

static STALL_FUNCTION void log_summary(int n)
{
    stall_thread("logger", log_all_the_time, NULL, NULL);
    stall_pause_ms(20);
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        log_one_line();
    }
    atomic_store(&convoy_over, n);
}

/* ---- read-write locks ---- */

static void *write_and_flush(void *unused)
{
    pthread_rwlock_wrlock(&table_lock);
    tell_held();
    flush_table();
    pthread_rwlock_unlock(&table_lock);
    return unused;
}

static STALL_FUNCTION void look_up_row(int n)
{
    stall_thread("checkpoint", write_and_flush, NULL, NULL);
    await_holders(1);
    pthread_rwlock_rdlock(&table_lock);
    stall_sink += (uint64_t)n;
    pthread_rwlock_unlock(&table_lock);
}

static void *read_and_compute(void *unused)
{
    pthread_rwlock_rdlock(&table_lock);
    tell_held();
    rebuild_index();
    pthread_rwlock_unlock(&table_lock);
    return unused;
}

static STALL_FUNCTION void insert_row(int n)
{
    stall_thread("scanner", read_and_compute, NULL, NULL);
    await_holders(1);
    pthread_rwlock_wrlock(&table_lock);
    stall_sink += (uint64_t)n;
    pthread_rwlock_unlock(&table_lock);
}

/* ---- a spin lock whose holder sleeps ---- */

static void *hold_spin(void *unused)
{
    pthread_spin_lock(&spin_lock);
    tell_held();
    compact_store();
    pthread_spin_unlock(&spin_lock);
    return unused;
}

static void prepare_spin(void)
{
    pthread_spin_init(&spin_lock, PTHREAD_PROCESS_PRIVATE);
}

static STALL_FUNCTION void take_ticket(int n)
{
    stall_thread("compactor", hold_spin, NULL, NULL);
    await_holders(1);
    pthread_spin_lock(&spin_lock);
    stall_sink += (uint64_t)n;
    pthread_spin_unlock(&spin_lock);
}

/* ---- a lock of the program's own making (Drepper, Futexes Are Tricky, mutex 2) ---- */

static atomic_uint own_lock;

static void own_lock_take(void)
{
    unsigned seen = 0;
    if (atomic_compare_exchange_strong(&own_lock, &seen, 1)) {
        return;
    }
    while (atomic_exchange(&own_lock, 2) != 0) {
        syscall(SYS_futex, &own_lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    }
}

static void own_lock_give(void)
{
    if (atomic_exchange(&own_lock, 0) == 2) {
        syscall(SYS_futex, &own_lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

static void *hold_own(void *unused)
{
    own_lock_take();
    tell_held();
    rebuild_index();
    own_lock_give();
    return unused;
}

static STALL_FUNCTION void own_mutex_lock(void)
{
    own_lock_take();
    STALL_STAY();
}

static STALL_FUNCTION void borrow_buffer(int n)
{
    stall_thread("encoder", hold_own, NULL, NULL);
    await_holders(1);
    own_mutex_lock();
    stall_sink += (uint64_t)n;
    own_lock_give();
}

/* ---- chains ---- */

static STALL_FUNCTION void merge_second(void)
{
    pthread_mutex_lock(&second_lock);
    stall_sink++;
    pthread_mutex_unlock(&second_lock);
}

static void *hold_first_want_second(void *unused)
{
    pthread_mutex_lock(&store_lock);
    tell_held();
    merge_second();
    pthread_mutex_unlock(&store_lock);
    return unused;
}

static void *hold_second_and_sleep(void *unused)
{
    pthread_mutex_lock(&second_lock);
    tell_held();
    compact_store();
    pthread_mutex_unlock(&second_lock);
    return unused;
}

static void *hold_second_and_flush(void *unused)
{
    pthread_mutex_lock(&second_lock);
    tell_held();
    flush_table();
    pthread_mutex_unlock(&second_lock);
    return unused;
}

static STALL_FUNCTION void open_session(int n)
{
    stall_thread("compactor", hold_second_and_sleep, NULL, NULL);
    await_holders(1);
    stall_thread("merger", hold_first_want_second, NULL, NULL);
    await_holders(2);
    pthread_mutex_lock(&store_lock);
    stall_sink += (uint64_t)n;
    pthread_mutex_unlock(&store_lock);
}

static STALL_FUNCTION void open_archive(int n)
{
    stall_thread("flusher", hold_second_and_flush, NULL, NULL);
    await_holders(1);
    stall_thread("merger", hold_first_want_second, NULL, NULL);
    await_holders(2);
    pthread_mutex_lock(&store_lock);
    stall_sink += (uint64_t)n;
    pthread_mutex_unlock(&store_lock);
}

/* ---- cycles ---- */

static STALL_FUNCTION void *transfer_back(void *unused)
{
    pthread_mutex_lock(&second_lock);
    stall_pause_ms(60);
    pthread_mutex_lock(&store_lock);
    return unused;
}

static STALL_FUNCTION void transfer_forth(int n)
{
    stall_end_after_ms(2500);
    stall_thread("transfer", transfer_back, NULL, NULL);
    pthread_mutex_lock(&store_lock);
    stall_pause_ms(60);
    pthread_mutex_lock(&second_lock);
    stall_sink += (uint64_t)n;
}

static STALL_FUNCTION void *pass_to_third(void *unused)
{
    pthread_mutex_lock(&second_lock);
    stall_pause_ms(60);
    pthread_mutex_lock(&third_lock);
    return unused;
}

static STALL_FUNCTION void *pass_to_first(void *unused)
{
    pthread_mutex_lock(&third_lock);
    stall_pause_ms(60);
    pthread_mutex_lock(&store_lock);
    return unused;
}

static STALL_FUNCTION void pass_to_second(int n)
{
    stall_end_after_ms(2500);
    stall_thread("pass-third", pass_to_third, NULL, NULL);
    stall_thread("pass-first", pass_to_first, NULL, NULL);
    pthread_mutex_lock(&store_lock);
    stall_pause_ms(60);
    pthread_mutex_lock(&second_lock);
    stall_sink += (uint64_t)n;
}

/* ---- locks of files, held by another process ---- */

static int hold_file(bool by_flock)
{
    char path[300];
    int told[2];
    char ready;
    snprintf(path, sizeof path, "%s/lockfile", stall_folder());
    if (pipe(told) != 0) {
        abort();
    }
    if (fork() == 0) {
        int file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        if (by_flock ? flock(file, LOCK_EX) != 0 : fcntl(file, F_SETLK, &whole) != 0) {
            _exit(1);
        }
        if (write(told[1], "x", 1) != 1) {
            _exit(1);
        }
        stall_pause_ms(stall_ms);
        _exit(0);
    }
    if (read(told[0], &ready, 1) != 1) {
        abort();
    }
    return open(path, O_RDWR | O_CLOEXEC);
}

static int held_file;

static void prepare_nothing_but_zombies(void)
{
    held_file = -1;
}

static STALL_FUNCTION void claim_mailbox(int n)
{
    held_file = hold_file(true);
    flock(held_file, LOCK_EX);
    stall_sink += (uint64_t)n;
}

static STALL_FUNCTION void claim_database(int n)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    held_file = hold_file(false);
    fcntl(held_file, F_SETLKW, &whole);
    stall_sink += (uint64_t)n;
}

const struct stall stalls_lock[] = {
    {.name = "lock_holder_sleeps", .message = read_store},
    {.name = "lock_holder_computes", .message = query_index},
    {.name = "lock_wrapper", .message = query_through_wrapper},
    {.name = "lock_timed", .message = update_store},
    {.name = "lock_recursive", .prepare = prepare_recursive, .message = paint_document},
    {.name = "lock_convoy", .message = log_summary},
    {.name = "lock_rwlock_reader", .message = look_up_row},
    {.name = "lock_rwlock_writer", .message = insert_row},
    {.name = "lock_spin", .prepare = prepare_spin, .message = take_ticket},
    {.name = "lock_own_futex", .message = borrow_buffer},
    {.name = "lock_chain_sleep", .message = open_session},
    {.name = "lock_chain_io", .message = open_archive},
    {.name = "deadlock_two", .message = transfer_forth},
    {.name = "deadlock_three", .message = pass_to_second},
    {.name = "flock_process", .prepare = prepare_nothing_but_zombies, .message = claim_mailbox},
    {.name = "fcntl_process", .prepare = prepare_nothing_but_zombies, .message = claim_database},
    {.name = NULL},
};
