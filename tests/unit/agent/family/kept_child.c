/* SPDX-License-Identifier: Apache-2.0 */
/* kept_child.c - fork a child, wait until it reports, kill it. */
#include "kept_child.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

uint32_t kept_child_begin(void (*work)(void *), void *what)
{
    int ready[2];
    char letter = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        work(what);
        (void)!write(ready[1], &letter, 1);
        for (;;) {
            pause();
        }
    }
    assert_int_equal(read(ready[0], &letter, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return (uint32_t)child;
}

void kept_child_end(uint32_t pid)
{
    kill((pid_t)pid, SIGKILL);
    waitpid((pid_t)pid, NULL, 0);
}
