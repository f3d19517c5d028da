/* SPDX-License-Identifier: Apache-2.0 */
/* helper_process.c - a process that waits for requests, and the parent's side of it. */
#include "helper_process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct sbx_helper_process {
    pid_t pid;
    int socket;
    pthread_mutex_t turn; /* used by callers */
};

union control {
    char bytes[CMSG_SPACE(SBX_HELPER_FILES_MAX * sizeof(int))];
    struct cmsghdr header; /* for its alignment */
};

/* ---- messages ---- */

static bool send_message(int socket, const void *bytes, size_t count, const int *files, size_t file_count)
{
    union control control = {.bytes = {0}};
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (file_count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(file_count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(file_count * sizeof(int));
        memcpy(CMSG_DATA(header), files, file_count * sizeof(int));
    }
    ssize_t sent;
    do {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)count;
}

static bool receive_message(int socket, void *bytes, size_t count, struct sbx_helper_files *files_out)
{
    union control control;
    struct iovec part = {.iov_base = bytes, .iov_len = count};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t got;
    files_out->count = 0;
    do {
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    const struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        files_out->count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(files_out->descriptors, CMSG_DATA(header), files_out->count * sizeof(int));
    }
    return got == (ssize_t)count;
}

bool sbx_helper_take(int socket, void *question, size_t bytes, struct sbx_helper_files *files_out)
{
    return receive_message(socket, question, bytes, files_out);
}

bool sbx_helper_answer(int socket, const void *answer, size_t bytes, int file)
{
    return send_message(socket, answer, bytes, &file, file >= 0);
}

/* ---- the helper ---- */

/* The helper's work can wait. If memory is short, it is killed before its parent, and it has a lower priority for
 * processors. */
static void stand_back(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!write(fd, "500", 3); /* raising the value is always allowed */
        close(fd);
    }
    (void)!nice(10);
}

/* Never returns; all signals are blocked. */
static void run(int socket, const char *name, void (*serve)(int socket))
{
    sigset_t none;
    /* Signals from the terminal are for the parent. The helper ends when its parent ends it. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int own = fcntl(socket, F_DUPFD, 4); /* moved away from the first four descriptors */
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++) {
        dup2(nothing, fd); /* a pipe whose reader waits until the parent closes it must not be held open here */
    }
    dup2(own, 3);
    (void)close_range(4, ~0u, 0);
    stand_back();
    (void)prctl(PR_SET_NAME, name, 0, 0, 0);
    (void)prctl(PR_SET_DUMPABLE, 0);
    serve(3);
    _exit(0);
}

/* ---- the parent's side ---- */

int sbx_helper_process_start(const char *name, void (*serve)(int socket), struct sbx_helper_process **helper_out)
{
    int ends[2];
    struct sbx_helper_process *helper = malloc(sizeof *helper);
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
    pthread_sigmask(SIG_SETMASK, &all, &before); /* a signal that arrives now is only for the parent */
    helper->pid = fork();
    if (helper->pid == 0) {
        run(ends[1], name, serve);
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

void sbx_helper_process_cancel(struct sbx_helper_process *helper)
{
    if (helper != NULL) {
        kill(helper->pid, SIGKILL); /* it is not waited for yet, so the pid is still its own; its worker ends, too */
    }
}

void sbx_helper_process_stop(struct sbx_helper_process *helper)
{
    if (helper == NULL) {
        return;
    }
    sbx_helper_process_cancel(helper);
    while (waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    close(helper->socket);
    pthread_mutex_destroy(&helper->turn);
    free(helper);
}

bool sbx_helper_process_ask(struct sbx_helper_process *helper, const void *question, size_t question_bytes,
                            const struct sbx_helper_files *files, void *answer, size_t answer_bytes, int *file_out)
{
    struct sbx_helper_files came = {.count = 0};
    pthread_mutex_lock(&helper->turn);
    bool is_answered = send_message(helper->socket, question, question_bytes, files == NULL ? NULL : files->descriptors,
                                    files == NULL ? 0 : files->count) &&
                       receive_message(helper->socket, answer, answer_bytes, &came);
    pthread_mutex_unlock(&helper->turn);
    bool is_wanted = is_answered && file_out != NULL && came.count > 0;
    if (file_out != NULL) {
        *file_out = is_wanted ? came.descriptors[0] : -1;
    }
    for (size_t i = is_wanted; i < came.count; i++) {
        close(came.descriptors[i]);
    }
    return is_answered;
}
