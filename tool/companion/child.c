/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - starts a program, passes signals on, and ends in the same way as the program. */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "recording_file.h"

/* Signals to a supervisor that are meant for its program. SIGKILL and SIGSTOP cannot be passed on. */
static const int passed_on[] = {SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR1,
                                SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP, SIGALRM};

int sbx_child_prepare(struct sbx_child *child)
{
    sigset_t wanted;
    memset(child, 0, sizeof *child);
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++) {
        sigaddset(&wanted, passed_on[i]);
    }
    sigset_t blocked = wanted; /* a file size limit for the program must not kill this process; the write then fails */
    sigaddset(&blocked, SIGXFSZ);
    if (sigprocmask(SIG_BLOCK, &blocked, &child->mask_before) != 0) {
        return -errno;
    }
    child->signal_fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    return child->signal_fd < 0 ? -errno : 0;
}

void sbx_child_put_number(char *text, unsigned number)
{
    for (int i = SBX_CHILD_DIGITS; text != NULL && i-- > 0; number /= 10) {
        text[i] = (char)('0' + number % 10);
    }
}

int sbx_child_start(struct sbx_child *child, char **argv, char **environment)
{
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
        return -errno;
    }
    sbx_memory_kills_look(&child->memory_kills, getpid()); /* the program starts in our control group */
    pid_t pid = fork();
    if (pid < 0) {
        int result = -errno;
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        return result;
    }
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &child->mask_before, NULL);
        sbx_child_put_number(child->number_text, (unsigned)getpid());
        execvpe(argv[0], argv, environment);
        int error = errno;
        ssize_t written = write(pipe_fds[1], &error, sizeof error);
        _exit(written == (ssize_t)sizeof error ? 127 : 126);
    }
    close(pipe_fds[1]);
    int error = 0;
    ssize_t got;
    do { /* the pipe ends when a successful exec closes it */
        got = read(pipe_fds[0], &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    close(pipe_fds[0]);
    if (got == (ssize_t)sizeof error) {
        waitpid(pid, NULL, 0);
        return -error;
    }
    child->pid = pid;
    child->start_ticks = sbx_process_start_ticks((uint32_t)pid); /* its number is not reused before it is reaped */
    return 0;
}

void sbx_child_look(struct sbx_child *child)
{
    if (!child->has_ended) {
        sbx_memory_kills_look(&child->memory_kills, child->pid);
    }
}

/* When job control stops the child, stop too, so that the shell sees its job stopped. When continued, continue the
 * child. */
static void stop_with_child(const struct sbx_child *child)
{
    raise(SIGSTOP);
    kill(child->pid, SIGCONT);
}

static void reap(struct sbx_child *child)
{
    int status;
    pid_t pid = waitpid(child->pid, &status, WNOHANG | WUNTRACED);
    if (pid != child->pid) {
        return;
    }
    if (WIFSTOPPED(status)) {
        if (WSTOPSIG(status) == SIGTSTP || WSTOPSIG(status) == SIGTTIN || WSTOPSIG(status) == SIGTTOU) {
            stop_with_child(child);
        }
        return;
    }
    child->has_ended = true;
    child->ended_ns = sbx_now_ns();
    child->status = status;
    child->had_no_memory =
        WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && sbx_memory_kills_have_grown(&child->memory_kills);
}

void sbx_child_on_signal(struct sbx_child *child)
{
    struct signalfd_siginfo info;
    while (read(child->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD) {
            reap(child);
        } else if (info.ssi_code <= 0 && child->pid > 0 && !child->has_ended) {
            /* A process sent it to us, so it is meant for the program. A signal from the terminal has reached the
             * program already. */
            kill(child->pid, (int)info.ssi_signo);
        }
    }
}

void sbx_child_end_likewise(const struct sbx_child *child)
{
    if (WIFSIGNALED(child->status)) {
        const struct rlimit none = {0, 0};
        sigset_t all;
        setrlimit(RLIMIT_CORE, &none); /* only the core of the program is useful */
        signal(SIGXFSZ, SIG_IGN);      /* one may be pending for this process */
        signal(WTERMSIG(child->status), SIG_DFL);
        sigfillset(&all);
        sigprocmask(SIG_UNBLOCK, &all, NULL);
        raise(WTERMSIG(child->status));
    }
    _exit(WIFEXITED(child->status) ? WEXITSTATUS(child->status) : 128 + WTERMSIG(child->status));
}
