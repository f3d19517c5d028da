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
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "command.h"
#include "consent.h"
#include "consent_order.h"
#include "courier.h"
#include "delivery_options.h"
#include "handover_taker.h"
#include "marks.h"
#include "options.h"
#include "own_folder.h"
#include "policy.h"
#include "policy_follower.h"
#include "preload.h"
#include "recording_file.h"
#include "recording_folder.h"
#include "recording_format.h"
#include "recording_recover.h"

extern char **environ;

enum {
    DELIVERY_GRACE_MS = 5000, /* after the program's end; what is not delivered then waits in the spool */
};

enum {
    OPTION_ANR = SBX_DELIVERY_OPTION_COUNT,
    OPTION_SLOW_MESSAGE,
    OPTION_SLOW_FRAME,
    OPTION_AFTER,
    OPTION_MAX_CPU,
    OPTION_NO_CRASH,
    OPTION_QUIET,
    OPTION_COUNT
};
static const struct sbx_option options[OPTION_COUNT] = {
    SBX_DELIVERY_OPTION_ROWS("where snapshots and payloads are kept; made when missing\n"
                             "(default $XDG_STATE_HOME/stallbox/spool or ~/.local/state/stallbox/spool)",
                             "deliver payloads there; without it they wait in the spool",
                             "obey the signed policy of the application whose KEYSET FILE begins with:\n"
                             "the one in FILE, and newer ones of the server's (see docs/POLICY.md)"),
    [OPTION_ANR] = {"--anr-ms", 0, "N", "a message open for N ms is a stall of kind anr (default 5000; 0: never)"},
    [OPTION_SLOW_MESSAGE] =
        {"--slow-message-ms", 0, "N",
         "a message that took N ms is a stall of kind slow_message\nwhen it ends (default 1000; 0: never)"},
    [OPTION_SLOW_FRAME] = {"--slow-frame-ms", 0, "N",
                           "a frame that took N ms is a stall of kind slow_frame, and so is a burst of\n"
                           "dropped ones (default 700; 0: never)"},
    [OPTION_AFTER] = {"--after-ms", 0, "N", "go on recording for N ms after a stall before it is kept (default 0)"},
    [OPTION_MAX_CPU] = {"--max-cpu-permille", 0, "N",
                        "record less when it costs more than N thousandths of the program's CPU time\n"
                        "(1 to 50, default 5)"},
    [OPTION_NO_CRASH] = {"--no-crash", 0, NULL, "leave fatal signals alone: no handler, and no snapshot of a crash"},
    [OPTION_QUIET] = {"--quiet", 'q', NULL, "say nothing at the end but what went wrong"},
};

struct run {
    struct sbx_delivery_options delivery;
    bool is_told[OPTION_COUNT]; /* on the command line: that holds over any policy */
    char **command;
    bool is_quiet;
    struct sbx_policy policy; /* in force */
    struct sbx_policy told;   /* the default with what the command line says */
    char spool_absolute[PATH_MAX], recordings[SBX_RECORDING_PATH_MAX];
    char library[PATH_MAX];
    struct sbx_policy_follower *follower; /* NULL: no policy to follow */
    struct sbx_courier *courier;
    struct sbx_handover_taker *taker; /* NULL: nobody makes the snapshots that the program cannot write */
    uint64_t key;                     /* by which it knows its recordings; 0: there is none */
    struct sbx_sealer *sealer;        /* NULL: neither a key nor a KEYSET to seal to */
    int raw_watch;                    /* inotify on SPOOL/raw, and on SPOOL for what the user says; -1: none */
    int root_watch;                   /* which of the two is SPOOL's; -1: neither */
};

void sbx_usage_run(FILE *out)
{
    fputs("usage: stallbox run [OPTION]... -- COMMAND [ARGUMENT]...\n"
          "\n"
          "Run COMMAND with the recorder in it, unchanged otherwise: its input, output, signals and exit status\n"
          "pass through. When its main loop does not answer, the seconds before are kept, also when it is killed then; "
          "and\n"
          "when it dies of a fault of its own (SIGSEGV, abort).\n"
          "\n",
          out);
    sbx_options_print(options, OPTION_COUNT, out);
    fputs("\nSTALLBOX_DISABLE=1 in the environment runs COMMAND without the recorder.\n"
          "\nexample: stallbox run --server http://127.0.0.1:7311 -- redis-server --port 7777\n",
          out);
}

static uint32_t *limit_of(struct sbx_capture_settings *settings, int option)
{
    switch (option) {
    case OPTION_ANR:
        return &settings->anr_ms;
    case OPTION_SLOW_MESSAGE:
        return &settings->slow_message_ms;
    case OPTION_SLOW_FRAME:
        return &settings->slow_frame_ms;
    case OPTION_MAX_CPU:
        return &settings->max_cpu_permille;
    default:
        return &settings->after_ms;
    }
}

static int read_options(struct run *run, int argc, char **argv)
{
    struct sbx_option_reader reader;
    sbx_option_reader_init(&reader, "run", options, OPTION_COUNT, argc, argv);
    for (;;) {
        uint64_t number = 0;
        int option = sbx_option_next(&reader);
        switch (option) {
        case OPTION_ANR:
        case OPTION_SLOW_MESSAGE:
        case OPTION_SLOW_FRAME:
        case OPTION_AFTER:
        case OPTION_MAX_CPU:
            if (!sbx_option_number(&reader, option, 0, UINT32_MAX, &number)) {
                return SBX_EXIT_USAGE;
            }
            *limit_of(&run->policy.capture, option) = (uint32_t)number;
            run->is_told[option] = true;
            break;
        case OPTION_NO_CRASH:
            run->policy.capture.crash = SBX_CRASH_OFF;
            run->is_told[option] = true;
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
        default:
            if (!sbx_delivery_options_take(&run->delivery, &reader, option)) {
                return SBX_EXIT_USAGE;
            }
        }
        if (run->command != NULL) {
            break;
        }
    }
    if (run->delivery.server_url != NULL && !sbx_option_is_server("run", run->delivery.server_url)) {
        return SBX_EXIT_USAGE;
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
    char why[SBX_RECORDING_PATH_MAX + 128] = "";
    int result;
    if (given == NULL) {
        result = sbx_recordings_choose(run->recordings, why, sizeof why);
    } else {
        snprintf(run->recordings, sizeof run->recordings, "%s", given);
        int folder = sbx_own_folder_make(run->recordings);
        result = folder < 0 ? folder : 0;
        if (folder >= 0) {
            close(folder);
        } else {
            sbx_own_folder_explain(run->recordings, folder, why, sizeof why);
        }
    }
    if (result != 0) {
        fprintf(stderr, "stallbox run: recordings: %s; running without the recorder\n", why);
        return false;
    }
    if (!find_library(run->library)) {
        fprintf(stderr, "stallbox run: libstallbox.so is not beside this program and STALLBOX_LIBRARY names none; "
                        "running without the recorder\n");
        return false;
    }
    return true;
}

/* Is that a variable that we give the program? One of another `stallbox run` around us is not handed on. */
static bool is_ours(const char *variable)
{
    static const char *const names[] = {"LD_PRELOAD=",     SBX_ENV_COMPANION "=",  SBX_ENV_AUTOSTART "=",
                                        SBX_ENV_SPOOL "=", SBX_ENV_RECORDINGS "=", SBX_ENV_ORDERS "="};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(variable, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* The program's environment: ours, and what the agent must know. */
static char **make_environment(const struct run *run)
{
    size_t count = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **made = calloc(count + 8, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    const char *preloaded = getenv("LD_PRELOAD");
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_ours(environ[i]) && strncmp(environ[i], "ASAN_OPTIONS=", 13) != 0) {
            made[used++] = environ[i];
        }
    }
    bool is_first = preloaded == NULL || preloaded[0] == 0;
    struct sbx_preload_orders orders = {.layout_hash = sbx_layout_hash(), .companion_key = run->key};
    char orders_text[SBX_ORDERS_TEXT_BYTES];
    sbx_policy_settings(&run->policy, &orders.settings);
    sbx_orders_print(&orders, orders_text);
    /* The address sanitizer's run-time, where it is a library of its own, ends a program in which another library comes
     * first, because that one's functions could stand before its own. Ours has none. */
    const char *sanitizer = getenv("ASAN_OPTIONS");
    bool is_alone = sanitizer == NULL || sanitizer[0] == 0;
    char *texts[7] = {NULL};
    if (asprintf(&texts[0], "LD_PRELOAD=%s%s%s", run->library, is_first ? "" : ":", is_first ? "" : preloaded) < 0 ||
        asprintf(&texts[1], SBX_ENV_AUTOSTART "=%*s", SBX_CHILD_DIGITS, "") < 0 ||
        asprintf(&texts[2], SBX_ENV_SPOOL "=%s", run->spool_absolute) < 0 ||
        asprintf(&texts[3], SBX_ENV_RECORDINGS "=%s", run->recordings) < 0 ||
        asprintf(&texts[4], SBX_ENV_ORDERS "=%s", orders_text) < 0 ||
        asprintf(&texts[6], "ASAN_OPTIONS=%s%sverify_asan_link_order=0", is_alone ? "" : sanitizer,
                 is_alone ? "" : ":") < 0 ||
        (run->follower == NULL && asprintf(&texts[5], SBX_ENV_COMPANION "=%d-0", (int)getpid()) < 0)) {
        free(made);
        return NULL; /* out of memory before anything ran: the few bytes go with us */
    }
    for (size_t i = 0; i < 5; i++) {
        made[used++] = texts[i];
    }
    made[used++] = texts[6];
    /* With or without a policy: whoever steers the other users of this spool leaves it to us. */
    made[used++] = run->follower != NULL
                       ? (char *)(uintptr_t)sbx_follower_mark(run->follower) /* as execve() takes it */
                       : texts[5];
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
    run->root_watch = -1;
    if (run->raw_watch >= 0) { /* what the user says */
        run->root_watch = inotify_add_watch(run->raw_watch, run->spool_absolute, IN_MOVED_TO | IN_DELETE);
    }
}

/* The user said something: the courier has to ask the server to delete, or may send again. And the program is to read it,
 * wherever its recording lies: who said it may not have found it. */
static void on_consent(const struct run *run)
{
    struct sbx_consent_told told;
    if (sbx_consent_tell(run->recordings, run->spool_absolute, SBX_CONSENT_ORDER_READ, 0, &told) != 0) {
        /* It reads the spool by itself, within seconds while it works. */
    }
}

/* Read what happened in the folders. Returns whether the courier is to be called. Payloads come and go in the spool by his
 * own hand: these he knows of. */
static bool read_events(const struct run *run)
{
    _Alignas(struct inotify_event) char events[4096];
    bool has_news = false, has_said = false;
    ssize_t bytes;
    while ((bytes = read(run->raw_watch, events, sizeof events)) > 0) {
        for (char *at = events; at < events + bytes;) {
            const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
            bool is_consent = event->len > 0 && strcmp(event->name, SBX_CONSENT_FILE) == 0;
            has_said |= event->wd == run->root_watch && is_consent;
            has_news |= event->wd != run->root_watch || is_consent;
            at += sizeof *event + event->len;
        }
    }
    if (has_said) {
        on_consent(run);
    }
    return has_news;
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
        if (run->raw_watch < 0 || read_events(run)) {
            sbx_courier_call(courier);
        }
    }
}

static void complain(void *context, const char *path, const char *why)
{
    (void)context;
    fprintf(stderr, "stallbox run: %s: %s\n", path, why);
}

/* Make snapshots of what dead processes left. `child` has ended, or is NULL. */
static void recover(struct run *run, const struct sbx_child *child)
{
    struct sbx_recovery_counts counts;
    struct sbx_known_death death = {.pid = 0};
    if (child != NULL) {
        death = (struct sbx_known_death){
            .pid = (uint32_t)child->pid,
            .start_ticks = child->start_ticks,
            .signal = WIFSIGNALED(child->status) ? (uint32_t)WTERMSIG(child->status) : 0,
            .at_ns = child->ended_ns,
        };
    }
    struct sbx_recording_folders folders;
    sbx_recordings_find(getenv(SBX_ENV_RECORDINGS), &folders);
    for (unsigned i = 0; i < folders.count; i++) {
        const struct sbx_recovery_order order = {.folder = folders.paths[i],
                                                 .spool = run->spool_absolute,
                                                 .death = child != NULL ? &death : NULL,
                                                 .complain = complain};
        int result = sbx_recording_recover(&order, &counts);
        if (result != 0 && child == NULL) { /* told once */
            fprintf(stderr, "stallbox run: %s: %s\n", folders.paths[i], strerror(-result));
        }
    }
}

/* What no snapshot was made of, also when the program ended well: the agent, which nobody hears, has asked us for each
 * that it could not write. */
static void tell_failures(const struct sbx_handover_counts *counts)
{
    if (counts->failed != 0) {
        fprintf(stderr, "stallbox run: %llu snapshot%s could not be written: %s\n", (unsigned long long)counts->failed,
                counts->failed == 1 ? "" : "s",
                counts->last_error == ETIME ? "not in time" : strerror(counts->last_error));
    }
}

static void tell(const struct run *run, const struct sbx_courier_counts *counts)
{
    if (counts->unreadable != 0) {
        fprintf(stderr, "stallbox run: %llu snapshots could not be encoded; they are in %s/bad\n",
                (unsigned long long)counts->unreadable, run->spool_absolute);
    }
    if (counts->unsealed != 0) {
        fprintf(stderr, "stallbox run: %llu snapshots wait in %s/raw: sealing is demanded and no key holds now\n",
                (unsigned long long)counts->unsealed, run->spool_absolute);
    }
    if (counts->expired != 0) {
        fprintf(stderr, "stallbox run: %s: %llu had waited for too long and were removed unsent\n", run->spool_absolute,
                (unsigned long long)counts->expired);
    }
    if (run->is_quiet || counts->packed == 0) {
        return;
    }
    fprintf(stderr, "stallbox run: %llu stall%s recorded", (unsigned long long)counts->packed,
            counts->packed == 1 ? "" : "s");
    if (run->delivery.server_url != NULL) {
        fprintf(stderr, ", %llu delivered to %s, %llu waiting", (unsigned long long)counts->sent,
                run->delivery.server_url, (unsigned long long)counts->waiting);
    }
    fprintf(stderr, "; see: stallbox report %s\n", run->spool_absolute);
}

/* Another policy is in force: what is packed from now on, and what may be sent, follows it. */
static void on_policy(void *context, const struct sbx_policy *policy)
{
    struct run *run = context;
    struct sbx_redaction redaction;
    sbx_policy_redaction(policy, &redaction);
    if (run->courier != NULL) {
        sbx_courier_redact(run->courier, &redaction);
    }
}

/* Whom payloads are sealed to, if anybody. */
static void on_keyset(void *context, const struct sbx_keyset *keyset, uint64_t now_s)
{
    struct run *run = context;
    sbx_sealer_follow(run->sealer, keyset->seal_keys, keyset->seal_key_count, now_s);
}

/* What a person said on the command line holds over any policy. */
static void hold_to_command_line(void *context, struct sbx_policy *policy)
{
    static const int limits[] = {OPTION_ANR, OPTION_SLOW_MESSAGE, OPTION_SLOW_FRAME, OPTION_AFTER, OPTION_MAX_CPU};
    struct run *run = context;
    for (size_t i = 0; i < SBX_COUNT_OF(limits); i++) {
        if (run->is_told[limits[i]]) {
            *limit_of(&policy->capture, limits[i]) = *limit_of(&run->told.capture, limits[i]);
        }
    }
    if (run->is_told[OPTION_NO_CRASH]) {
        policy->capture.crash = SBX_CRASH_OFF;
    }
}

/* The file that execvp() will find, for knowing when it is another version. NULL: none. */
static char *find_program(const char *name)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/') != NULL) {
        return strdup(name);
    }
    for (const char *at = path != NULL ? path : "/bin:/usr/bin"; *at != '\0';) {
        size_t length = strcspn(at, ":");
        char *candidate;
        if (asprintf(&candidate, "%.*s/%s", (int)length, at, name) < 0) {
            return NULL;
        }
        if (access(candidate, X_OK) == 0) {
            return candidate;
        }
        free(candidate);
        at += length + (at[length] == ':');
    }
    return NULL;
}

/* Begin to follow the policy, before the program starts: what it starts with is in run->policy then. Returns whether that
 * could be: without it nobody knows whether recording is wanted, and a crash would not be counted. */
static bool open_policy(struct run *run, struct sbx_spool *spool)
{
    char why[PATH_MAX + 256];
    run->told = run->policy;
    const struct sbx_follower_options follower_options = {
        .spool = spool,
        .file = run->delivery.policy_path,
        .server_url = run->delivery.server_url,
        .recordings = run->recordings,
        .spool_path = run->spool_absolute,
        .only_own = true,
        .judges_starts = true,
        .program = find_program(run->command[0]),
        .poll_ms = run->delivery.poll_ms,
        .adjust = hold_to_command_line,
        .command = "run",
        .on_change = on_policy,
        .on_keyset = on_keyset,
        .context = run,
    };
    if (sbx_follower_open(&follower_options, &run->follower, &run->policy, why, sizeof why) != 0) {
        fprintf(stderr, "stallbox run: %s; running without the recorder\n", why);
        return false;
    }
    return true;
}

/* Begin to take over what the program cannot write. Without it each such snapshot is lost, and only the agent's own
 * count tells. */
static void start_taker(struct run *run)
{
    uint64_t key = 0;
    if (getrandom(&key, sizeof key, 0) == (ssize_t)sizeof key && key != 0) {
        run->taker = sbx_handover_taker_start(run->recordings, run->spool_absolute, key);
        run->key = run->taker != NULL ? key : 0;
    }
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
    recover(run, NULL); /* what an earlier run left behind */
    if (is_recording && run->delivery.policy_path != NULL) {
        is_recording = open_policy(run, spool);
    }
    if (is_recording) {
        start_taker(run);
    }
    char **environment = is_recording ? make_environment(run) : environ;
    watch_raw_folder(run);
    sbx_policy_redaction(&run->policy, &redaction);
    struct sbx_courier *courier =
        sbx_courier_start(spool, &redaction, run->delivery.server_url, run->delivery.token,
                          run->follower != NULL ? sbx_follower_gate(run->follower) : NULL, run->sealer);
    run->courier = courier;
    if (courier == NULL || environment == NULL) {
        return sbx_failure("run", "out of memory");
    }
    for (size_t i = 0; is_recording && environment[i] != NULL;
         i++) { /* what it starts is recorded later (late_start.h) */
        if (strncmp(environment[i], SBX_ENV_AUTOSTART "=", sizeof SBX_ENV_AUTOSTART) == 0) {
            child.number_text = environment[i] + sizeof SBX_ENV_AUTOSTART;
        }
    }
    result = sbx_child_start(&child, run->command, environment);
    if (result == 0) {
        if (run->follower != NULL && sbx_follower_start(run->follower) != 0) {
            fprintf(stderr, "stallbox run: no thread to follow the policy: it stays as it is\n");
        }
        attend(run, &child, courier);
        if (run->follower != NULL) {
            sbx_follower_ended(run->follower,
                               child.status); /* its thread ends with us: it may be waiting for a server */
        }
    }
    struct sbx_handover_counts handed_over;
    sbx_handover_taker_finish(run->taker, &handed_over);
    if (result == 0) {
        recover(run, &child);
    }
    struct sbx_courier_counts counts;
    sbx_courier_finish(courier, result == 0 ? DELIVERY_GRACE_MS : 0, &counts);
    if (result != 0) {
        return sbx_failure("run", "%s: %s", run->command[0], strerror(-result));
    }
    tell_failures(&handed_over);
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
    status = sbx_delivery_options_prepare(&run.delivery, "run", &run.sealer);
    if (status != SBX_EXIT_DONE) {
        return status;
    }
    if (run.delivery.spool_path == NULL) {
        if (sbx_spool_default_path(default_spool, sizeof default_spool) != 0) {
            return sbx_failure("run", "neither XDG_STATE_HOME nor HOME says where the spool is; use --spool DIR");
        }
        run.delivery.spool_path = default_spool;
    }
    if (sbx_spool_open(run.delivery.spool_path, NULL, &spool, why, sizeof why) != 0) {
        return sbx_failure("run", "%s", why);
    }
    if (realpath(run.delivery.spool_path, run.spool_absolute) == NULL) {
        return sbx_failure("run", "%s: %s", run.delivery.spool_path, strerror(errno));
    }
    if (strlen(run.spool_absolute) + 1 > SBX_PATH_MAX) {
        return sbx_failure("run", "%s: the path is longer than %d bytes", run.spool_absolute, SBX_PATH_MAX - 1);
    }
    status = run_command(&run, spool);
    sbx_sealer_destroy(run.sealer);
    sbx_spool_close(spool);
    return status;
}
