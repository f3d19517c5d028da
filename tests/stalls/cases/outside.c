/* SPDX-License-Identifier: Apache-2.0 */
/* outside.c - a worker process of the program has what the program needs: a lock, a semaphore, or the message that it
 * waits for. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <unistd.h>

#include "stall.h"

static struct {
    sem_t drawer;
    pthread_rwlock_t catalogue;
    pthread_mutex_t desk;
    pthread_cond_t letters;
    int has_letter;
} * office;
static char ledger[512]; /* a file */
static int tray;         /* System V semaphores */
static int orders[2], answers[2];

static struct flock whole_file(short type)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET};
}

static void change_tray(short by)
{
    struct sembuf change = {.sem_num = 0, .sem_op = by};
    if (semop(tray, &change, 1) != 0) {
        abort();
    }
}

static void say_ready(void)
{
    if (write(answers[1], "x", 1) != 1) {
        _exit(1);
    }
}

/* What the worker does meanwhile, in each of the cases. */
static STALL_FUNCTION void file_away(void)
{
    say_ready();
    STALL_COMPUTE_MS(stall_ms);
    STALL_STAY();
}

static void keep_drawer(void)
{
    sem_wait(&office->drawer);
    file_away();
    sem_post(&office->drawer);
}

static void keep_catalogue(void)
{
    pthread_rwlock_wrlock(&office->catalogue);
    file_away();
    pthread_rwlock_unlock(&office->catalogue);
}

static void send_letter(void)
{
    file_away();
    pthread_mutex_lock(&office->desk);
    office->has_letter = 1;
    pthread_cond_signal(&office->letters);
    pthread_mutex_unlock(&office->desk);
}

static void keep_ledger(void)
{
    int file = open(ledger, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    struct flock lock = whole_file(F_WRLCK);
    if (fcntl(file, F_OFD_SETLKW, &lock) != 0) {
        _exit(1);
    }
    file_away();
    close(file);
}

static void keep_tray(void)
{
    change_tray(-1);
    file_away();
    change_tray(1);
}

/* The worker first waits in poll(), as a server's worker does, so that it is already recorded when it gets an order. */
static void hire(void (*keep)(void))
{
    char order;
    if (pipe(orders) != 0 || pipe(answers) != 0) {
        abort();
    }
    if (fork() != 0) {
        close(orders[0]);
        return;
    }
    close(orders[1]);
    struct pollfd asked = {.fd = orders[0], .events = POLLIN};
    while (poll(&asked, 1, 100) == 0) {
    }
    if (read(orders[0], &order, 1) == 1) {
        keep();
    }
    while (read(orders[0], &order, 1) == 1) { /* until the program has ended; an ended worker could report nothing */
    }
    _exit(0);
}

static void ask_worker(void)
{
    char ready;
    if (write(orders[1], "x", 1) != 1 || read(answers[0], &ready, 1) != 1) {
        abort();
    }
}

static void prepare_office(void (*keep)(void))
{
    pthread_mutexattr_t desk;
    pthread_rwlockattr_t catalogue;
    pthread_condattr_t letters;
    office = mmap(NULL, sizeof *office, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (office == MAP_FAILED || sem_init(&office->drawer, 1, 1) != 0) {
        abort();
    }
    pthread_mutexattr_init(&desk);
    pthread_mutexattr_setpshared(&desk, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&office->desk, &desk);
    pthread_rwlockattr_init(&catalogue);
    pthread_rwlockattr_setpshared(&catalogue, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&office->catalogue, &catalogue);
    pthread_condattr_init(&letters);
    pthread_condattr_setpshared(&letters, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&office->letters, &letters);
    const char *folder = getenv("STALL_FOLDER");
    snprintf(ledger, sizeof ledger, "%s/ledger", folder != NULL ? folder : "/tmp");
    hire(keep);
}

static void prepare_drawer(void)
{
    prepare_office(keep_drawer);
}

static void prepare_catalogue(void)
{
    prepare_office(keep_catalogue);
}

static void prepare_letters(void)
{
    prepare_office(send_letter);
}

static void prepare_ledger(void)
{
    prepare_office(keep_ledger);
}

/* The kernel keeps a semaphore until it is removed, so it is removed when the message is over. */
static void prepare_tray(void)
{
    tray = semget(IPC_PRIVATE, 1, 0600);
    if (tray < 0) {
        abort();
    }
    change_tray(1);
    prepare_office(keep_tray);
}

static STALL_FUNCTION void open_drawer(int n)
{
    ask_worker();
    sem_wait(&office->drawer);
    sem_post(&office->drawer);
    stall_sink += (uint64_t)n;
}

static STALL_FUNCTION void look_up_title(int n)
{
    ask_worker();
    pthread_rwlock_rdlock(&office->catalogue);
    pthread_rwlock_unlock(&office->catalogue);
    stall_sink += (uint64_t)n;
}

static STALL_FUNCTION void await_letter(int n)
{
    ask_worker();
    pthread_mutex_lock(&office->desk);
    while (!office->has_letter) {
        pthread_cond_wait(&office->letters, &office->desk);
    }
    pthread_mutex_unlock(&office->desk);
    stall_sink += (uint64_t)n;
}

static STALL_FUNCTION void claim_ledger(int n)
{
    struct flock lock = whole_file(F_WRLCK);
    ask_worker();
    int file = open(ledger, O_RDWR | O_CLOEXEC);
    fcntl(file, F_OFD_SETLKW, &lock);
    close(file);
    stall_sink += (uint64_t)n;
}

static STALL_FUNCTION void take_tray(int n)
{
    struct sembuf take = {.sem_num = 0, .sem_op = -1};
    ask_worker();
    if (semop(tray, &take, 1) != 0) {
        abort();
    }
    semctl(tray, 0, IPC_RMID);
    stall_sink += (uint64_t)n;
}

const struct stall stalls_outside[] = {
    {.name = "outside_semaphore", .prepare = prepare_drawer, .message = open_drawer},
    {.name = "outside_rwlock", .prepare = prepare_catalogue, .message = look_up_title},
    {.name = "outside_condition", .prepare = prepare_letters, .message = await_letter},
    {.name = "outside_file_lock", .prepare = prepare_ledger, .message = claim_ledger},
    {.name = "outside_sysv", .prepare = prepare_tray, .message = take_tray},
    {.name = NULL},
};
