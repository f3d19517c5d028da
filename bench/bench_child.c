/* SPDX-License-Identifier: Apache-2.0 */
/* bench_child.c - what it costs a program that a recorded one starts, and that lives for milliseconds.
 *
 * usage: bench_child [--rounds N] [LIBRARY]
 * One child after the other is started and waited for (posix_spawn of /bin/true): bare, with the library preloaded that then
 * does nothing, as a child of a recorded program, and recorded from its first moment on, in turns. Printed are the quartiles
 * of each, and of the difference to the bare one of the same turn. Why it matters: a shell loop, and `make`. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "policy.h"
#include "preload.h"
#include "recording_format.h"

enum {
    ROUNDS_DEFAULT = 400,
    WAYS = 4
};
static const char *const names[WAYS] = {"bare", "preloaded only", "child, begins late", "recorded at once"};

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double run_us(char **environment)
{
    char *arguments[] = {"true", NULL};
    pid_t pid;
    int status = -1;
    double begin = now_us();
    if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environment) != 0 || waitpid(pid, &status, 0) != pid ||
        status != 0) {
        fputs("bench_child: /bin/true did not run\n", stderr);
        exit(1);
    }
    return now_us() - begin;
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static void print_quartiles(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    printf("%8.0f %8.0f %8.0f", values[count / 4], values[count / 2], values[count * 3 / 4]);
}

int main(int argc, char **argv)
{
    char preload[512], orders_text[SBX_ORDERS_TEXT_BYTES], orders[sizeof orders_text + 32],
        folder[] = "/tmp/bench-child-XXXXXX";
    char spool[64], recordings[96], rows[96];
    size_t rounds = ROUNDS_DEFAULT;
    const char *library = BENCH_LIBRARY;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
            rounds = strtoul(argv[++i], NULL, 10);
        } else {
            library = argv[i];
        }
    }
    double *taken = calloc(2 * WAYS * rounds, sizeof *taken);
    if (rounds == 0 || taken == NULL || mkdtemp(folder) == NULL) {
        return 1;
    }
    struct sbx_preload_orders ordered = {.layout_hash = sbx_layout_hash()};
    sbx_policy_settings(sbx_policy_default(), &ordered.settings);
    sbx_orders_print(&ordered, orders_text);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    snprintf(orders, sizeof orders, SBX_ENV_ORDERS "=%s", orders_text);
    snprintf(spool, sizeof spool, SBX_ENV_SPOOL "=%s", folder);
    snprintf(recordings, sizeof recordings, SBX_ENV_RECORDINGS "=/dev/shm/bench-child-%d", (int)getpid());
    snprintf(rows, sizeof rows, "STALLBOX_ROWS=%s", folder);
    char *bare[] = {"PATH=/bin", NULL};
    char *only[] = {"PATH=/bin", preload, NULL};
    char *late[] = {"PATH=/bin", preload, spool, recordings, orders, rows, SBX_ENV_AUTOSTART "=0", NULL};
    char *once[] = {"PATH=/bin", preload, spool, recordings, orders, rows, SBX_ENV_AUTOSTART "=1", NULL};
    char **const environments[WAYS] = {bare, only, late, once};
    for (size_t i = 0; i < rounds + 10; i++) { /* ten to warm up */
        double first = 0;
        for (size_t way = 0; way < WAYS; way++) {
            double us = run_us(environments[way]);
            first = way == 0 ? us : first;
            if (i >= 10) {
                taken[2 * way * rounds + i - 10] = us;
                taken[(2 * way + 1) * rounds + i - 10] = us - first;
            }
        }
    }
    printf("us a child, quartiles of %zu%26s over bare\n", rounds, "");
    for (size_t way = 0; way < WAYS; way++) {
        printf("%-20s", names[way]);
        print_quartiles(&taken[2 * way * rounds], rounds);
        printf("   ");
        print_quartiles(&taken[(2 * way + 1) * rounds], rounds);
        putchar('\n');
    }
    free(taken);
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s' '%s'", folder, strchr(recordings, '=') + 1);
    return system(command) == 0 ? 0 : 1;
}
