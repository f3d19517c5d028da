/* SPDX-License-Identifier: Apache-2.0 */
/* killer.c - uses ptrace, and sends SIGKILL at the stop after a system call. */
#include "killer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void give_up(const char *what)
{
    perror(what);
    abort();
}

static int wait_for(pid_t child)
{
    int status;
    if (waitpid(child, &status, 0) != child) {
        give_up("waitpid");
    }
    return status;
}

bool sbx_kill_after_call(unsigned kill_at, void (*prepare)(void *context), void (*work)(void *context), void *context)
{
    pid_t child = fork();
    if (child < 0) {
        give_up("fork");
    }
    if (child == 0) {
        if (prepare != NULL) {
            prepare(context);
        }
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 || raise(SIGSTOP) != 0) {
            _exit(99);
        }
        work(context);
        _exit(0);
    }
    int status = wait_for(child);
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGSTOP) {
        give_up("the child did not stop to be traced");
    }
    if (ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) != 0) {
        give_up("ptrace");
    }
    bool is_inside = false;
    int hand_on = 0;
    for (unsigned calls = 0;;) {
        if (ptrace(PTRACE_SYSCALL, child, NULL, hand_on) != 0) {
            give_up("ptrace");
        }
        hand_on = 0;
        status = wait_for(child);
        if (!WIFSTOPPED(status)) {
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
                fprintf(stderr, "killer: the child ended by itself with wait status %d\n", status);
                abort();
            }
            return false;
        }
        if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
            hand_on = WSTOPSIG(status); /* one of the child's own signals */
            continue;
        }
        is_inside = !is_inside;
        if (!is_inside && ++calls == kill_at) {
            kill(child, SIGKILL);
            (void)wait_for(child);
            return true;
        }
    }
}
