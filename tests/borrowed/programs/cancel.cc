/* SPDX-License-Identifier: Apache-2.0 */
/* cancel.cc - threads that are cancelled inside of calls, with destructors and cleanup handlers that must run. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "tap.h"

static std::atomic<long> constructed, destroyed, cleaned, returned;
static int pipe_ends[2], pair[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static pthread_t sleeper;

struct Guard {
    Guard()
    {
        constructed++;
    }
    ~Guard()
    {
        destroyed++;
    }
};

static void clean(void *)
{
    cleaned++;
}
static void unlock(void *)
{
    pthread_mutex_unlock(&mutex);
}

static void in_read()
{
    char byte;
    (void)!read(pipe_ends[0], &byte, 1);
}
static void in_write()
{
    static char much[1 << 20];
    (void)!write(pair[1], much, sizeof much);
    (void)!write(pair[1], much, sizeof much);
}
static void in_poll()
{
    struct pollfd one = {pipe_ends[0], POLLIN, 0};
    poll(&one, 1, -1);
}
static void in_select()
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pipe_ends[0], &set);
    select(pipe_ends[0] + 1, &set, nullptr, nullptr, nullptr);
}
static void in_epoll()
{
    int epoll = epoll_create1(0);
    struct Close {
        int fd;
        ~Close()
        {
            close(fd);
        }
    } guard{epoll};
    struct epoll_event event;
    epoll_wait(epoll, &event, 1, -1);
}
static void in_nanosleep()
{
    struct timespec time = {60, 0};
    nanosleep(&time, nullptr);
}
static void in_clock_nanosleep()
{
    struct timespec time = {60, 0};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}
static void in_usleep()
{
    for (;;)
        usleep(900000);
}
static void in_condition()
{
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, nullptr);
    for (;;)
        pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
}
static void in_timed_condition()
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, nullptr);
    while (pthread_cond_timedwait(&condition, &mutex, &end) == 0) {
    }
    pthread_cleanup_pop(1);
}
static void in_semaphore()
{
    sem_wait(&semaphore);
}
static void in_join()
{
    pthread_join(sleeper, nullptr);
}
static void in_pause()
{
    pause();
}
static void in_sigwait()
{
    sigset_t set;
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigwait(&set, &number);
}
static void in_sigsuspend()
{
    sigset_t set;
    sigemptyset(&set);
    sigsuspend(&set);
}
static void in_wait()
{
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    struct Kill {
        pid_t pid;
        ~Kill()
        {
            kill(pid, SIGKILL);
            int status;
            while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
            }
        }
    } guard{child};
    int status;
    waitpid(child, &status, 0);
}
static void in_computing()
{
    for (;;)
        pthread_testcancel();
}
static void in_stdio()
{
    FILE *stream = fdopen(dup(pipe_ends[0]), "r");
    struct Close {
        FILE *stream;
        ~Close()
        {
            fclose(stream);
        }
    } guard{stream};
    (void)fgetc(stream);
}

struct Kind {
    const char *name;
    void (*call)();
};
static const Kind kinds[] = {
    {"read", in_read},
    {"write", in_write},
    {"poll", in_poll},
    {"select", in_select},
    {"epoll_wait", in_epoll},
    {"nanosleep", in_nanosleep},
    {"clock_nanosleep", in_clock_nanosleep},
    {"usleep", in_usleep},
    {"pthread_cond_wait", in_condition},
    {"pthread_cond_timedwait", in_timed_condition},
    {"sem_wait", in_semaphore},
    {"pthread_join", in_join},
    {"pause", in_pause},
    {"sigwait", in_sigwait},
    {"sigsuspend", in_sigsuspend},
    {"waitpid", in_wait},
    {"testcancel", in_computing},
    {"fgetc", in_stdio},
};

static void *body(void *kind)
{
    Guard outer;
    pthread_cleanup_push(clean, nullptr);
    Guard inner;
    void *volatile block = malloc(64);
    free(block);
    static_cast<const Kind *>(kind)->call();
    returned++;
    pthread_cleanup_pop(0);
    return nullptr;
}

static void *asleep(void *)
{
    for (;;) {
        pause();
    }
}

int main()
{
    if (pipe(pipe_ends) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || sem_init(&semaphore, 0, 0) != 0 ||
        pthread_create(&sleeper, nullptr, asleep, nullptr) != 0) {
        return 2;
    }
    enum {
        ROUNDS = 6,
        THREADS = 8
    };
    for (const Kind &kind : kinds) {
        constructed = destroyed = cleaned = returned = 0;
        long cancelled = 0;
        for (int round = 0; round < ROUNDS; round++) {
            pthread_t threads[THREADS];
            for (pthread_t &thread : threads) {
                pthread_create(&thread, nullptr, body, const_cast<Kind *>(&kind));
            }
            struct timespec moment = {0, 1000000L * (1 + round * round)};
            nanosleep(&moment, nullptr);
            for (pthread_t thread : threads) {
                pthread_cancel(thread);
            }
            for (pthread_t thread : threads) {
                void *result = nullptr;
                pthread_join(thread, &result);
                cancelled += result == PTHREAD_CANCELED;
            }
        }
        char what[128];
        snprintf(what, sizeof what, "threads cancelled in %s", kind.name);
        tap_equal(what, cancelled, ROUNDS * THREADS);
        tap_equal("objects destroyed", destroyed, constructed);
        tap_equal("cleanup handlers run", cleaned, ROUNDS * THREADS);
        tap_equal("returned", returned, 0);
    }
    return tap_end();
}
