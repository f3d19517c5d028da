/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - another process has not finished or has not answered. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stall.h"

static STALL_FUNCTION void read_helper(int n)
{
    int ends[2];
    char answer[8];
    if (pipe(ends) != 0) {
        abort();
    }
    pid_t child = fork();
    if (child == 0) {
        stall_pause_ms(stall_ms);
        if (write(ends[1], "done", 4) != 4) {
            _exit(1);
        }
        _exit(0);
    }
    close(ends[1]);
    stall_sink += (uint64_t)read(ends[0], answer, sizeof answer) + (uint64_t)n;
    close(ends[0]);
    waitpid(child, NULL, 0);
}

static STALL_FUNCTION void await_converter(int n)
{
    pid_t child = fork();
    if (child == 0) {
        execlp("sleep", "sleep", "1.5", (char *)NULL);
        _exit(1);
    }
    stall_sink += (uint64_t)waitpid(child, NULL, 0) + (uint64_t)n;
}

static STALL_FUNCTION void ask_version(int n)
{
    char line[64];
    FILE *answer = popen("sleep 1.5; echo 3", "r");
    if (answer != NULL && fgets(line, sizeof line, answer) != NULL) {
        stall_sink += (uint64_t)line[0] + (uint64_t)n;
    }
    if (answer != NULL) {
        pclose(answer);
    }
}

static STALL_FUNCTION void run_hook_script(int n)
{
    stall_sink += (uint64_t)system("sleep 1.5") + (uint64_t)n;
}

const struct stall stalls_process[] = {
    {.name = "ipc_pipe", .message = read_helper},
    {.name = "ipc_waitpid", .message = await_converter},
    {.name = "ipc_popen", .message = ask_version},
    {.name = "ipc_system", .message = run_hook_script},
    {.name = NULL},
};
