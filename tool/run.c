/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - `stallbox run`: a program with the recorder in it, and the companion that looks after what it records. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "command.h"
#include "consent.h"
#include "consent_order.h"
#include "courier.h"
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
#include "roster.h"
#include "run_options.h"
#include "run_words.h"
#include "snapshot_fates.h"

extern char **environ;

enum {
    DELIVERY_GRACE_MS = 5000, /* after the program's end; what is not delivered then waits in the spool */
    FIRST_LOOK_MS = 1000,     /* a program that could not be recorded has said so by then */
    EXIT_NOT_RUN = 126,       /* the command is there and cannot be run */
    EXIT_NOT_FOUND = 127,
};

struct run {
    struct sbx_run_options options;
    struct sbx_policy policy; /* in force */
    char spool_absolute[PATH_MAX], recordings[SBX_RECORDING_PATH_MAX];
    char library[PATH_MAX];
    struct sbx_policy_follower *follower; /* NULL: no policy to follow */
    struct sbx_courier *courier;
    struct sbx_handover_taker *taker; /* NULL: nobody makes the snapshots that the program cannot write */
    uint64_t key;                     /* by which it knows its recordings; 0: there is none */
    struct sbx_sealer *sealer;        /* NULL: neither a key nor a KEYSET to seal to */
    int raw_watch;                    /* inotify on SPOOL/raw, and on SPOOL for what the user says; -1: none */
    int root_watch;                   /* which of the two is SPOOL's; -1: neither */
    int roster;                       /* descriptor of what the programs tell (roster.h); -1: there is none */
    uint64_t roster_number;           /* 0: there is none */
    uint64_t started_ms;              /* when the program was started */
    bool has_told_off;                /* it was said that nothing is recorded */
};

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

/* As env(1), nice(1) and timeout(1) say it. */
static int cannot_start(const struct run *run, int error)
{
    (void)sbx_failure("run", "%s: %s", run->options.command[0], strerror(error));
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

/* A program is started whatever becomes of the recorder. Here it takes our place, so that nothing of us is around it. */
static int run_without(const struct run *run, const char *why, const char *remedy)
{
    sbx_run_tell_off(run->options.command[0], why, remedy);
    execvp(run->options.command[0], run->options.command);
    return cannot_start(run, errno);
}

/* Those who tell the roster; without it they run as well, and the numbers at the end are those of the whole spool. */
static bool open_roster(struct run *run)
{
    char why[SBX_RECORDING_PATH_MAX + 128];
    run->roster = sbx_roster_create(run->recordings, &run->roster_number);
    if (run->roster == -ENOSPC || run->roster == -EDQUOT || run->roster == -EROFS) {
        snprintf(why, sizeof why, "%s: %s", run->recordings, strerror(-run->roster));
        sbx_run_tell_off(run->options.command[0], why,
                         "make room there, or name another folder with STALLBOX_RECORDINGS");
        return false;
    }
    return true;
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
        sbx_run_tell_off(run->options.command[0], why, "name a folder of your own with STALLBOX_RECORDINGS");
        return false;
    }
    if (!find_library(run->library)) {
        sbx_run_tell_off(run->options.command[0], "libstallbox.so is not beside this program",
                         "name it with STALLBOX_LIBRARY");
        return false;
    }
    return open_roster(run);
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
    struct sbx_preload_orders orders = {
        .layout_hash = sbx_layout_hash(), .companion_key = run->key, .roster = run->roster_number};
    char orders_text[SBX_ORDERS_TEXT_BYTES];
    snprintf(orders.app_name, sizeof orders.app_name, "%s", run->options.app_name != NULL ? run->options.app_name : "");
    memcpy(orders.app_version, run->options.app_version, sizeof orders.app_version);
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

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* The shortest stall that is reported; 0: none is. */
static uint32_t judged_ms(const struct sbx_capture_settings *settings)
{
    uint32_t anr_ms = settings->anr_ms != 0 ? settings->anr_ms : UINT32_MAX;
    uint32_t slow_ms = settings->slow_message_ms != 0 ? settings->slow_message_ms : UINT32_MAX;
    uint32_t least_ms = anr_ms < slow_ms ? anr_ms : slow_ms;
    return least_ms != UINT32_MAX ? least_ms : 0;
}

static void set_told(const struct run *run, const struct sbx_child *child, struct sbx_run_told *told_out)
{
    *told_out = (struct sbx_run_told){.program = run->options.command[0],
                                      .pid = (uint32_t)child->pid,
                                      .recordings = run->recordings,
                                      .spool = run->spool_absolute,
                                      .server_url = run->options.delivery.server_url,
                                      .server_error = "",
                                      .lived_ms = now_ms() - run->started_ms,
                                      .judged_ms = judged_ms(&run->policy.capture),
                                      .is_quiet = run->options.is_quiet};
}

/* A service may run for weeks: that nothing of it is recorded is said now, and not at its end. */
static void look_whether_it_records(struct run *run, const struct sbx_child *child)
{
    static struct sbx_roster roster;
    struct sbx_run_told told;
    set_told(run, child, &told);
    if (sbx_roster_read(run->roster, &roster)) {
        run->has_told_off = sbx_run_tell_state(&told, &roster, false);
    }
}

/* Wait for the program's end, telling the courier of snapshots meanwhile. */
static void attend(struct run *run, struct sbx_child *child, struct sbx_courier *courier)
{
    struct pollfd fds[2] = {{.fd = child->signal_fd, .events = POLLIN}, {.fd = run->raw_watch, .events = POLLIN}};
    bool has_looked = run->roster_number == 0;
    while (!child->has_ended) {
        /* Without inotify a look every two seconds has to do. */
        int timeout_ms = !has_looked ? FIRST_LOOK_MS : run->raw_watch < 0 ? 2000 : SBX_MEMORY_KILLS_EVERY_MS;
        int count = poll(fds, 2, timeout_ms);
        if (count < 0 && errno != EINTR) {
            break;
        }
        if (count == 0) {
            sbx_child_look(child);
        }
        if (!has_looked && now_ms() - run->started_ms >= FIRST_LOOK_MS) {
            has_looked = true;
            look_whether_it_records(run, child);
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
            .had_no_memory = child->had_no_memory,
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
}

/* What became of the program's own snapshots, whoever packed and sent them, and what was not recorded. */
static void tell_program(const struct run *run, const struct sbx_child *child, const struct sbx_courier_counts *counts,
                         bool is_recording)
{
    static struct sbx_roster roster;
    struct sbx_snapshot_fates fates = {
        .made = (uint32_t)counts->packed, .delivered = (uint32_t)counts->sent, .waiting = (uint32_t)counts->waiting};
    struct sbx_run_told told;
    set_told(run, child, &told);
    told.server_error = counts->error;
    if (!sbx_roster_read(run->roster, &roster)) {
        memset(&roster, 0, sizeof roster);
        sbx_run_tell_end(&told, &roster, &fates);
        return;
    }
    sbx_snapshot_fates_find(run->spool_absolute, &roster, &fates);
    if (is_recording && !run->has_told_off) {
        (void)sbx_run_tell_state(&told, &roster, true);
    }
    sbx_run_tell_end(&told, &roster, &fates);
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

static void hold_to_options(void *context, struct sbx_policy *policy)
{
    const struct run *run = context;
    sbx_run_options_hold(&run->options, policy);
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
    const struct sbx_follower_options follower_options = {
        .spool = spool,
        .file = run->options.delivery.policy_path,
        .server_url = run->options.delivery.server_url,
        .recordings = run->recordings,
        .spool_path = run->spool_absolute,
        .only_own = true,
        .judges_starts = true,
        .program = find_program(run->options.command[0]),
        .poll_ms = run->options.delivery.poll_ms,
        .adjust = hold_to_options,
        .command = "run",
        .on_change = on_policy,
        .on_keyset = on_keyset,
        .context = run,
    };
    if (sbx_follower_open(&follower_options, &run->follower, &run->policy, why, sizeof why) != 0) {
        sbx_run_tell_off(run->options.command[0], why, "give --policy a file that begins with its KEYSET");
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
        run->taker = sbx_handover_taker_start(run->recordings, run->spool_absolute, key, run->roster_number);
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
        return run_without(run, strerror(-result), "raise the limit on open files (ulimit -n)");
    }
    run->raw_watch = run->roster = -1;
    bool is_recording = prepare_recording(run);
    recover(run, NULL); /* what an earlier run left behind */
    if (is_recording && run->options.delivery.policy_path != NULL) {
        is_recording = open_policy(run, spool);
    }
    if (!run->options.is_quiet) {
        (void)sbx_delivery_options_tell_unsealed(&run->options.delivery, "run", run->spool_absolute, run->sealer);
    }
    if (is_recording) {
        start_taker(run);
    }
    char **environment = is_recording ? make_environment(run) : environ;
    watch_raw_folder(run);
    sbx_policy_redaction(&run->policy, &redaction);
    struct sbx_courier *courier =
        sbx_courier_start(spool, &redaction, run->options.delivery.server_url, run->options.delivery.token,
                          run->follower != NULL ? sbx_follower_gate(run->follower) : NULL, run->sealer);
    run->courier = courier;
    if (courier == NULL || environment == NULL) {
        if (run->follower != NULL) {
            sbx_follower_ended(run->follower, 0); /* what follows is no start under this policy */
        }
        sbx_roster_remove(run->recordings, run->roster_number, run->roster);
        sigprocmask(SIG_SETMASK, &child.mask_before, NULL);
        return run_without(run, "there is no memory, or no thread, for its companion",
                           "raise the limits on memory and processes (ulimit -v, ulimit -u)");
    }
    for (size_t i = 0; is_recording && environment[i] != NULL;
         i++) { /* what it starts is recorded later (late_start.h) */
        if (strncmp(environment[i], SBX_ENV_AUTOSTART "=", sizeof SBX_ENV_AUTOSTART) == 0) {
            child.number_text = environment[i] + sizeof SBX_ENV_AUTOSTART;
        }
    }
    run->started_ms = now_ms();
    result = sbx_child_start(&child, run->options.command, environment);
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
    if (result == 0) {
        tell_failures(&handed_over);
        tell(run, &counts);
        tell_program(run, &child, &counts, is_recording);
    }
    sbx_roster_remove(run->recordings, run->roster_number, run->roster);
    if (result != 0) {
        return cannot_start(run, -result);
    }
    sbx_child_end_likewise(&child);
}

int sbx_command_run(int argc, char **argv)
{
    static struct run run;
    char why[PATH_MAX + 128], default_spool[SBX_RECORDING_PATH_MAX];
    struct sbx_spool *spool = NULL;
    int status = sbx_run_options_read(&run.options, argc, argv);
    if (status != 0) {
        return status < 0 ? SBX_EXIT_DONE : status;
    }
    run.policy = run.options.told;
    status = sbx_delivery_options_prepare(&run.options.delivery, "run", &run.sealer);
    if (status != SBX_EXIT_DONE) {
        return status;
    }
    if (run.options.delivery.spool_path == NULL) {
        if (sbx_spool_default_path(default_spool, sizeof default_spool) != 0) {
            return run_without(&run, "neither XDG_STATE_HOME nor HOME says where its spool is",
                               "name a folder with --spool DIR");
        }
        run.options.delivery.spool_path = default_spool;
    }
    if (sbx_spool_open(run.options.delivery.spool_path, NULL, &spool, why, sizeof why) != 0) {
        return run_without(&run, why, "name a folder of your own with --spool DIR");
    }
    if (realpath(run.options.delivery.spool_path, run.spool_absolute) == NULL) {
        return run_without(&run, strerror(errno), "name a folder of your own with --spool DIR");
    }
    if (strlen(run.spool_absolute) + 1 > SBX_PATH_MAX) {
        snprintf(why, sizeof why, "%s: the path is longer than %d bytes", run.spool_absolute, SBX_PATH_MAX - 1);
        return run_without(&run, why, "name another folder with --spool DIR");
    }
    status = run_command(&run, spool);
    sbx_sealer_destroy(run.sealer);
    sbx_spool_close(spool);
    return status;
}
