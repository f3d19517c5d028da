/* SPDX-License-Identifier: Apache-2.0 */
/* look_changing.c - a program that changes its code while it is looked at.
 *
 *   look_changing LIBRARY      wait in before_change(); at a byte on standard input load LIBRARY and wait in its wait_in_library()
 *   look_changing exec         the same, but execute itself with "after", which waits in after_change()
 *
 * Prints "ready" on standard output when it is about to wait. */
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define KEEP   __attribute__((noinline, noclone, used))
#define STAY() __asm__ volatile("" ::: "memory") /* after a call: no tail call, so its caller stays on the stack */

static void say_ready(void)
{
    if (write(STDOUT_FILENO, "ready\n", 6) != 6) {
        _exit(3);
    }
}

KEEP static void before_change(void)
{
    char byte;
    say_ready();
    if (read(STDIN_FILENO, &byte, 1) != 1) {
        _exit(3);
    }
    STAY();
}

KEEP static void after_change(void)
{
    char byte;
    say_ready();
    if (read(STDIN_FILENO, &byte, 1) != 1) {
        _exit(3);
    }
    STAY();
}

int main(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc != 2) {
        return 2;
    }
    if (strcmp(argv[1], "after") == 0) {
        after_change();
        return 0;
    }
    before_change();
    if (strcmp(argv[1], "exec") == 0) {
        execl("/proc/self/exe", argv[0], "after", (char *)NULL);
        return 3;
    }
    void *library = dlopen(argv[1], RTLD_NOW);
    void (*wait_in_library)(void (*)(void)) =
        library != NULL ? (void (*)(void (*)(void)))dlsym(library, "wait_in_library") : NULL;
    if (wait_in_library == NULL) {
        return 3;
    }
    wait_in_library(say_ready);
    return 0;
}
