/* SPDX-License-Identifier: Apache-2.0 */
/* look.c - `stallbox look`: what any process does now, without preparation. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "command.h"
#include "look_print.h"
#include "options.h"
#include "recording_file.h"
#include "terminal.h"

enum {
    WATCH_SECONDS_MAX = 3600,
    WATCH_INTERVAL_NS = 20000000, /* 50 looks a second */
    WATCH_COST = 10               /* of the time, at most a tenth is spent looking */
};

enum {
    OPTION_JSON,
    OPTION_WATCH,
    OPTION_SYMBOLS,
    OPTION_COUNT
};
static const struct sbx_option options[OPTION_COUNT] = {
    [OPTION_JSON] = {"--json", 'j', NULL, "print JSON"},
    [OPTION_WATCH] = {"--watch", 'w', "SECONDS", "look again and again for so long, and print where the time went"},
    [OPTION_SYMBOLS] = {"--symbols", 's', "DIR",
                        "look for debug files here first, by build-id or as NAME.debug;\nmay be repeated"},
};

struct request {
    pid_t pid;
    bool is_json;
    uint64_t watch_seconds; /* 0: one look */
    const char **symbol_dirs;
    size_t symbol_dir_count;
};

void sbx_usage_look(FILE *out)
{
    fputs("usage: stallbox look [OPTION]... PID\n"
          "\n"
          "Print what each thread of a process does now: the stacks of sleeping threads, what they wait for, which "
          "thread\n"
          "holds it, and deadlocks. The process needs no preparation, is not stopped, and is not changed.\n"
          "The stack of a running thread cannot be read this way: its CPU time is printed instead.\n"
          "\n"
          "The command works for your own processes where the kernel lets you trace them (kernel.yama.ptrace_scope), "
          "and\n"
          "for all processes as root; from the host also for those in containers.\n"
          "\n",
          out);
    sbx_options_print(options, OPTION_COUNT, out);
}

/* ---- the command line ---- */

static int read_pid(struct request *request, const char *text)
{
    char *end;
    errno = 0;
    long pid = strtol(text, &end, 10);
    if (request->pid != 0) {
        return sbx_usage_error("look", "one PID is wanted, but got '%s' too", text);
    }
    if (errno != 0 || *end != '\0' || end == text || pid <= 0 || pid > INT32_MAX) {
        return sbx_usage_error("look", "'%s' is no PID", text);
    }
    request->pid = (pid_t)pid;
    return SBX_EXIT_DONE;
}

static int read_options(int argc, char **argv, struct request *request, bool *help_out)
{
    struct sbx_option_reader reader;
    sbx_option_reader_init(&reader, "look", options, OPTION_COUNT, argc, argv);
    for (;;) {
        int status = SBX_EXIT_DONE;
        switch (sbx_option_next(&reader)) {
        case OPTION_JSON:
            request->is_json = true;
            break;
        case OPTION_WATCH:
            if (!sbx_option_number(&reader, OPTION_WATCH, 1, WATCH_SECONDS_MAX, &request->watch_seconds)) {
                status = SBX_EXIT_USAGE;
            }
            break;
        case OPTION_SYMBOLS:
            request->symbol_dirs[request->symbol_dir_count++] = reader.value;
            break;
        case SBX_OPTION_OPERAND:
            status = read_pid(request, reader.value);
            break;
        case SBX_OPTION_HELP:
            *help_out = true;
            return SBX_EXIT_DONE;
        case SBX_OPTION_END:
            return request->pid != 0 ? SBX_EXIT_DONE : sbx_usage_error("look", "it wants: look PID");
        default:
            return SBX_EXIT_USAGE;
        }
        if (status != SBX_EXIT_DONE) {
            return status;
        }
    }
}

/* ---- the work ---- */

static int refuse(pid_t pid, int error)
{
    if (error == -ESRCH) {
        return sbx_failure("look", "there is no process %d", (int)pid);
    }
    if (error == -EPERM || error == -EACCES) {
        return sbx_failure(
            "look",
            "process %d may not be looked at: %s (it belongs to another user, or kernel.yama.ptrace_scope "
            "forbids it; root may)",
            (int)pid, strerror(-error));
    }
    return sbx_failure("look", "process %d: %s", (int)pid, strerror(-error));
}

static int look_once(struct sbx_process_view *view, const struct request *request)
{
    struct sbx_process_look look;
    int result = sbx_process_look_take(view, &look);
    if (result != 0) {
        return refuse(request->pid, result);
    }
    (request->is_json ? sbx_look_print_json : sbx_look_print_text)(view, &look, stdout);
    sbx_process_look_release(&look);
    return SBX_EXIT_DONE;
}

static volatile sig_atomic_t was_interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    was_interrupted = 1;
}

static void sleep_until(int64_t until_ns)
{
    struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
    while (!was_interrupted && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

/* Look until the time is over, the process ends, or Ctrl-C comes; what was seen so far is then printed. */
static int look_on(struct sbx_process_view *view, const struct request *request)
{
    struct sbx_look_watch watch;
    struct sigaction action = {.sa_handler = interrupt};
    int64_t begin_ns = (int64_t)sbx_now_ns(), end_ns = begin_ns + (int64_t)request->watch_seconds * 1000000000;
    int result = 0;
    sigaction(SIGINT, &action, NULL);
    sbx_look_watch_begin(&watch, request->pid);
    for (int64_t at_ns = begin_ns; result == 0 && at_ns < end_ns && !was_interrupted; at_ns = (int64_t)sbx_now_ns()) {
        struct sbx_process_look look;
        result = sbx_process_look_take(view, &look);
        if (result == 0 && look.has_begun_anew) { /* the counts belong to the previous program */
            fprintf(stderr, "stallbox look: process %d called exec meanwhile; the watch begins anew\n",
                    (int)request->pid);
            sbx_look_watch_release(&watch);
            sbx_look_watch_begin(&watch, request->pid);
        }
        if (result == 0) {
            int64_t pause_ns = look.took_ns * (WATCH_COST - 1);
            result = sbx_look_watch_add(&watch, &look, at_ns);
            sbx_process_look_release(&look);
            sbx_progress_show("seconds watched", (unsigned long)((at_ns - begin_ns) / 1000000000),
                              (unsigned long)request->watch_seconds);
            int64_t next_ns = (int64_t)sbx_now_ns() + pause_ns;
            sleep_until(next_ns > at_ns + WATCH_INTERVAL_NS ? next_ns : at_ns + WATCH_INTERVAL_NS);
        }
    }
    sbx_progress_clear();
    if (watch.looks == 0) {
        result = refuse(request->pid, result != 0 ? result : -ESRCH);
    } else {
        sbx_look_watch_sort(&watch);
        (request->is_json ? sbx_look_watch_print_json : sbx_look_watch_print_text)(view, &watch, stdout);
        if (result == -ESRCH) {
            fprintf(stderr, "stallbox look: process %d ended meanwhile\n", (int)request->pid);
        }
        result = result == 0 || result == -ESRCH ? SBX_EXIT_DONE : refuse(request->pid, result);
    }
    sbx_look_watch_release(&watch);
    return result;
}

static int look(const struct request *request)
{
    static struct sbx_rows_cache cache;
    char folder[SBX_ROWS_FOLDER_MAX];
    struct sbx_process_view view;
    bool has_cache = sbx_rows_default_folder(folder, sizeof folder) == 0 && sbx_rows_cache_open(&cache, folder) == 0;
    int result = sbx_process_view_open(&view, request->pid, has_cache ? &cache : NULL, request->symbol_dirs,
                                       request->symbol_dir_count);
    if (result != 0) {
        return refuse(request->pid, result);
    }
    int status = request->watch_seconds > 0 ? look_on(&view, request) : look_once(&view, request);
    sbx_process_view_close(&view);
    return status;
}

int sbx_command_look(int argc, char **argv)
{
    struct request request = {0};
    bool help = false;
    request.symbol_dirs = calloc((size_t)argc, sizeof *request.symbol_dirs); /* no more than the number of arguments */
    if (request.symbol_dirs == NULL) {
        return sbx_failure("look", "%s", strerror(ENOMEM));
    }
    int status = read_options(argc, argv, &request, &help);
    if (help) {
        sbx_usage_look(stdout);
    } else if (status == SBX_EXIT_DONE) {
        status = look(&request);
    }
    free(request.symbol_dirs);
    return status;
}
