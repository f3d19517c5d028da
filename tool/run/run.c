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
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
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
#include "run.h"
#include "run_beside.h"
#include "run_environment.h"
#include "run_options.h"
#include "run_stay.h"
#include "run_words.h"
#include "snapshot_fates.h"
#include "spool_watch.h"

extern char **environ;

enum {
    DELIVERY_GRACE_MS = 5000, /* after the program's end; undelivered payloads stay in the spool */
    WATCH_SPOOL_MS = 500,     /* watching starts then; earlier snapshots are found by a look */
    FIRST_LOOK_MS = 1000,     /* by then a program that cannot be recorded has reported it */
    EXIT_NOT_RUN = 126,       /* the command exists and cannot be run */
    EXIT_NOT_FOUND = 127,
};

struct run {
    struct sbx_run_options options;
    struct sbx_policy policy; /* the policy in force */
    char spool_absolute[PATH_MAX], recordings[SBX_RECORDING_PATH_MAX];
    char library[PATH_MAX];
    struct sbx_policy_follower *follower; /* NULL: no policy to follow */
    struct sbx_courier *courier;
    struct sbx_handover_taker *taker; /* NULL: nobody makes the snapshots that the program cannot write */
    uint64_t key;                     /* the taker knows its recordings by this key; 0: there is none */
    struct sbx_lost_images *images;   /* NULL: none are kept */
    struct sbx_sealer *sealer;        /* NULL: there is neither a key nor a KEYSET to seal to */
    struct sbx_spool_watch spool_watch;
    int roster;                  /* descriptor of the roster that the programs write (roster.h); -1: none */
    uint64_t roster_number;      /* 0: there is none */
    uint64_t started_ms;         /* when the program was started */
    const struct sbx_stay *stay; /* from the previous companion; NULL: there was none */
    int argc;                    /* of the command line, for the next companion */
    char **argv;
    bool has_told_off;         /* it was printed that nothing is recorded */
    struct sbx_beside *beside; /* this process prepares for another one, which becomes the program; NULL: it does not */
};

/* The same message as in env(1), nice(1) and timeout(1). */
static int cannot_start(const struct run *run, int error)
{
    (void)sbx_failure("run", "%s: %s", run->options.command[0], strerror(error));
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

/* Start the program without a recorder. It replaces this process, so nothing of us is around it. */
static int run_without(const struct run *run, const char *why, const char *remedy)
{
    sbx_run_tell_off(run->options.command[0], why, remedy);
    if (run->beside != NULL) {
        _exit(SBX_BESIDE_WITHOUT);
    }
    execvp(run->options.command[0], run->options.command);
    return cannot_start(run, errno);
}

/* Open the roster that the programs write. Without it they run as well, but the numbers at the end are those of the
 * whole spool. */
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
    const char *given = sbx_recordings_given();
    char why[SBX_RECORDING_PATH_MAX + 128] = "";
    int result;
    if (given == NULL) {
        result = sbx_recordings_choose(run->recordings, why, sizeof why);
    } else {
        bool is_whole = snprintf(run->recordings, sizeof run->recordings, "%s", given) < (int)sizeof run->recordings;
        int folder = is_whole ? sbx_own_folder_make(run->recordings) : -ENAMETOOLONG;
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
    if (!sbx_run_find_library(run->library)) {
        sbx_run_tell_off(run->options.command[0], "libstallbox.so is not beside this program",
                         "name it with STALLBOX_LIBRARY");
        return false;
    }
    return open_roster(run);
}

static char **make_environment(const struct run *run)
{
    struct sbx_run_world world = {
        .library = run->library,
        .spool = run->spool_absolute,
        .recordings = run->recordings,
        .key = run->key,
        .roster = run->roster_number,
        .app_name = run->options.app_name,
        .policy = &run->policy,
        .mark = run->follower != NULL ? sbx_follower_mark(run->follower) : NULL,
    };
    memcpy(world.app_version, run->options.app_version, sizeof world.app_version);
    return sbx_run_environment(&world);
}

/* The user answered about consent: the courier must ask the server to delete, or may send again. The program must read
 * the answer too; the command that stored it may not have found the program's recording. */
static void on_consent(const struct run *run)
{
    struct sbx_consent_told told;
    if (sbx_consent_tell(run->recordings, run->spool_absolute, SBX_CONSENT_ORDER_READ, 0, &told) != 0) {
        /* The program reads the spool itself, within seconds while it is active. */
    }
}

/* Look for news in the spool. */
static void look_at_spool(struct run *run)
{
    bool has_said = false;
    bool has_news = sbx_spool_watch_read(&run->spool_watch, &has_said);
    if (has_said) {
        on_consent(run);
    }
    if (has_news) {
        sbx_courier_call(run->courier);
    }
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* The shortest stall that is reported; 0: no stall is. */
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

/* A service may run for weeks, so it is reported now, not at its end, that nothing is recorded. */
static void look_whether_it_records(struct run *run, const struct sbx_child *child)
{
    static struct sbx_roster roster;
    struct sbx_run_told told;
    set_told(run, child, &told);
    if (sbx_roster_read(run->roster, &roster)) {
        run->has_told_off = sbx_run_tell_state(&told, &roster, false);
    }
}

/* Wait for the end of the program, and tell the courier of snapshots meanwhile. */
static void attend(struct run *run, struct sbx_child *child)
{
    struct pollfd fds[2] = {{.fd = child->signal_fd, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    bool has_looked = run->roster_number == 0, is_watched = false;
    while (!child->has_ended) {
        /* Without inotify it looks every two seconds. */
        int timeout_ms = !is_watched                   ? WATCH_SPOOL_MS
                         : !has_looked                 ? FIRST_LOOK_MS
                         : run->spool_watch.events < 0 ? 2000
                                                       : SBX_MEMORY_KILLS_EVERY_MS;
        int count = poll(fds, 2, timeout_ms);
        if (count < 0 && errno != EINTR) {
            break;
        }
        if (!is_watched && now_ms() - run->started_ms >= WATCH_SPOOL_MS) {
            is_watched = true;
            if (sbx_spool_watch_open(&run->spool_watch, run->spool_absolute)) {
                on_consent(run);
            }
            fds[1].fd = run->spool_watch.events;
            sbx_courier_call(run->courier);
        }
        if (count == 0) {
            sbx_child_look(child);
        }
        if (!has_looked && now_ms() - run->started_ms >= FIRST_LOOK_MS) {
            has_looked = true;
            look_whether_it_records(run, child);
        }
        sbx_child_on_signal(child);
        if (is_watched) {
            look_at_spool(run);
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
    sbx_recordings_find(sbx_recordings_given(), &folders);
    for (unsigned i = 0; i < folders.count; i++) {
        const struct sbx_recovery_order order = {.folder = folders.paths[i],
                                                 .spool = run->spool_absolute,
                                                 .death = child != NULL ? &death : NULL,
                                                 .complain = complain};
        int result = sbx_recording_recover(&order, &counts);
        if (result != 0 && child == NULL) { /* reported once */
            fprintf(stderr, "stallbox run: %s: %s\n", folders.paths[i], strerror(-result));
        }
    }
}

/* Report what happened to the program's own snapshots, whichever process packed and sent them, and what was not
 * recorded. */
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

/* Set the keys that payloads are sealed to. */
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

/* Begin to follow the policy, before the program starts; run->policy is then what it starts with. Returns whether it
 * succeeded: without a policy it is not known whether to record, and a crash would not be counted. */
static bool open_policy(struct run *run, struct sbx_spool *spool)
{
    char why[PATH_MAX + 256];
    struct sbx_follower_options follower_options = {
        .spool = spool,
        .file = run->options.delivery.policy_path,
        .server_url = run->options.delivery.server_url,
        .token = run->options.delivery.token,
        .app_name = run->options.app_name,
        .recordings = run->recordings,
        .spool_path = run->spool_absolute,
        .only_own = true,
        .mark = run->stay != NULL ? run->stay->mark : NULL,
        .key = run->key,
        .judges_starts = run->stay == NULL,
        .program = sbx_run_find_program(run->options.command[0]),
        .poll_ms = run->options.delivery.poll_ms,
        .adjust = hold_to_options,
        .command = "run",
        .on_change = on_policy,
        .on_keyset = on_keyset,
        .context = run,
    };
    memcpy(follower_options.app_version, run->options.app_version, sizeof follower_options.app_version);
    if (sbx_follower_open(&follower_options, &run->follower, &run->policy, why, sizeof why) != 0) {
        sbx_run_tell_off(run->options.command[0], why, "give --policy a file that begins with its KEYSET");
        return false;
    }
    return true;
}

/* Choose the key by which our programs' recordings are known. */
static void choose_key(struct run *run)
{
    if (run->stay != NULL) {
        run->key = run->stay->key;
    } else if (getrandom(&run->key, sizeof run->key, 0) != (ssize_t)sizeof run->key) {
        run->key = 0;
    }
}

/* Start the thread that makes snapshots for the program, and attends its children. Without it each such snapshot is
 * lost, and only the agent counts it. */
static void start_taker(struct run *run)
{
    if (run->key != 0) {
        run->images = sbx_lost_images_create(run->spool_absolute);
        run->taker =
            sbx_handover_taker_start(run->recordings, run->spool_absolute, run->key, run->roster_number, run->images);
        run->key = run->taker != NULL ? run->key : 0;
    }
}

static void start_courier(struct run *run, struct sbx_spool *spool)
{
    struct sbx_redaction redaction;
    sbx_policy_redaction(&run->policy, &redaction);
    run->courier =
        sbx_courier_start(spool, &redaction, run->options.delivery.server_url, run->options.delivery.token,
                          run->follower != NULL ? sbx_follower_gate(run->follower) : NULL, run->sealer, run->images);
}

/* ---- when the program has ended, and something that it started has not ---- */

static struct sbx_stay what_another_has_to_know(const struct run *run)
{
    struct sbx_stay stay = {.roster = run->roster, .roster_number = run->roster_number, .key = run->key};
    memcpy(stay.recordings, run->recordings, sizeof stay.recordings);
    snprintf(stay.spool, sizeof stay.spool, "%.*s", (int)sizeof stay.spool - 1, run->spool_absolute);
    snprintf(stay.mark, sizeof stay.mark, "%s", run->follower != NULL ? sbx_follower_mark(run->follower) : "");
    return stay;
}

/* Returns whether another companion has taken the roster, and all duties with it. */
static bool hand_on(const struct run *run)
{
    struct sbx_stay stay = what_another_has_to_know(run);
    int result = sbx_stay_hand_on(&stay, run->argc, run->argv);
    sbx_run_tell_stay(run->options.command[0], run->options.is_quiet, result);
    return result == 0;
}

static void look_at_spool_again(void *context)
{
    look_at_spool(context);
}

/* The whole life of a companion that goes on. Nobody reads its output. */
static int stay_on(struct run *run, struct sbx_spool *spool)
{
    struct sbx_handover_counts handed_over;
    struct sbx_courier_counts counts;
    memcpy(run->recordings, run->stay->recordings, sizeof run->recordings);
    run->roster = run->stay->roster;
    run->roster_number = run->stay->roster_number;
    choose_key(run);
    if (run->options.delivery.policy_path != NULL && !open_policy(run, spool)) {
        return SBX_EXIT_FAILED; /* without it it is not known whether anything may be sent */
    }
    start_taker(run);
    sbx_spool_watch_prepare(&run->spool_watch, run->spool_absolute);
    (void)sbx_spool_watch_open(&run->spool_watch, run->spool_absolute);
    start_courier(run, spool);
    if (run->courier == NULL || (run->follower != NULL && sbx_follower_start(run->follower) != 0)) {
        return SBX_EXIT_FAILED; /* the recordings stay for the next process that looks */
    }
    if (run->recordings[0] == '/' && chdir("/") != 0) {
        /* Then the folder counts as in use. */
    }
    sbx_handover_taker_attend(run->taker, 0);
    const struct sbx_stay_watch watch = {.roster = run->roster,
                                         .program = sbx_stay_open_program(run->stay),
                                         .ended = sbx_handover_taker_ended(run->taker),
                                         .events = run->spool_watch.events,
                                         .on_events = look_at_spool_again,
                                         .context = run};
    sbx_stay_wait(&watch);
    sbx_handover_taker_finish(run->taker, &handed_over);
    if (run->follower != NULL) {
        sbx_follower_ended(run->follower, 0);
    }
    recover(run, NULL);
    sbx_courier_finish(run->courier, DELIVERY_GRACE_MS, &counts);
    sbx_lost_images_destroy(run->images);
    sbx_roster_remove(run->recordings, run->roster_number, run->roster);
    return SBX_EXIT_DONE;
}

/* Where the program's environment has room for its number; NULL: the program is not recorded. */
static char *find_number(char **environment)
{
    for (size_t i = 0; environment[i] != NULL; i++) { /* its children are recorded later (late_start.h) */
        if (strncmp(environment[i], SBX_ENV_AUTOSTART "=", sizeof SBX_ENV_AUTOSTART) == 0) {
            return environment[i] + sizeof SBX_ENV_AUTOSTART;
        }
    }
    return NULL;
}

/* Prepare for the process that forked this one and becomes the program. The companion exists before the program, and
 * stays beside it. */
static _Noreturn void prepare_beside(struct run *run)
{
    if (!prepare_recording(run)) {
        _exit(SBX_BESIDE_WITHOUT); /* the message was printed already */
    }
    recover(run, NULL);
    choose_key(run);
    struct sbx_stay stay = what_another_has_to_know(run);
    stay.program = (uint32_t)getppid();
    stay.program_ticks = sbx_process_start_ticks(stay.program);
    char **environment = make_environment(run);
    int result = environment != NULL ? sbx_stay_begin_beside(&stay, run->argc, run->argv) : -ENOMEM;
    if (result != 0) {
        sbx_roster_remove(run->recordings, run->roster_number, run->roster);
        (void)run_without(run, strerror(-result), "raise the limits on memory and processes (ulimit -v, ulimit -u)");
    }
    _exit(result == 0 && sbx_beside_tell(run->beside, environment) == 0 ? 0 : SBX_BESIDE_WITHOUT);
}

/* The child has prepared, or could not: become the program. Returns an exit status when that is not wanted, or
 * fails. */
static int become_program(const struct run *run, struct sbx_beside *beside)
{
    int status = sbx_beside_wait(beside);
    if (beside->environment != NULL) {
        sbx_child_put_number(find_number(beside->environment), (unsigned)getpid());
        execvpe(run->options.command[0], run->options.command, beside->environment);
        return cannot_start(run, errno); /* the companion ends when this process ends */
    }
    if (WIFEXITED(status) && (WEXITSTATUS(status) == SBX_EXIT_FAILED || WEXITSTATUS(status) == SBX_EXIT_USAGE)) {
        return WEXITSTATUS(status); /* the command line was wrong, and a message was printed */
    }
    if (WIFSIGNALED(status)) {
        return run_without(run, "what makes ready for it was ended by a signal",
                           "look whether a filter of system calls allows what `stallbox run` calls");
    }
    execvp(run->options.command[0], run->options.command);
    return cannot_start(run, errno);
}

/* Everything around the program's life. Returns an exit status when the program was never started. */
static int run_command(struct run *run, struct sbx_spool *spool)
{
    struct sbx_child child;
    int result = sbx_child_prepare(&child);
    if (result != 0) {
        return run_without(run, strerror(-result), "raise the limit on open files (ulimit -n)");
    }
    run->roster = -1;
    bool is_recording = prepare_recording(run);
    recover(run, NULL); /* left by an earlier run */
    choose_key(run);
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
    start_courier(run, spool);
    struct sbx_courier *courier = run->courier;
    if (courier == NULL || environment == NULL) {
        if (run->follower != NULL) {
            sbx_follower_ended(run->follower, 0); /* a later start does not use this policy */
        }
        sbx_roster_remove(run->recordings, run->roster_number, run->roster);
        sigprocmask(SIG_SETMASK, &child.mask_before, NULL);
        return run_without(run, "there is no memory, or no thread, for its companion",
                           "raise the limits on memory and processes (ulimit -v, ulimit -u)");
    }
    child.number_text = is_recording ? find_number(environment) : NULL;
    sbx_spool_watch_prepare(&run->spool_watch, run->spool_absolute);
    run->started_ms = now_ms();
    result = sbx_child_start(&child, run->options.command, environment);
    if (result == 0) {
        if (run->follower != NULL && sbx_follower_start(run->follower) != 0) {
            fprintf(stderr, "stallbox run: no thread to follow the policy: it stays as it is\n");
        }
        sbx_handover_taker_attend(run->taker, (uint32_t)child.pid);
        attend(run, &child);
        if (run->follower != NULL) {
            sbx_follower_ended(run->follower,
                               child.status); /* its thread ends with this process; it may be waiting for a server */
        }
    }
    struct sbx_handover_counts handed_over;
    sbx_handover_taker_finish(run->taker, &handed_over);
    if (result == 0) {
        recover(run, &child);
    }
    bool goes_on = result == 0 && sbx_stay_is_needed(run->roster, run->roster_number);
    struct sbx_courier_counts counts;
    sbx_courier_finish(courier, result == 0 && !goes_on ? DELIVERY_GRACE_MS : 0, &counts);
    sbx_lost_images_destroy(run->images);
    if (result == 0) {
        sbx_run_tell_failures(&handed_over);
        sbx_run_tell_courier(run->spool_absolute, &counts);
        tell_program(run, &child, &counts, is_recording);
    }
    if (!goes_on || !hand_on(run)) {
        sbx_roster_remove(run->recordings, run->roster_number, run->roster);
    }
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
    static struct sbx_stay stay;
    int stays = sbx_stay_take(&stay, &argc, argv);
    if (stays < 0) {
        return sbx_usage_error("run", "%s is for `stallbox run` itself", SBX_STAY_OPTION);
    }
    run.stay = stays > 0 ? &stay : NULL;
    run.argc = argc;
    run.argv = argv;
    int status = sbx_run_options_read(&run.options, argc, argv);
    if (status != 0) {
        return status < 0 ? SBX_EXIT_DONE : status;
    }
    run.policy = run.options.told;
    static struct sbx_beside beside;
    if (run.options.is_beside && run.stay == NULL) {
        int parted = sbx_beside_part(&beside);
        if (parted != 0) {
            return run_without(&run, strerror(-parted), "raise the limits on processes and open files (ulimit -u, -n)");
        }
        if (beside.child != 0) {
            return become_program(&run, &beside);
        }
        run.beside = &beside;
    }
    if (run.stay != NULL) {
        run.options.delivery.spool_path = run.stay->spool;
    }
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
    int opened = sbx_spool_open(run.options.delivery.spool_path, NULL, &spool, why, sizeof why);
    if (opened != 0) {
        return run_without(&run, why, sbx_run_spool_remedy(opened));
    }
    if (realpath(run.options.delivery.spool_path, run.spool_absolute) == NULL) {
        return run_without(&run, strerror(errno), sbx_run_spool_remedy(-errno));
    }
    if (strlen(run.spool_absolute) + 1 > SBX_PATH_MAX) {
        snprintf(why, sizeof why, "%s: the path is longer than %d bytes", run.spool_absolute, SBX_PATH_MAX - 1);
        return run_without(&run, why, "name another folder with --spool DIR");
    }
    if (run.beside != NULL) {
        prepare_beside(&run);
    }
    status = run.stay != NULL ? stay_on(&run, spool) : run_command(&run, spool);
    sbx_sealer_destroy(run.sealer);
    sbx_spool_close(spool);
    return status;
}
