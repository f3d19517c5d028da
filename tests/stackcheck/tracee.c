/* SPDX-License-Identifier: Apache-2.0 */
/* tracee.c - uses ptrace(2) with PTRACE_SEIZE: stops leave no trace in the program, and it outlives its tracer. */
#include "tracee.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OPTIONS = PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD,
    POLL_US = 50
};

static void add_thread(struct tracee *tracee, pid_t tid)
{
    for (uint32_t i = 0; i < tracee->thread_count; i++) {
        if (tracee->threads[i] == tid) {
            return;
        }
    }
    if (tracee->thread_count < TRACEE_THREADS_MAX) {
        tracee->threads[tracee->thread_count++] = tid;
    }
}

static void remove_thread(struct tracee *tracee, pid_t tid)
{
    for (uint32_t i = 0; i < tracee->thread_count; i++) {
        if (tracee->threads[i] == tid) {
            tracee->threads[i] = tracee->threads[--tracee->thread_count];
        }
    }
    if (tracee->stopped == tid) {
        tracee->stopped = 0;
    }
}

/* Handle a status of a thread that is not being looked at; the thread continues. Returns the signal that it stopped to
 * receive, 0: none; -1: it has ended. `stays` leaves it stopped. */
static int serve_one(struct tracee *tracee, pid_t tid, int status, bool stays)
{
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
        remove_thread(tracee, tid);
        if (tid == tracee->pid) {
            tracee->ended = true;
            tracee->status = status;
        }
        return -1;
    }
    if (!WIFSTOPPED(status)) {
        return 0;
    }
    add_thread(tracee, tid);
    int number = WSTOPSIG(status);
    int event = status >> 16;
    int deliver = 0;
    bool listens = false;
    if (event == PTRACE_EVENT_CLONE) {
        unsigned long child;
        if (ptrace(PTRACE_GETEVENTMSG, tid, 0, &child) == 0) {
            add_thread(tracee, (pid_t)child);
        }
    } else if (event == PTRACE_EVENT_EXEC) {
        tracee->thread_count = 0;
        add_thread(tracee, tid);
    } else if (event == PTRACE_EVENT_STOP) {
        listens = number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
    } else if (event == 0 && number != (SIGTRAP | 0x80)) {
        deliver = number;
    }
    if (stays) {
        return deliver;
    }
    ptrace(listens ? PTRACE_LISTEN : PTRACE_CONT, tid, 0, deliver);
    return 0;
}

void tracee_serve(struct tracee *tracee)
{
    for (uint32_t i = tracee->thread_count; i-- > 0;) { /* backwards: it may be removed, and new ones come behind */
        int status;
        pid_t tid = tracee->threads[i];
        if (tid != tracee->stopped && waitpid(tid, &status, __WALL | WNOHANG) == tid) {
            serve_one(tracee, tid, status, false);
        }
    }
}

static int seize_threads(struct tracee *tracee)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)tracee->pid);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return -errno;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        pid_t tid = atoi(entry->d_name);
        if (tid > 0 && ptrace(PTRACE_SEIZE, tid, 0, OPTIONS) == 0) {
            add_thread(tracee, tid);
        }
    }
    closedir(folder);
    return tracee->thread_count == 0 ? -EPERM : 0;
}

int tracee_seize(struct tracee *tracee, pid_t pid)
{
    memset(tracee, 0, sizeof *tracee);
    tracee->pid = pid;
    return seize_threads(tracee);
}

int tracee_spawn(struct tracee *tracee, char *const argv[])
{
    int gate[2];
    memset(tracee, 0, sizeof *tracee);
    if (pipe(gate) != 0) {
        return -errno;
    }
    pid_t pid = fork();
    if (pid < 0) {
        return -errno;
    }
    if (pid == 0) {
        char go;
        close(gate[1]);
        if (read(gate[0], &go, 1) == 1) { /* it is seized by now */
            close(gate[0]);
            int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
            dup2(nowhere, STDOUT_FILENO); /* its output is not needed */
            execvp(argv[0], argv);
            perror(argv[0]);
        }
        _exit(127);
    }
    close(gate[0]);
    tracee->pid = pid;
    tracee->was_spawned = true;
    int result = seize_threads(tracee);
    if (result == 0 && write(gate[1], "g", 1) != 1) {
        result = -errno;
    }
    close(gate[1]);
    for (int status; result == 0;) { /* until it has executed the program */
        pid_t tid = waitpid(pid, &status, __WALL);
        if (tid != pid) {
            return -ECHILD;
        }
        bool is_exec = WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_EXEC;
        serve_one(tracee, pid, status, false);
        if (is_exec || tracee->ended) {
            break;
        }
    }
    return result;
}

void tracee_release(struct tracee *tracee)
{
    if (tracee->was_spawned && !tracee->ended) {
        kill(tracee->pid, SIGKILL);
        for (int status; waitpid(-1, &status, __WALL) > 0;) {
        }
        return;
    }
    while (!tracee->ended && tracee->thread_count > 0) {
        pid_t tid = tracee->threads[0];
        if (tracee_stop(tracee, tid)) {
            ptrace(PTRACE_DETACH, tid, 0, tracee->pending_signal);
        }
        remove_thread(tracee, tid);
    }
}

/* Wait until the stopped thread stops again, and handle the other threads meanwhile: the first thread of an exiting
 * process is reported only after all others. False: it has ended. */
static bool wait_for_it(struct tracee *tracee, pid_t tid, int *status_out)
{
    for (;;) {
        pid_t got = waitpid(-1, status_out, __WALL);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            remove_thread(tracee, tid);
            tracee->ended = true;
            return false;
        }
        if (got == tid) {
            return WIFSTOPPED(*status_out) || serve_one(tracee, tid, *status_out, true) >= 0;
        }
        serve_one(tracee, got, *status_out, false);
        if (tracee->ended) {
            return false;
        }
    }
}

bool tracee_stop(struct tracee *tracee, pid_t tid)
{
    int status;
    tracee->pending_signal = 0;
    if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0) {
        remove_thread(tracee, tid);
        return false;
    }
    if (!wait_for_it(tracee, tid, &status)) {
        return false;
    }
    int number = serve_one(tracee, tid, status, true);
    tracee->pending_signal = number > 0 ? number : 0;
    tracee->stopped = tid;
    return true;
}

bool tracee_step(struct tracee *tracee)
{
    int status;
    pid_t tid = tracee->stopped;
    if (ptrace(PTRACE_SINGLESTEP, tid, 0, tracee->pending_signal) != 0 || !wait_for_it(tracee, tid, &status)) {
        remove_thread(tracee, tid);
        return false;
    }
    int number = serve_one(tracee, tid, status, true);
    tracee->pending_signal = number > 0 && number != SIGTRAP ? number : 0; /* SIGTRAP is the tracer's */
    return true;
}

bool tracee_run_to_kernel(struct tracee *tracee, uint32_t timeout_us, bool *reached_out)
{
    int status;
    pid_t tid = tracee->stopped;
    *reached_out = false;
    if (ptrace(PTRACE_SYSCALL, tid, 0, tracee->pending_signal) != 0) {
        remove_thread(tracee, tid);
        return false;
    }
    for (uint32_t waited = 0; waited < timeout_us; waited += POLL_US) {
        pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
        if (got == tid) {
            if (!WIFSTOPPED(status)) {
                serve_one(tracee, tid, status, true);
                return false;
            }
            int number = serve_one(tracee, tid, status, true);
            tracee->pending_signal = number > 0 ? number : 0;
            *reached_out = WSTOPSIG(status) == (SIGTRAP | 0x80);
            return true;
        }
        if (got < 0) {
            remove_thread(tracee, tid);
            return false;
        }
        usleep(POLL_US);
        tracee_serve(tracee);
        if (tracee->ended || tracee->stopped != tid) {
            return false;
        }
    }
    return tracee_stop(tracee, tid);
}

bool tracee_registers(const struct tracee *tracee, struct user_regs_struct *registers_out)
{
    return ptrace(PTRACE_GETREGS, tracee->stopped, 0, registers_out) == 0;
}

void tracee_continue(struct tracee *tracee)
{
    if (tracee->stopped != 0) {
        ptrace(PTRACE_CONT, tracee->stopped, 0, tracee->pending_signal);
        tracee->stopped = 0;
        tracee->pending_signal = 0;
    }
}
