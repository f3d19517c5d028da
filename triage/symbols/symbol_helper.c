/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_helper.c - a process that waits for files, and hands each to a worker. */
#include "symbol_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbol_worker.h"

struct sbx_symbol_helper {
    pid_t pid;
    int socket;
    pthread_mutex_t turn; /* of who asks */
};

/* What goes over the socket: both sides are one program, forked. */
struct question {
    uint8_t build_id[SBX_IMAGE_BUILD_ID_BYTES_MAX];
    uint32_t build_id_bytes;
    char name[SBX_IMAGE_NAME_BYTES];
    uint64_t now_s;
};
struct result {
    int32_t result;
    char why[240];
};

union control {
    char bytes[CMSG_SPACE(2 * sizeof(int))];
    struct cmsghdr header; /* for its alignment */
};

/* ---- the helper ---- */

/* The next question and its two files. Returns whether there is one. */
static bool take_question(int socket, struct question *question, int files[2])
{
    union control control;
    struct iovec part = {.iov_base = question, .iov_len = sizeof *question};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t got;
    do {
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    const struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (got != (ssize_t)sizeof *question || header == NULL || header->cmsg_type != SCM_RIGHTS ||
        header->cmsg_len != CMSG_LEN(2 * sizeof(int))) {
        return false;
    }
    memcpy(files, CMSG_DATA(header), 2 * sizeof(int));
    return true;
}

static void serve(int socket)
{
    struct question question;
    int files[2];
    while (take_question(socket, &question, files)) {
        struct result result = {0};
        const struct sbx_making making = {.descriptors = &files[0],
                                          .descriptor_count = 1,
                                          .alternate = -1,
                                          .build_id = question.build_id,
                                          .build_id_bytes = question.build_id_bytes,
                                          .name = question.name,
                                          .now_s = question.now_s,
                                          .out = files[1]};
        result.result = sbx_symbol_worker_make(&making, 0, result.why, sizeof result.why); /* closes the first */
        close(files[1]);
        if (send(socket, &result, sizeof result, MSG_NOSIGNAL) != (ssize_t)sizeof result) {
            return;
        }
    }
}

/* Symbols can wait: where memory ends, the worker ends before its server, and where processors are short it stands back. */
static void stand_back(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!write(fd, "500", 3); /* more is always allowed */
        close(fd);
    }
    (void)!nice(10);
}

/* Never returns; all signals are blocked. */
static void run(int socket)
{
    sigset_t none;
    /* A terminal's signals are for its parent, which ends it. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int own = fcntl(socket, F_DUPFD, 4); /* out of the way of the first four */
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++) {
        dup2(nothing, fd); /* a pipe whose reader waits for its parent's end must not wait for this */
    }
    dup2(own, 3);
    (void)close_range(4, ~0u, 0);
    stand_back();
    (void)prctl(PR_SET_NAME, "stallbox-sym", 0, 0, 0);
    (void)prctl(PR_SET_DUMPABLE, 0);
    serve(3);
    _exit(0);
}

/* ---- its parent ---- */

int sbx_symbol_helper_start(struct sbx_symbol_helper **helper_out)
{
    int ends[2];
    struct sbx_symbol_helper *helper = malloc(sizeof *helper);
    if (helper == NULL) {
        return -ENOMEM;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        int result = -errno;
        free(helper);
        return result;
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* one that comes now is for the parent only */
    helper->pid = fork();
    if (helper->pid == 0) {
        run(ends[1]);
    }
    int result = helper->pid < 0 ? -errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (result != 0) {
        close(ends[0]);
        free(helper);
        return result;
    }
    helper->socket = ends[0];
    pthread_mutex_init(&helper->turn, NULL);
    *helper_out = helper;
    return 0;
}

void sbx_symbol_helper_cancel(struct sbx_symbol_helper *helper)
{
    if (helper != NULL) {
        kill(helper->pid,
             SIGKILL); /* our child, not waited for yet: nobody else has its number. Its worker goes with it */
    }
}

void sbx_symbol_helper_stop(struct sbx_symbol_helper *helper)
{
    if (helper == NULL) {
        return;
    }
    sbx_symbol_helper_cancel(helper);
    while (waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    close(helper->socket);
    pthread_mutex_destroy(&helper->turn);
    free(helper);
}

static bool ask(const struct sbx_symbol_helper *helper, const struct sbx_helper_making *making, struct result *result)
{
    const int files[2] = {making->in, making->out};
    struct question question = {.build_id_bytes = (uint32_t)making->build_id_bytes, .now_s = making->now_s};
    memcpy(question.build_id, making->build_id, sizeof question.build_id);
    memcpy(question.name, making->name, sizeof question.name);
    union control control = {0};
    struct iovec part = {.iov_base = &question, .iov_len = sizeof question};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof files);
    memcpy(CMSG_DATA(header), files, sizeof files);
    ssize_t count;
    do {
        count = sendmsg(helper->socket, &message, MSG_NOSIGNAL);
    } while (count < 0 && errno == EINTR);
    if (count != (ssize_t)sizeof question) {
        return false;
    }
    do {
        count = recv(helper->socket, result, sizeof *result, 0);
    } while (count < 0 && errno == EINTR);
    return count == (ssize_t)sizeof *result;
}

int sbx_symbol_helper_make(struct sbx_symbol_helper *helper, const struct sbx_helper_making *making, char *why,
                           size_t why_bytes)
{
    struct result result = {0};
    pthread_mutex_lock(&helper->turn);
    bool answered = ask(helper, making, &result);
    pthread_mutex_unlock(&helper->turn);
    if (!answered) {
        snprintf(why, why_bytes, "the process that reads symbol files is gone");
        return -EPIPE;
    }
    result.why[sizeof result.why - 1] = '\0';
    snprintf(why, why_bytes, "%s", result.why);
    return result.result;
}
