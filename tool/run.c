/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - `stallbox run`: a program with the recorder in it, and the companion that looks after what it records. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "child.h"
#include "command.h"
#include "courier.h"
#include "options.h"
#include "policy.h"
#include "preload.h"
#include "recording_file.h"
#include "recording_format.h"
#include "recording_recover.h"
#include "token_file.h"

extern char **environ;

enum {
    DELIVERY_GRACE_MS = 5000, /* after the program's end; what is not delivered then waits in the spool */
};

enum {
    OPTION_SPOOL,
    OPTION_SERVER,
    OPTION_TOKEN_FILE,
    OPTION_ANR,
    OPTION_SLOW_MESSAGE,
    OPTION_QUIET,
    OPTION_COUNT
};
static const struct sbx_option options[OPTION_COUNT] = {
    [OPTION_SPOOL] = {"--spool", 's', "DIR",
                      "where snapshots and payloads are kept; made when missing\n"
                      "(default $XDG_STATE_HOME/stallbox/spool or ~/.local/state/stallbox/spool)"},
    [OPTION_SERVER] = {"--server", 'u', "URL", "deliver payloads there; without it they wait in the spool"},
    [OPTION_TOKEN_FILE] = {"--token-file", 't', "FILE", "its first line is the secret the server wants to hear"},
    [OPTION_ANR] = {"--anr-ms", 0, "N", "a message open for N ms is a stall of kind anr (default 5000; 0: never)"},
    [OPTION_SLOW_MESSAGE] =
        {"--slow-message-ms", 0, "N",
         "a message that took N ms is a stall of kind slow_message\nwhen it ends (default 1000; 0: never)"},
    [OPTION_QUIET] = {"--quiet", 'q', NULL, "say nothing at the end but what went wrong"},
};

struct run {
    const char *spool_path, *server_url, *token_path;
    char **command;
    bool is_quiet;
    struct sbx_policy policy;
    char spool_absolute[PATH_MAX], recordings[SBX_RECORDING_PATH_MAX];
    char library[PATH_MAX];
    char token[SBX_TOKEN_MAX + 1];
    int raw_watch; /* inotify on SPOOL/raw; -1: none */
};

void sbx_usage_run(FILE *out)
{
    fputs(
        "usage: stallbox run [OPTION]... -- COMMAND [ARGUMENT]...\n"
        "\n"
        "Run COMMAND with the recorder in it, unchanged otherwise: its input, output, signals and exit status\n"
        "pass through. When its main loop does not answer, the seconds before are kept, also when it is killed then.\n"
        "\n",
        out);
    sbx_options_print(options, OPTION_COUNT, out);
    fputs("\nSTALLBOX_DISABLE=1 in the environment runs COMMAND without the recorder.\n"
          "\nexample: stallbox run --server http://127.0.0.1:7311 -- redis-server --port 7777\n",
          out);
}

static int read_options(struct run *run, int argc, char **argv)
{
    struct sbx_option_reader reader;
    sbx_option_reader_init(&reader, "run", options, OPTION_COUNT, argc, argv);
    for (;;) {
        uint64_t number = 0;
        int option = sbx_option_next(&reader);
        switch (option) {
        case OPTION_SPOOL:
            run->spool_path = reader.value;
            break;
        case OPTION_SERVER:
            run->server_url = reader.value;
            break;
        case OPTION_TOKEN_FILE:
            run->token_path = reader.value;
            break;
        case OPTION_ANR:
        case OPTION_SLOW_MESSAGE:
            if (!sbx_option_number(&reader, option, 0, UINT32_MAX, &number)) {
                return SBX_EXIT_USAGE;
            }
            *(option == OPTION_ANR ? &run->policy.capture.anr_ms : &run->policy.capture.slow_message_ms) =
                (uint32_t)number;
            break;
        case OPTION_QUIET:
            run->is_quiet = true;
            break;
        case SBX_OPTION_HELP:
            sbx_usage_run(stdout);
            return -1;
        case SBX_OPTION_BAD:
            return SBX_EXIT_USAGE;
        case SBX_OPTION_OPERAND:
            run->command = argv + reader.next - 1;
            break;
        case SBX_OPTION_END:
            return sbx_usage_error("run", "no command to run");
        }
        if (run->command != NULL) {
            break;
        }
    }
    if (run->server_url != NULL && strncmp(run->server_url, "http://", 7) != 0 &&
        strncmp(run->server_url, "https://", 8) != 0) {
        return sbx_usage_error("run", "--server '%s' is no http:// or https:// address", run->server_url);
    }
    const char *wrong = sbx_policy_check(&run->policy);
    if (wrong != NULL) {
        return sbx_usage_error("run", "the value for %s is out of range", wrong);
    }
    return 0;
}

/* The library lies beside us: in the build tree, or where `cmake --install` put both. */
static bool find_library(char *path_out)
{
    static const char *const places[] = {"../agent/libstallbox.so", "../" STALLBOX_LIBRARY_FOLDER "/libstallbox.so.0"};
    const char *given = getenv("STALLBOX_LIBRARY");
    if (given != NULL) {
        return realpath(given, path_out) != NULL;
    }
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length <= 0) {
        return false;
    }
    own[length] = 0;
    char *slash = strrchr(own, '/');
    if (slash == NULL) {
        return false;
    }
    slash[1] = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char candidate[2 * PATH_MAX];
        snprintf(candidate, sizeof candidate, "%s%s", own, places[i]);
        if (realpath(candidate, path_out) != NULL) {
            return true;
        }
    }
    return false;
}

static bool prepare_recording(struct run *run)
{
    const char *given = getenv(SBX_ENV_RECORDINGS);
    int result = 0;
    if (given != NULL) {
        snprintf(run->recordings, sizeof run->recordings, "%s", given);
    } else {
        result = sbx_recordings_default_folder(run->recordings, sizeof run->recordings);
    }
    if (result == 0) {
        result = sbx_make_folders(run->recordings);
    }
    if (result != 0) {
        fprintf(stderr, "stallbox run: %s: %s; running without the recorder\n", run->recordings, strerror(-result));
        return false;
    }
    if (!find_library(run->library)) {
        fprintf(stderr, "stallbox run: libstallbox.so is not beside this program and STALLBOX_LIBRARY names none; "
                        "running without the recorder\n");
        return false;
    }
    return true;
}

/* The program's environment: ours, and what the agent must know. */
static char **make_environment(const struct run *run)
{
    size_t count = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **made = calloc(count + 6, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    const char *preloaded = getenv("LD_PRELOAD");
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0) {
            made[used++] = environ[i];
        }
    }
    bool is_first = preloaded == NULL || preloaded[0] == 0;
    struct sbx_preload_orders orders = {.layout_hash = sbx_layout_hash()};
    char orders_text[SBX_ORDERS_TEXT_BYTES];
    sbx_policy_settings(&run->policy, &orders.settings);
    sbx_orders_print(&orders, orders_text);
    char *texts[5] = {NULL};
    if (asprintf(&texts[0], "LD_PRELOAD=%s%s%s", run->library, is_first ? "" : ":", is_first ? "" : preloaded) < 0 ||
        asprintf(&texts[1], SBX_ENV_AUTOSTART "=1") < 0 ||
        asprintf(&texts[2], SBX_ENV_SPOOL "=%s", run->spool_absolute) < 0 ||
        asprintf(&texts[3], SBX_ENV_RECORDINGS "=%s", run->recordings) < 0 ||
        asprintf(&texts[4], SBX_ENV_ORDERS "=%s", orders_text) < 0) {
        free(made);
        return NULL; /* out of memory before anything ran: the few bytes go with us */
    }
    for (size_t i = 0; i < 5; i++) {
        made[used++] = texts[i];
    }
    return made;
}

static void watch_raw_folder(struct run *run)
{
    char raw[PATH_MAX + 8];
    snprintf(raw, sizeof raw, "%s/raw", run->spool_absolute);
    run->raw_watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (run->raw_watch >= 0 && inotify_add_watch(run->raw_watch, raw, IN_MOVED_TO) < 0) {
        close(run->raw_watch);
        run->raw_watch = -1; /* the courier looks by itself at the end, and whenever it is called */
    }
}

/* Wait for the program's end, telling the courier of snapshots meanwhile. */
static void attend(struct run *run, struct sbx_child *child, struct sbx_courier *courier)
{
    struct pollfd fds[2] = {{.fd = child->signal_fd, .events = POLLIN}, {.fd = run->raw_watch, .events = POLLIN}};
    while (!child->has_ended) {
        /* Without inotify a look every two seconds has to do. */
        if (poll(fds, 2, run->raw_watch < 0 ? 2000 : -1) < 0 && errno != EINTR) {
            break;
        }
        sbx_child_on_signal(child);
        char events[4096];
        bool has_news = run->raw_watch < 0;
        while (run->raw_watch >= 0 && read(run->raw_watch, events, sizeof events) > 0) {
            has_news = true;
        }
        if (has_news) {
            sbx_courier_call(courier);
        }
    }
}

static void complain(void *context, const char *path, const char *why)
{
    (void)context;
    fprintf(stderr, "stallbox run: %s: %s\n", path, why);
}

static void recover(struct run *run)
{
    struct sbx_recovery_counts counts;
    int result = run->recordings[0] != 0
                     ? sbx_recording_recover_folder(run->recordings, run->spool_absolute, complain, NULL, &counts)
                     : 0;
    if (result != 0) {
        fprintf(stderr, "stallbox run: %s: %s\n", run->recordings, strerror(-result));
    }
}

static void tell(const struct run *run, const struct sbx_courier_counts *counts)
{
    if (counts->unreadable != 0) {
        fprintf(stderr, "stallbox run: %llu snapshots could not be encoded; they are in %s/bad\n",
                (unsigned long long)counts->unreadable, run->spool_absolute);
    }
    if (run->is_quiet || counts->packed == 0) {
        return;
    }
    fprintf(stderr, "stallbox run: %llu stall%s recorded", (unsigned long long)counts->packed,
            counts->packed == 1 ? "" : "s");
    if (run->server_url != NULL) {
        fprintf(stderr, ", %llu delivered to %s, %llu waiting", (unsigned long long)counts->sent, run->server_url,
                (unsigned long long)counts->waiting);
    }
    fprintf(stderr, "; see: stallbox report %s\n", run->spool_absolute);
}

/* Everything around the program's life. Returns an exit status when the program never ran. */
static int run_command(struct run *run, struct sbx_spool *spool)
{
    struct sbx_redaction redaction;
    struct sbx_child child;
    int result = sbx_child_prepare(&child);
    if (result != 0) {
        return sbx_failure("run", "signals: %s", strerror(-result));
    }
    run->raw_watch = -1;
    bool is_recording = prepare_recording(run);
    recover(run); /* what an earlier run left behind */
    char **environment = is_recording ? make_environment(run) : environ;
    watch_raw_folder(run);
    sbx_policy_redaction(&run->policy, &redaction);
    struct sbx_courier *courier =
        sbx_courier_start(spool, &redaction, run->server_url, run->token[0] != 0 ? run->token : NULL);
    if (courier == NULL || environment == NULL) {
        return sbx_failure("run", "out of memory");
    }
    result = sbx_child_start(&child, run->command, environment);
    if (result == 0) {
        attend(run, &child, courier);
        recover(run);
    }
    struct sbx_courier_counts counts;
    sbx_courier_finish(courier, result == 0 ? DELIVERY_GRACE_MS : 0, &counts);
    if (result != 0) {
        return sbx_failure("run", "%s: %s", run->command[0], strerror(-result));
    }
    tell(run, &counts);
    sbx_child_end_likewise(&child);
}

int sbx_command_run(int argc, char **argv)
{
    static struct run run;
    char why[PATH_MAX + 128], default_spool[SBX_RECORDING_PATH_MAX];
    struct sbx_spool *spool = NULL;
    run.policy = *sbx_policy_default();
    int status = read_options(&run, argc, argv);
    if (status != 0) {
        return status < 0 ? SBX_EXIT_DONE : status;
    }
    if (run.token_path != NULL && sbx_token_read(run.token_path, run.token, why, sizeof why) != 0) {
        return sbx_failure("run", "%s", why);
    }
    if (run.spool_path == NULL) {
        if (sbx_spool_default_path(default_spool, sizeof default_spool) != 0) {
            return sbx_failure("run", "neither XDG_STATE_HOME nor HOME says where the spool is; use --spool DIR");
        }
        run.spool_path = default_spool;
    }
    if (sbx_spool_open(run.spool_path, NULL, &spool, why, sizeof why) != 0) {
        return sbx_failure("run", "%s", why);
    }
    if (realpath(run.spool_path, run.spool_absolute) == NULL) {
        return sbx_failure("run", "%s: %s", run.spool_path, strerror(errno));
    }
    if (strlen(run.spool_absolute) + 1 > SBX_PATH_MAX) {
        return sbx_failure("run", "%s: the path is longer than %d bytes", run.spool_absolute, SBX_PATH_MAX - 1);
    }
    status = run_command(&run, spool);
    sbx_spool_close(spool);
    return status;
}
