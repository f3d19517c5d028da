/* SPDX-License-Identifier: Apache-2.0 */
/* debugger.c - PTRACE_ATTACH, and SIGSTOP to each thread, both as gdb uses them. */
#include "debugger.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_case.h"

static bool is_known(const struct debugger *debugger, pid_t tid)
{
    for (int i = 0; i < debugger->count; i++) {
        if (debugger->tids[i] == tid) {
            return true;
        }
    }
    return false;
}

/* The signal that must be passed on to the thread: every signal except the one by which this debugger stopped it. */
static int signal_of(struct debugger *debugger, int status)
{
    int signal = WSTOPSIG(status) == SIGSTOP || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    debugger->shown += signal > SIGSYS;
    return signal;
}

/* Wait until the thread stops. Another signal may stop it first. */
static void wait_for_stop(struct debugger *debugger, pid_t tid)
{
    int status;
    while (waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status) && WSTOPSIG(status) != SIGSTOP) {
        ptrace(PTRACE_CONT, tid, 0, signal_of(debugger, status));
    }
}

static bool attach_to(struct debugger *debugger, pid_t tid)
{
    if (debugger->count == DEBUGGER_THREADS || ptrace(PTRACE_ATTACH, tid, 0, 0) != 0) {
        return false;
    }
    debugger->tids[debugger->count++] = tid;
    wait_for_stop(debugger, tid);
    return true;
}

/* Returns whether there was another thread. */
static bool attach_to_others(struct debugger *debugger)
{
    char path[32];
    bool is_new = false;
    snprintf(path, sizeof path, "/proc/%d/task", (int)debugger->pid);
    DIR *listing = opendir(path);
    for (struct dirent *entry = listing != NULL ? readdir(listing) : NULL; entry != NULL; entry = readdir(listing)) {
        pid_t tid = atoi(entry->d_name);
        is_new |= tid > 0 && !is_known(debugger, tid) && attach_to(debugger, tid);
    }
    if (listing != NULL) {
        closedir(listing);
    }
    return is_new;
}

bool debugger_attach(struct debugger *debugger, pid_t pid)
{
    *debugger = (struct debugger){.pid = pid};
    if (!attach_to(debugger, pid)) {
        return false;
    }
    while (attach_to_others(debugger)) {
    }
    return true;
}

void debugger_go_on(struct debugger *debugger, long ms)
{
    int status;
    for (int i = 0; i < debugger->count; i++) {
        ptrace(PTRACE_CONT, debugger->tids[i], 0, 0);
    }
    for (uint64_t end_ms = host_now_ms() + (uint64_t)ms; host_now_ms() < end_ms; host_pause_ms(1)) {
        pid_t tid;
        while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0 && WIFSTOPPED(status)) {
            ptrace(PTRACE_CONT, tid, 0, signal_of(debugger, status));
        }
    }
}

void debugger_detach(struct debugger *debugger)
{
    for (int i = 0; i < debugger->count; i++) {
        syscall(SYS_tgkill, debugger->pid, debugger->tids[i], SIGSTOP);
    }
    for (int i = 0; i < debugger->count; i++) {
        wait_for_stop(debugger, debugger->tids[i]);
        ptrace(PTRACE_DETACH, debugger->tids[i], 0, 0);
    }
    debugger->count = 0;
}
