/* SPDX-License-Identifier: Apache-2.0 */
/* children.c - vfork, posix_spawn, system and popen from many threads at once; each child's status must be right. */
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

enum {
    THREADS = 4,
    ROUNDS = 25
};
extern char **environ;
static atomic_long right, vforked_exit;

static int end_of(pid_t child)
{
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

__attribute__((noinline)) static int by_vfork(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
        _exit(1);
    }
    return end_of(child);
}

__attribute__((noinline)) static int by_vfork_that_exits(void)
{
    pid_t child = vfork();
    if (child == 0) {
        vforked_exit++; /* the parent's memory */
        _exit(7);
    }
    return end_of(child);
}

static int by_spawn(void)
{
    char *words[] = {"sh", "-c", "exit 7", NULL};
    pid_t child;
    return posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ) == 0 ? end_of(child) : -1;
}

static int by_system(void)
{
    int status = system("exit 7");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int by_popen(void)
{
    char line[16] = "";
    FILE *stream = popen("echo seven; exit 7", "r");
    if (stream == NULL || fgets(line, sizeof line, stream) == NULL || strcmp(line, "seven\n") != 0) {
        return -1;
    }
    int status = pclose(stream);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int by_fork_in_threads(void)
{
    pid_t child = fork();
    if (child == 0) {
        char *volatile block = malloc(5000);
        free(block);
        FILE *null = fopen("/dev/null", "w");
        fprintf(null, "%d\n", 7);
        fclose(null);
        usleep(100);
        exit(7);
    }
    return end_of(child);
}

static void *work(void *call)
{
    int (*const start)(void) = *(int (**)(void))call;
    for (int i = 0; i < ROUNDS; i++) {
        right += start() == 7;
    }
    return NULL;
}

int main(void)
{
    struct {
        const char *name;
        int (*start)(void);
    } kinds[] = {{"vfork and exec", by_vfork}, {"vfork and _exit", by_vfork_that_exits},
                 {"posix_spawn", by_spawn},    {"system", by_system},
                 {"popen", by_popen},          {"fork", by_fork_in_threads}};
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        pthread_t threads[THREADS];
        right = 0;
        for (int i = 0; i < THREADS; i++) {
            pthread_create(&threads[i], NULL, work, &kinds[kind].start);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        tap_equal(kinds[kind].name, right, THREADS * ROUNDS);
    }
    tap_equal("stores of vforked children", vforked_exit, THREADS * ROUNDS);
    return tap_end();
}
