/* SPDX-License-Identifier: Apache-2.0 */
/* held_thread.c - stops threads by ptrace(), as a debugger does. */
#include "held_thread.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "host_case.h"

int held_thread_find(pid_t pid, const char *name)
{
    char command[128], text[32] = "";
    snprintf(command, sizeof command, "grep -lx '%s' /proc/%d/task/*/comm | cut -d/ -f5", name, (int)pid);
    FILE *answer = popen(command, "re");
    int tid = answer != NULL && fgets(text, sizeof text, answer) != NULL ? atoi(text) : 0;
    if (answer != NULL) {
        pclose(answer);
    }
    return tid;
}

void held_thread_stop(pid_t tid, pid_t pid, pid_t begun)
{
    int status;
    if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD) != 0 || ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0) {
        kill(pid, SIGKILL);
        host_end(begun);
        host_skip("ptrace is not allowed here");
    }
    assert_int_equal(waitpid(tid, &status, __WALL), tid);
    assert_true(WIFSTOPPED(status));
}

void held_thread_go_on_to_call(pid_t tid, uint64_t number)
{
    struct __ptrace_syscall_info call = {.op = 0};
    for (;;) {
        int status;
        assert_int_equal(ptrace(PTRACE_SYSCALL, tid, 0, 0), 0);
        assert_int_equal(waitpid(tid, &status, __WALL), tid);
        assert_true(WIFSTOPPED(status));
        if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
            continue;
        }
        assert_true(ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof call, &call) > 0);
        if (call.op == PTRACE_SYSCALL_INFO_ENTRY && call.entry.nr == number) {
            return;
        }
    }
}
