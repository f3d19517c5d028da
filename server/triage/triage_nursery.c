/* SPDX-License-Identifier: Apache-2.0 */
/* triage_nursery.c - a process with two orders: make a worker, and bury a worker. */
#include "triage_nursery.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "triage_worker.h"

struct sbx_triage_nursery {
    pid_t pid;
    int socket;
    pthread_mutex_t turn; /* held by the thread that asks */
};

struct question {
    pid_t worker; /* the worker to bury; 0: make one, and a socket is attached */
};
struct reply {
    int32_t result;
    pid_t worker;
    int status;
};

union control {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr header; /* for its alignment */
};

/* ---- the nursery ---- */

/* Take the next question, and the attached socket, -1: none. Returns false when there are no more questions. */
static bool take_question(int socket, struct question *question, int *file_out)
{
    union control control;
    struct iovec part = {.iov_base = question, .iov_len = sizeof(*question)};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
    ssize_t got;
    do
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    const struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    *file_out = -1;
    if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(file_out, CMSG_DATA(header), sizeof(int));
    return got == (ssize_t)sizeof(*question);
}

/* Runs in the new worker. */
static _Noreturn void begin_worker(int nursery_socket, int own_socket, pid_t parent)
{
    close(nursery_socket);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(1);
    (void)prctl(PR_SET_NAME, "stallbox-triage", 0, 0, 0);
    sbx_triage_worker_run(own_socket);
}

static struct reply make(int socket, int file)
{
    struct reply reply = {.result = -EINVAL};
    pid_t parent = getpid();
    if (file < 0)
        return reply;
    reply.worker = fork();
    if (reply.worker == 0)
        begin_worker(socket, file, parent);
    reply.result = reply.worker < 0 ? -errno : 0;
    return reply;
}

static struct reply bury(pid_t worker)
{
    struct reply reply = {.worker = worker};
    kill(worker, SIGKILL); /* our child, not waited for yet, so its number is not reused */
    while (waitpid(worker, &reply.status, 0) < 0) {
        if (errno != EINTR) {
            reply.result = -errno;
            break;
        }
    }
    return reply;
}

/* Never returns. All signals are blocked. */
static _Noreturn void run(int socket)
{
    struct question question;
    sigset_t none;
    int file;
    /* Signals from a terminal are for the parent, which then ends this process. */
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    /* Handlers that the caller installed would run here in the wrong process. */
    static const int usual[] = {SIGCHLD, SIGUSR1, SIGUSR2, SIGALRM, SIGSEGV, SIGBUS,
                                SIGFPE,  SIGILL,  SIGABRT, SIGSYS,  SIGTRAP, SIGXCPU};
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN);
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        signal(usual[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int own = fcntl(socket, F_DUPFD, 4); /* away from descriptors 0 to 3 */
    int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, 0); /* otherwise the reader of a pipe would not see its end before this process ends */
    dup2(nothing, 1);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* sanitizers print their findings there */
    dup2(nothing, 2);
#endif
    dup2(own, 3);
    (void)close_range(4, ~0u, 0);
    (void)prctl(PR_SET_NAME, "stallbox-nurs", 0, 0, 0);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    while (take_question(3, &question, &file)) {
        struct reply reply = question.worker ? bury(question.worker) : make(3, file);
        if (file >= 0)
            close(file);
        if (send(3, &reply, sizeof(reply), MSG_NOSIGNAL) != (ssize_t)sizeof(reply))
            break;
    }
    _exit(0);
}

/* ---- its parent ---- */

int sbx_triage_nursery_start(struct sbx_triage_nursery **nursery_out)
{
    int ends[2];
    struct sbx_triage_nursery *nursery = malloc(sizeof(*nursery));
    if (!nursery)
        return -ENOMEM;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        int result = -errno;
        free(nursery);
        return result;
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* a signal that comes now is for the parent only */
    nursery->pid = fork();
    if (nursery->pid == 0)
        run(ends[1]);
    int result = nursery->pid < 0 ? -errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (result != 0) {
        close(ends[0]);
        free(nursery);
        return result;
    }
    nursery->socket = ends[0];
    pthread_mutex_init(&nursery->turn, NULL);
    *nursery_out = nursery;
    return 0;
}

void sbx_triage_nursery_stop(struct sbx_triage_nursery *nursery)
{
    if (!nursery)
        return;
    kill(nursery->pid, SIGKILL); /* our child, not waited for yet. Its workers end with it */
    while (waitpid(nursery->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(nursery->socket);
    pthread_mutex_destroy(&nursery->turn);
    free(nursery);
}

/* `file` is attached; -1: none. */
static int ask(struct sbx_triage_nursery *nursery, struct question question, int file, struct reply *reply)
{
    union control control = {0};
    struct iovec part = {.iov_base = &question, .iov_len = sizeof(question)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (file >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(file));
        memcpy(CMSG_DATA(header), &file, sizeof(file));
    }
    ssize_t count;
    pthread_mutex_lock(&nursery->turn);
    do
        count = sendmsg(nursery->socket, &message, MSG_NOSIGNAL);
    while (count < 0 && errno == EINTR);
    if (count == (ssize_t)sizeof(question)) {
        do
            count = recv(nursery->socket, reply, sizeof(*reply), 0);
        while (count < 0 && errno == EINTR);
    } else {
        count = -1;
    }
    pthread_mutex_unlock(&nursery->turn);
    return count == (ssize_t)sizeof(*reply) ? 0 : -EPIPE;
}

int sbx_triage_nursery_make(struct sbx_triage_nursery *nursery, pid_t *worker_out, int *socket_out)
{
    int ends[2];
    struct reply reply;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -errno;
    int result = ask(nursery, (struct question){0}, ends[1], &reply);
    close(ends[1]);
    if (result == 0)
        result = reply.result;
    if (result < 0) {
        close(ends[0]);
        return result;
    }
    *worker_out = reply.worker;
    *socket_out = ends[0];
    return 0;
}

int sbx_triage_nursery_bury(struct sbx_triage_nursery *nursery, pid_t worker, int *status_out)
{
    struct reply reply;
    int result = ask(nursery, (struct question){.worker = worker}, -1, &reply);
    if (result == 0) {
        result = reply.result;
        *status_out = reply.status;
    }
    return result;
}
