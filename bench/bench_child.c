/* SPDX-License-Identifier: Apache-2.0 */
/* bench_child.c - the cost for a program that a recorded program starts, and that lives for milliseconds.
 *
 * usage: bench_child [--json] [--rounds N] [--loop|--spawn] [LIBRARY]
 * First, children are started and waited for one after another (posix_spawn of /bin/true, which cannot wait for
 * anything, and of a shell, which can). They run in turns: bare; with the preloaded library, which then does nothing;
 * as a child of a recorded program; and recorded from the start. The difference to the bare child of the same turn is
 * printed, too. Then follows a shell loop of 200 /bin/true, bare and under `stallbox run`, in turns, and the same loop
 * with no child, which is the cost of the command itself. --loop and --spawn run only one of the two parts. Why it
 * matters: shell loops and `make` start many short programs. */
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy.h"
#include "preload.h"
#include "recording_format.h"
#include "rounds.h"

enum {
    ROUNDS_DEFAULT = 400,
    LOOP_ROUNDS_MOST = 15,
    WARM_UP = 10,
    CHILDREN = 200,
    WAYS = 4
};
static const char *const names[WAYS] = {"bare", "preloaded only", "child, begins late", "recorded at once"};
static char preload[512], orders[SBX_ORDERS_TEXT_BYTES + 32], spool[96], recordings[96], rows[96];

static void give_up(const char *what)
{
    fprintf(stderr, "bench_child: %s\n", what);
    exit(1);
}

static double cpu_us; /* of the program that ran last, with all children that it waited for */

/* Runs a program and returns the microseconds until it has ended. */
static double run_us(const char *program, char *const *arguments, char *const *environment)
{
    pid_t pid;
    int status = -1;
    struct rusage used;
    double begin = bench_now_ns();
    if (posix_spawn(&pid, program, NULL, NULL, arguments, environment) != 0 || wait4(pid, &status, 0, &used) != pid ||
        status != 0) {
        give_up("a program did not run");
    }
    cpu_us = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
             (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    return (bench_now_ns() - begin) / 1000;
}

static void prepare(const char *folder, const char *library)
{
    char text[SBX_ORDERS_TEXT_BYTES];
    struct sbx_preload_orders ordered = {.layout_hash = sbx_layout_hash()};
    sbx_policy_settings(sbx_policy_default(), &ordered.settings);
    sbx_orders_print(&ordered, text);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    snprintf(orders, sizeof orders, SBX_ENV_ORDERS "=%s", text);
    snprintf(spool, sizeof spool, SBX_ENV_SPOOL "=%s", folder);
    snprintf(recordings, sizeof recordings, SBX_ENV_RECORDINGS "=/dev/shm/bench-child-%d", (int)getpid());
    snprintf(rows, sizeof rows, "STALLBOX_ROWS=%s", folder);
}

static void measure_spawn(bool json, int rounds, const char *what, char *const *arguments)
{
    struct bench_series *us = calloc(WAYS, sizeof *us), *over = calloc(WAYS, sizeof *over);
    static char late_start[] = SBX_ENV_AUTOSTART "=0", first_start[] = SBX_ENV_AUTOSTART "=1", path[] = "PATH=/bin";
    char *const bare[] = {path, NULL};
    char *const only[] = {path, preload, NULL};
    char *const late[] = {path, preload, spool, recordings, orders, rows, late_start, NULL};
    char *const once[] = {path, preload, spool, recordings, orders, rows, first_start, NULL};
    char *const *const environments[WAYS] = {bare, only, late, once};
    if (us == NULL || over == NULL) {
        give_up("no memory");
    }
    for (int i = 0; i < rounds + WARM_UP; i++) {
        double first = 0;
        for (int way = 0; way < WAYS; way++) {
            double took = run_us(arguments[0], arguments, environments[way]);
            first = way == 0 ? took : first;
            if (i >= WARM_UP) {
                bench_series_add(&us[way], took);
                bench_series_add(&over[way], (took - first) / 1000);
            }
        }
    }
    for (int way = 1; way < WAYS; way++) {
        char metric[96];
        snprintf(metric, sizeof metric, "posix_spawn of %s: %s", what, names[way]);
        bench_print(json,
                    &(struct bench_line){.bench = "child", .metric = metric, .unit = "us", .peer = "the same, bare"},
                    &us[way], &us[0]);
        snprintf(metric, sizeof metric, "posix_spawn of %s: %s, over bare", what, names[way]);
        bench_print(json,
                    &(struct bench_line){.bench = "child",
                                         .metric = metric,
                                         .unit = "ms",
                                         .reach = environments[way] == late ? "value <= 0.5" : NULL},
                    &over[way], NULL);
    }
    free(us);
    free(over);
}

static void measure_spawns(bool json, int rounds)
{
    static char name[] = "/bin/true", shell[] = "/bin/sh", c[] = "-c", script[] = ":";
    char *const without_waits[] = {name, NULL};
    char *const with_waits[] = {shell, c, script, NULL};
    measure_spawn(json, rounds, "/bin/true", without_waits);
    measure_spawn(json, rounds, "a shell that does nothing", with_waits);
}

/* Runs a shell loop that starts `children` programs; under `stallbox run` if `is_recorded`. */
static double loop_ms(const char *folder, int children, bool is_recorded)
{
    static char run[] = "run", quiet[] = "--quiet", spool_option[] = "--spool", end[] = "--", sh[] = "/bin/sh",
                c[] = "-c", tool[] = BENCH_TOOL, path[] = "PATH=/bin:/usr/bin", home[] = "HOME=/nonexistent";
    char script[96], place[96];
    snprintf(script, sizeof script, "i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done", children);
    snprintf(place, sizeof place, "%s", folder);
    char *const bare[] = {sh, c, script, NULL};
    char *const recorded[] = {tool, run, quiet, spool_option, place, end, sh, c, script, NULL};
    char *const environment[] = {path, home, recordings, rows, NULL};
    return run_us(is_recorded ? tool : sh, is_recorded ? recorded : bare, environment) / 1000;
}

static void measure_loop(bool json, int rounds, const char *folder)
{
    static struct bench_series bare, recorded, command, each, each_alone, each_cpu;
    for (int i = 0; i <= rounds && i <= LOOP_ROUNDS_MOST; i++) { /* the first loop is only a warm-up */
        double bare_ms = loop_ms(folder, CHILDREN, false), bare_cpu_us = cpu_us;
        double recorded_ms = loop_ms(folder, CHILDREN, true), recorded_cpu_us = cpu_us;
        double command_ms = loop_ms(folder, 0, true) - loop_ms(folder, 0, false);
        if (i > 0) {
            bench_series_add(&bare, bare_ms);
            bench_series_add(&recorded, recorded_ms);
            bench_series_add(&command, command_ms);
            bench_series_add(&each, (recorded_ms - bare_ms) / CHILDREN);
            bench_series_add(&each_cpu, (recorded_cpu_us - bare_cpu_us) / 1000 / CHILDREN);
            bench_series_add(&each_alone, (recorded_ms - bare_ms - command_ms) / CHILDREN);
        }
    }
    bench_print(json,
                &(struct bench_line){.bench = "child",
                                     .metric = "sh, a loop of 200 /bin/true, under stallbox run",
                                     .unit = "ms",
                                     .peer = "the same, bare"},
                &recorded, &bare);
    bench_print(json,
                &(struct bench_line){.bench = "child",
                                     .metric = "that loop: each child over bare, with the command's part",
                                     .unit = "ms",
                                     .reach = "value <= 0.5"},
                &each, NULL);
    bench_print(json,
                &(struct bench_line){.bench = "child",
                                     .metric = "that loop: each child over bare, without the command's part",
                                     .unit = "ms"},
                &each_alone, NULL);
    bench_print(
        json,
        &(struct bench_line){.bench = "child",
                             .metric = "that loop: processor time of each child over bare, with the command's part",
                             .unit = "ms"},
        &each_cpu, NULL);
    bench_print(json,
                &(struct bench_line){.bench = "child",
                                     .metric = "stallbox run, of a shell that starts nothing: over bare",
                                     .unit = "ms"},
                &command, NULL);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/bench-child-XXXXXX", command[256];
    int rounds = ROUNDS_DEFAULT;
    bool json = false, has_spawn = true, has_loop = true;
    const char *library = BENCH_LIBRARY;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
            rounds = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--json") == 0) {
            json = true;
        } else if (strcmp(argv[i], "--loop") == 0) {
            has_spawn = false;
        } else if (strcmp(argv[i], "--spawn") == 0) {
            has_loop = false;
        } else if (argv[i][0] == '-') {
            fprintf(stderr, "usage: bench_child [--json] [--rounds N] [--loop|--spawn] [LIBRARY]\n");
            return 2;
        } else {
            library = argv[i];
        }
    }
    if (rounds <= 0 || rounds > BENCH_ROUNDS_MAX || mkdtemp(folder) == NULL) {
        give_up("no rounds, too many, or no folder for them");
    }
    prepare(folder, library);
    bench_print_heading(json, "a program of milliseconds");
    if (has_spawn) {
        measure_spawns(json, rounds);
    }
    if (has_loop) {
        measure_loop(json, rounds, folder);
    }
    snprintf(command, sizeof command, "rm -rf '%s' '%s'", folder, strchr(recordings, '=') + 1);
    return system(command) == 0 ? 0 : 1;
}
