/* SPDX-License-Identifier: Apache-2.0 */
/* held_host.c - two workers of one program, one of which keeps the other waiting.
 *
 *   held_host KIND FOLDER [SECONDS]
 *
 * KIND: mutex (process-shared), rwlock (held for writing), readers (held for reading), posix (a semaphore used as a
 * lock), posted (a semaphore that the keeper posts), condition, flock, fcntl, ofd (a lock of an open file), pipe,
 * socket (a socket pair), semaphore (System V), circle (two mutexes: each worker has one and wants the other; both
 * workers are killed after seven seconds).
 * mutex_asleep, flock_asleep: the keeper has no loop, so it has no open message. It digs for 0.3 s and sleeps in
 * keeper_dozes() for the rest.
 * flock_stopped: its process is also stopped meanwhile.
 * The main process forks "keeper" and "waiter" and waits for both. Each first polls for a second and a half, as a
 * server does, so that it is recorded by then, also on a busy machine. The keeper then holds the object of the kind for
 * SECONDS (2) in keeper_digs(); the waiter wants it in waiter_asks(). */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DIGS_S 0.3

static char kind[32];
static bool dozes, is_stopped; /* of the keeper */
static char path[512];
static double seconds = 2;
static int ends[2], semaphores;
static struct {
    pthread_mutex_t first, second;
    pthread_rwlock_t rwlock;
    pthread_cond_t condition;
    sem_t lock, items;
    int is_done, is_dozing;
} * shared;

/* Compute for that long. It reads the clock itself: on a busy machine the reported sample may be the one at that
 * call. */
__attribute__((noinline)) static void keeper_digs(void)
{
    volatile unsigned sum = 0;
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (unsigned i = 0; i < 5000000;
             i++) { /* enough work that few of its samples are taken where it reads the clock */
            sum += i;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 < seconds);
}

__attribute__((noinline)) static void keeper_dozes(void)
{
    struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    __atomic_store_n(&shared->is_dozing, 1, __ATOMIC_RELEASE);
    while (nanosleep(&left, &left) != 0) {
    }
    __asm__ volatile(""); /* no tail call, because the test looks for its frame */
}

static void change_semaphore(short by)
{
    struct sembuf change = {.sem_num = 0, .sem_op = by};
    if (semop(semaphores, &change, 1) != 0) {
        perror("semop");
    }
}

static struct flock whole_file(short type)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET};
}

__attribute__((noinline)) static void waiter_asks(void)
{
    char letter;
    int file = open(path, O_RDWR);
    struct flock lock = whole_file(F_WRLCK);
    if (strcmp(kind, "mutex") == 0) {
        pthread_mutex_lock(&shared->first);
        pthread_mutex_unlock(&shared->first);
    } else if (strcmp(kind, "rwlock") == 0) {
        pthread_rwlock_rdlock(&shared->rwlock);
    } else if (strcmp(kind, "readers") == 0) {
        pthread_rwlock_wrlock(&shared->rwlock);
    } else if (strcmp(kind, "posix") == 0) {
        sem_wait(&shared->lock);
    } else if (strcmp(kind, "posted") == 0) {
        sem_wait(&shared->items);
    } else if (strcmp(kind, "condition") == 0) {
        pthread_mutex_lock(&shared->first);
        while (!shared->is_done) {
            pthread_cond_wait(&shared->condition, &shared->first);
        }
        pthread_mutex_unlock(&shared->first);
    } else if (strcmp(kind, "ofd") == 0) {
        fcntl(file, F_OFD_SETLKW, &lock);
    } else if (strcmp(kind, "flock") == 0) {
        flock(file, LOCK_EX);
    } else if (strcmp(kind, "fcntl") == 0) {
        fcntl(file, F_SETLKW, &lock);
    } else if (strcmp(kind, "semaphore") == 0) {
        change_semaphore(-1);
    } else if (strcmp(kind, "circle") == 0) {
        pthread_mutex_lock(&shared->second);
        poll(NULL, 0, 0);
        pthread_mutex_lock(&shared->first);
    } else if (read(ends[0], &letter, 1) != 1) {
        perror("read");
    }
    close(file);
}

static void keep(void)
{
    double all = seconds;
    seconds = dozes ? DIGS_S : all;
    keeper_digs();
    seconds = all - seconds;
    if (dozes) {
        keeper_dozes();
    }
}

__attribute__((noinline)) static void keeper_keeps(void)
{
    int file = open(path, O_RDWR);
    struct flock lock = whole_file(F_WRLCK), unlock = whole_file(F_UNLCK);
    if (strcmp(kind, "mutex") == 0) {
        pthread_mutex_lock(&shared->first);
        keep();
        pthread_mutex_unlock(&shared->first);
    } else if (strcmp(kind, "rwlock") == 0 || strcmp(kind, "readers") == 0) {
        (void)(kind[1] == 'w' ? pthread_rwlock_wrlock(&shared->rwlock) : pthread_rwlock_rdlock(&shared->rwlock));
        keeper_digs();
        pthread_rwlock_unlock(&shared->rwlock);
    } else if (strcmp(kind, "posix") == 0) {
        sem_wait(&shared->lock);
        keeper_digs();
        sem_post(&shared->lock);
    } else if (strcmp(kind, "posted") == 0) {
        keeper_digs();
        sem_post(&shared->items);
    } else if (strcmp(kind, "condition") == 0) {
        keeper_digs();
        pthread_mutex_lock(&shared->first);
        shared->is_done = 1;
        pthread_mutex_unlock(&shared->first);
        pthread_cond_signal(&shared->condition);
    } else if (strcmp(kind, "ofd") == 0) {
        fcntl(file, F_OFD_SETLKW, &lock);
        keeper_digs();
        fcntl(file, F_OFD_SETLK, &unlock);
    } else if (strcmp(kind, "flock") == 0) {
        flock(file, LOCK_EX);
        keep();
        flock(file, LOCK_UN);
    } else if (strcmp(kind, "fcntl") == 0) {
        fcntl(file, F_SETLKW, &lock);
        keeper_digs();
        fcntl(file, F_SETLK, &unlock);
    } else if (strcmp(kind, "semaphore") == 0) {
        change_semaphore(-1);
        keeper_digs();
        change_semaphore(1);
    } else if (strcmp(kind, "circle") == 0) {
        pthread_mutex_lock(&shared->first);
        seconds = 0.3;
        keeper_digs();
        pthread_mutex_lock(&shared->second);
    } else {
        keeper_digs();
        if (write(ends[1], "x", 1) != 1) {
            perror("write");
        }
    }
    close(file);
}

/* A server's loop: that many turns without work, then one with work, then some more. */
static void serve(void (*work)(void), int turns)
{
    for (int turn = 0; turn < turns + 10; turn++) {
        poll(NULL, 0, 50);
        if (turn == turns) {
            work();
        }
    }
}

/* The same time without a loop, so that no message is open during the work. */
static void nap(int turns)
{
    for (int turn = 0; turn < turns; turn++) {
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
}

/* Stop the keeper once it dozes, until the waiter has reported its stall. */
static void stop_for_a_while(pid_t keeper)
{
    for (int turn = 0; turn < 4000 && !__atomic_load_n(&shared->is_dozing, __ATOMIC_ACQUIRE); turn++) {
        poll(NULL, 0, 5);
    }
    poll(NULL, 0, 150); /* it is asleep by then */
    kill(keeper, SIGSTOP);
    poll(NULL, 0, (int)(seconds * 1000));
    kill(keeper, SIGCONT);
}

static void take_kind(const char *word)
{
    const char *end = strchr(word, '_');
    dozes = end != NULL;
    is_stopped = dozes && strcmp(end, "_stopped") == 0;
    snprintf(kind, sizeof kind, "%.*s", (int)(dozes ? end - word : (long)strlen(word)), word);
}

static void make_shared(void)
{
    pthread_mutexattr_t between;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&between);
    pthread_mutexattr_setpshared(&between, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->first, &between);
    pthread_mutex_init(&shared->second, &between);
    pthread_rwlockattr_t rwlock_between;
    pthread_rwlockattr_init(&rwlock_between);
    pthread_rwlockattr_setpshared(&rwlock_between, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&shared->rwlock, &rwlock_between);
    pthread_condattr_t condition_between;
    pthread_condattr_init(&condition_between);
    pthread_condattr_setpshared(&condition_between, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&shared->condition, &condition_between);
    sem_init(&shared->lock, 1, 1);
    sem_init(&shared->items, 1, 0);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    change_semaphore(1);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        return 2;
    }
    take_kind(argv[1]);
    seconds = argc > 3 ? atof(argv[3]) : seconds;
    snprintf(path, sizeof path, "%s/locked", argv[2]);
    close(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    make_shared();
    if (strcmp(kind, "socket") == 0 ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 : pipe(ends) != 0) {
        return 1;
    }
    /* A child that is forked while the recorder still reads the program's modules is not recorded. On a busy machine
     * that takes long. */
    poll(NULL, 0, 500);
    pid_t keeper = fork();
    if (keeper == 0) {
        close(ends[0]);
        if (dozes) {
            nap(30);
            keeper_keeps();
        } else {
            serve(keeper_keeps, 30);
        }
        _exit(0);
    }
    pid_t waiter = fork();
    if (waiter == 0) {
        close(ends[1]);
        serve(waiter_asks, 34);
        _exit(0);
    }
    close(ends[0]);
    close(ends[1]);
    if (strcmp(kind, "circle") == 0) {
        poll(NULL, 0, 7000); /* by then both have stalled, also on a busy machine */
        kill(keeper, SIGKILL);
        kill(waiter, SIGKILL);
    }
    if (is_stopped) {
        stop_for_a_while(keeper);
    }
    waitpid(keeper, NULL, 0);
    waitpid(waiter, NULL, 0);
    semctl(semaphores, 0, IPC_RMID);
    return 0;
}
