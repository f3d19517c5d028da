/* SPDX-License-Identifier: Apache-2.0 */
/* policy_follower.c - one loop for a replaced file, a due poll, and new agents. */
#include "policy_follower.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "active_day.h"
#include "crash_loop.h"
#include "durable_file.h"
#include "machine_days.h"
#include "names.h"
#include "policy_fetch.h"
#include "policy_store.h"
#include "recording_folder.h"
#include "steered_agents.h"
#include "upload_conditions.h"

enum {
    AGENT_AGAIN_MS = 50, /* for an agent that is starting, or has not taken the last order */
    LOOK_MS = 5000,      /* interval of looks for agents when no event comes */
    FETCH_TIMEOUT_MS = 15000,
    CONFIRM_EVERY_S = 3600,    /* how often a confirmation is stored */
    KEPT_AFTER_KILL_S = 86400, /* how long payloads of a killed application stay in the spool, unsent */
    PATH_BYTES = 4096,
};

struct sbx_policy_follower {
    struct sbx_follower_options options;
    struct sbx_delivery_gate gate;
    char mark[sizeof SBX_ENV_COMPANION + SBX_COMPANION_BYTES];
    pthread_t thread;
    bool has_thread;
    int call;             /* eventfd: the thread must end */
    int watch;            /* inotify; -1: none */
    pthread_mutex_t lock; /* protects everything below and the store */
    struct sbx_policy_store *store;
    struct sbx_policy_effect effect;
    uint64_t order; /* incremented when the effect changes */
    uint64_t app_mark;
    bool is_ending, has_ended;
    bool is_on_trial;    /* the start with this effect is stored */
    uint64_t survive_ms; /* when the start counts as survived; 0: nothing to survive */
    /* only the thread uses the members from here on */
    uint64_t poll_due_ms;
    uint32_t fetch_fails;
    bool is_day_due; /* the server answered, and does not know yet that the application runs here today */
    char tag[80];
    char told_problem[200];
    struct stat file_seen;
    struct sbx_steered_agents agents;
};

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

static uint64_t wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec > 0 ? (uint64_t)now.tv_sec : 0;
}

/* Report a problem, unless it was the last one reported. For the follower's thread, or before that thread exists. */
static void tell(struct sbx_policy_follower *follower, const char *what, const char *why)
{
    char problem[200];
    snprintf(problem, sizeof problem, "%.60s: %.130s", what, why);
    if (strcmp(problem, follower->told_problem) != 0) {
        fprintf(stderr, "stallbox %s: policy: %s\n", follower->options.command, problem);
        memcpy(follower->told_problem, problem, sizeof problem);
    }
}

/* A number for the version of the application, from its file's size and modification time and the agent's version.
 * FNV-1a. */
static uint64_t mark_of_program(const char *program)
{
    struct stat status;
    uint64_t parts[3] = {sbx_agent_number(), 0, 0}, hash = UINT64_C(14695981039346656037);
    if (program != NULL && stat(program, &status) == 0) {
        parts[1] = (uint64_t)status.st_size;
        parts[2] = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    }
    for (size_t i = 0; i < sizeof parts; i++) {
        hash = (hash ^ ((const uint8_t *)parts)[i]) * UINT64_C(1099511628211);
    }
    return hash != 0 ? hash : 1;
}

/* ---- the effect ---- */

static bool is_active(const struct sbx_policy_effect *effect)
{
    return effect->policy.capture.enabled != 0;
}

/* Decide anew, and store a trial if there is one. The lock is held, between begin and end of the store. *changed is set
 * when the state must be stored. Returns whether another effect is in force. */
static bool refresh(struct sbx_policy_follower *follower, bool *changed)
{
    const struct sbx_follower_options *options = &follower->options;
    struct sbx_policy_effect effect;
    bool choice_changed;
    if (sbx_policy_store_decide(follower->store, follower->app_mark, &effect, &choice_changed) != 0) {
        return false;
    }
    *changed |= choice_changed;
    if (options->adjust != NULL) {
        options->adjust(options->context, &effect.policy);
    }
    bool is_first = follower->order == 0;
    if (!is_first && memcmp(&effect, &follower->effect, sizeof effect) == 0) {
        return false;
    }
    if (options->judges_starts && !follower->has_ended) {
        struct sbx_open_start self = sbx_policy_store_self(follower->store);
        struct sbx_crash_loop *loop = &sbx_policy_store_state(follower->store)->crash_loop;
        if (is_active(&effect)) {
            follower->is_on_trial =
                sbx_crash_loop_arm(loop, &self, effect.hash, effect.policy.capture.points) || follower->is_on_trial;
            *changed |= follower->is_on_trial;
            follower->survive_ms = now_ms() + SBX_SURVIVED_AFTER_MS;
        } else {
            *changed |= sbx_crash_loop_forget(loop, &self);
            follower->is_on_trial = false;
            follower->survive_ms = 0;
        }
    }
    follower->effect = effect;
    follower->order++;
    return true;
}

/* Call this after the end of the store. */
static void announce(struct sbx_policy_follower *follower, const struct sbx_policy *policy)
{
    if (follower->options.on_change != NULL) {
        follower->options.on_change(follower->options.context, policy);
    }
}

/* Give a bundle to the store (NULL: none), decide anew, and store what changed. */
static enum sbx_policy_verdict take(struct sbx_policy_follower *follower, const uint8_t *bytes, size_t count,
                                    bool is_confirmed)
{
    struct sbx_policy_report report = {SBX_POLICY_ACCEPTED, ""};
    struct sbx_policy policy;
    struct sbx_keyset keyset;
    uint64_t now_known_s = 0;
    bool has_changed = false, effect_changed = false;
    pthread_mutex_lock(&follower->lock);
    uint64_t wall = wall_s();
    int result = follower->is_ending ? -ECANCELED : sbx_policy_store_begin(follower->store, wall);
    if (result == 0) {
        struct sbx_policy_state *state = sbx_policy_store_state(follower->store);
        if (bytes != NULL) {
            sbx_policy_store_offer(follower->store, bytes, count, &report);
        }
        bool is_good = report.verdict == SBX_POLICY_ACCEPTED || report.verdict == SBX_POLICY_SAME;
        if (is_confirmed && is_good &&
            (state->freshness.confirmed_wall_s + CONFIRM_EVERY_S <= wall || state->freshness.confirmed_wall_s > wall ||
             state->freshness.uptime_s > CONFIRM_EVERY_S)) {
            sbx_freshness_renew(&state->freshness, wall);
            has_changed = true;
        }
        effect_changed = refresh(follower, &has_changed);
        policy = follower->effect.policy;
        keyset = *sbx_policy_store_keyset(follower->store);
        now_known_s = sbx_policy_store_state(follower->store)->newest_issued_s;
        now_known_s = now_known_s > STALLBOX_BUILD_TIME ? now_known_s : STALLBOX_BUILD_TIME;
        result = sbx_policy_store_end(follower->store, has_changed);
        if (result != 0) {
            sbx_policy_judge(&report, SBX_POLICY_STORE, "the state could not be kept: %s", strerror(-result));
        }
    } else if (result != -ECANCELED) {
        sbx_policy_judge(&report, SBX_POLICY_STORE, "%s", strerror(-result));
    }
    pthread_mutex_unlock(&follower->lock);
    if (report.verdict > SBX_POLICY_SAME) {
        tell(follower, sbx_policy_verdict_name(report.verdict), report.why);
    }
    if (now_known_s != 0 && follower->options.on_keyset != NULL) { /* before a snapshot is packed by the new policy */
        follower->options.on_keyset(follower->options.context, &keyset, now_known_s);
    }
    if (effect_changed) {
        announce(follower, &policy);
    }
    return report.verdict;
}

/* ---- where policies come from ---- */

/* Read the shipped file if it is not the one that was read last. Returns whether it was read. */
static bool read_file(struct sbx_policy_follower *follower, uint8_t **bytes_out, size_t *count_out)
{
    struct stat status;
    const struct stat *seen = &follower->file_seen;
    if (stat(follower->options.file, &status) != 0 ||
        (status.st_ino == seen->st_ino && status.st_size == seen->st_size &&
         status.st_mtim.tv_sec == seen->st_mtim.tv_sec && status.st_mtim.tv_nsec == seen->st_mtim.tv_nsec)) {
        return false;
    }
    follower->file_seen = status;
    char *resolved = realpath(follower->options.file, NULL); /* it is usually a link to the file of this release */
    bool is_read =
        resolved != NULL && sbx_durable_file_read(AT_FDCWD, resolved, SBX_BUNDLE_BYTES_MAX, bytes_out, count_out) == 0;
    free(resolved);
    return is_read;
}

static void follow_file(struct sbx_policy_follower *follower)
{
    uint8_t *bytes;
    size_t count;
    if (read_file(follower, &bytes, &count)) {
        take(follower, bytes, count, false);
        free(bytes);
    }
}

static uint64_t random_bits(void)
{
    uint64_t bits;
    return getrandom(&bits, sizeof bits, 0) == (ssize_t)sizeof bits ? bits : now_ms() * UINT64_C(0x9e3779b97f4a7c15);
}

static void poll_server(struct sbx_policy_follower *follower)
{
    uint8_t *bytes = malloc(SBX_BUNDLE_BYTES_MAX);
    struct sbx_keyset keyset;
    pthread_mutex_lock(&follower->lock);
    keyset = *sbx_policy_store_keyset(follower->store);
    uint32_t poll_s = follower->effect.policy.delivery.poll_s;
    pthread_mutex_unlock(&follower->lock);
    uint64_t interval_ms = follower->options.poll_ms != 0 ? follower->options.poll_ms : (uint64_t)poll_s * 1000;
    struct sbx_fetch_result fetched = {.verdict = SBX_FETCH_FAILED, .why = "out of memory"};
    if (bytes != NULL) {
        fetched = sbx_policy_fetch(follower->options.server_url, &keyset, follower->tag, FETCH_TIMEOUT_MS, bytes);
    }
    enum sbx_policy_verdict verdict;
    switch (fetched.verdict) {
    case SBX_FETCH_BUNDLE:
        verdict = take(follower, bytes, fetched.byte_count, fetched.is_certain);
        /* A bundle that was not accepted is fetched again, because the reason may be the clock of this machine. */
        snprintf(follower->tag, sizeof follower->tag, "%s", verdict <= SBX_POLICY_SAME ? fetched.tag : "");
        follower->fetch_fails = 0;
        break;
    case SBX_FETCH_SAME:
        take(follower, NULL, 0, fetched.is_certain);
        follower->fetch_fails = 0;
        break;
    case SBX_FETCH_NONE:
        follower->fetch_fails = 0;
        break;
    case SBX_FETCH_FAILED:
        tell(follower, follower->options.server_url, fetched.why);
        follower->fetch_fails += follower->fetch_fails != UINT32_MAX;
        break;
    }
    free(bytes);
    follower->is_day_due = fetched.verdict != SBX_FETCH_FAILED;
    /* no backoff when the interval was set explicitly */
    uint32_t fails = follower->options.poll_ms == 0 ? follower->fetch_fails : 0;
    follower->poll_due_ms = now_ms() + sbx_policy_pause_ms(interval_ms, fails, fetched.retry_after_ms, random_bits());
}

/* After a poll: report each application that runs here today, when at least one of its processes may record. */
static void tell_day(struct sbx_policy_follower *follower)
{
    const struct sbx_follower_options *options = &follower->options;
    uint8_t pins[SBX_GATE_PINS_MAX][32];
    if (!follower->is_day_due || !follower->agents.has_consent ||
        (options->app_name == NULL && !sbx_machine_days_are_named(&follower->agents))) {
        return;
    }
    pthread_mutex_lock(&follower->lock);
    bool is_recording = !follower->is_ending && is_active(&follower->effect);
    pthread_mutex_unlock(&follower->lock);
    follower->is_day_due = false; /* also when it fails; the next poll tries again */
    if (!is_recording || !follower->gate.may_send(follower, 0)) {
        return;
    }
    const struct sbx_active_place place = {
        .server_url = options->server_url,
        .token = options->token,
        .pins = (const uint8_t(*)[32])pins,
        .pin_count = follower->gate.pins(follower, pins),
    };
    uint64_t day = wall_s() / 86400;
    if (options->app_name != NULL) {
        (void)sbx_active_day_tell(options->spool, &place, sbx_app_what(options->app_name), options->app_version, day,
                                  FETCH_TIMEOUT_MS);
    } else {
        sbx_machine_days_tell(options->spool, &place, &follower->agents, day, FETCH_TIMEOUT_MS);
    }
}

/* Bring every agent to the effect in force. Returns whether to look again soon. */
static bool steer_all(struct sbx_policy_follower *follower)
{
    struct sbx_capture_settings wanted;
    pthread_mutex_lock(&follower->lock);
    sbx_policy_settings(&follower->effect.policy, &wanted);
    uint64_t order = follower->order;
    pthread_mutex_unlock(&follower->lock);
    return sbx_steered_agents_bring(&follower->agents, &wanted, order);
}

/* ---- time ---- */

/* The application has run long enough with this effect. The lock is held. */
static void survive(struct sbx_policy_follower *follower)
{
    follower->survive_ms = 0;
    if (sbx_policy_store_begin(follower->store, wall_s()) != 0) {
        return;
    }
    struct sbx_open_start self = sbx_policy_store_self(follower->store);
    struct sbx_policy_state *state = sbx_policy_store_state(follower->store);
    const struct sbx_policy_effect *effect = &follower->effect;
    bool is_known = memcmp(state->safe_hash, effect->hash, sizeof effect->hash) == 0 && !follower->is_on_trial;
    if (!is_known &&
        sbx_crash_loop_survive(&state->crash_loop, &self, effect->hash, effect->policy.capture.points, wall_s()) &&
        sbx_policy_store_keep_safe(follower->store) != 0) {
        /* It could not be stored; the next start that survives tries again. */
    }
    follower->is_on_trial = false;
    if (sbx_policy_store_end(follower->store, !is_known) != 0) {
        follower->survive_ms = now_ms() + SBX_SURVIVED_AFTER_MS;
    }
}

static void pass_time(struct sbx_policy_follower *follower)
{
    pthread_mutex_lock(&follower->lock);
    if (!follower->is_ending && follower->survive_ms != 0 && now_ms() >= follower->survive_ms) {
        survive(follower);
    }
    bool is_killed = follower->effect.source == SBX_SOURCE_KILLED;
    uint64_t killed_at_s = sbx_policy_store_state(follower->store)->killed_at_s, wall = wall_s();
    pthread_mutex_unlock(&follower->lock);
    if (is_killed && killed_at_s != 0 && wall > killed_at_s && wall - killed_at_s > KEPT_AFTER_KILL_S) {
        (void)sbx_spool_empty(follower->options.spool); /* files that could not be removed are tried again */
    }
}

static void *run(void *context)
{
    struct sbx_policy_follower *follower = context;
    uint64_t decide_due_ms = now_ms() + 60000;
    for (bool is_again = true;;) {
        struct pollfd fds[2] = {{.fd = follower->call, .events = POLLIN}, {.fd = follower->watch, .events = POLLIN}};
        uint64_t now = now_ms(), pause_ms = is_again ? AGENT_AGAIN_MS : LOOK_MS;
        if (follower->options.server_url != NULL) {
            uint64_t left_ms = follower->poll_due_ms > now ? follower->poll_due_ms - now : 0;
            pause_ms = left_ms < pause_ms ? left_ms : pause_ms;
        }
        if (poll(fds, 2, (int)pause_ms) < 0 && errno != EINTR) {
            return NULL;
        }
        pthread_mutex_lock(&follower->lock);
        bool is_ending = follower->is_ending;
        pthread_mutex_unlock(&follower->lock);
        if (is_ending) {
            return NULL;
        }
        char events[4096];
        while (follower->watch >= 0 && read(follower->watch, events, sizeof events) > 0) {
            /* Both folders are checked, so the events themselves are not needed. */
        }
        follow_file(follower);
        if (follower->options.server_url != NULL && now_ms() >= follower->poll_due_ms) {
            poll_server(follower);
        }
        if (now_ms() >= decide_due_ms) { /* a policy may have expired */
            take(follower, NULL, 0, false);
            decide_due_ms = now_ms() + 60000;
        }
        is_again = steer_all(follower);
        tell_day(follower);
        pass_time(follower);
    }
}

/* ---- the gate ---- */

static bool may_pack(void *context, uint32_t trigger_kind)
{
    struct sbx_policy_follower *follower = context;
    bool may = false;
    pthread_mutex_lock(&follower->lock);
    if (follower->effect.source != SBX_SOURCE_KILLED && follower->effect.policy.capture.detail_level != 0 &&
        sbx_policy_store_begin(follower->store, wall_s()) == 0) {
        may = sbx_day_budget_take_snapshot(&sbx_policy_store_state(follower->store)->budget,
                                           &follower->effect.policy.delivery, trigger_kind);
        /* a snapshot that cannot be counted is not made */
        may = sbx_policy_store_end(follower->store, may) == 0 && may;
    }
    pthread_mutex_unlock(&follower->lock);
    return may;
}

static bool may_send(void *context, uint64_t bytes)
{
    struct sbx_policy_follower *follower = context;
    uint32_t conditions = sbx_upload_conditions_of(follower->options.spool_path);
    bool may = false;
    pthread_mutex_lock(&follower->lock);
    if (follower->effect.source != SBX_SOURCE_KILLED && sbx_policy_store_begin(follower->store, wall_s()) == 0) {
        may = sbx_day_budget_allows_bytes(&sbx_policy_store_state(follower->store)->budget,
                                          &follower->effect.policy.delivery, bytes, conditions);
        may = sbx_policy_store_end(follower->store, false) == 0 && may;
    }
    pthread_mutex_unlock(&follower->lock);
    return may;
}

static void was_sent(void *context, uint64_t bytes)
{
    struct sbx_policy_follower *follower = context;
    uint32_t conditions = sbx_upload_conditions_of(follower->options.spool_path);
    pthread_mutex_lock(&follower->lock);
    if (sbx_policy_store_begin(follower->store, wall_s()) == 0) {
        sbx_day_budget_take_bytes(&sbx_policy_store_state(follower->store)->budget, bytes, conditions);
        if (sbx_policy_store_end(follower->store, true) != 0) {
            fprintf(stderr, "stallbox %s: policy: the day's count could not be kept\n", follower->options.command);
        }
    }
    pthread_mutex_unlock(&follower->lock);
}

static void terms(void *context, struct sbx_delivery_terms *terms_out)
{
    struct sbx_policy_follower *follower = context;
    pthread_mutex_lock(&follower->lock);
    *terms_out = follower->effect.policy.delivery;
    pthread_mutex_unlock(&follower->lock);
}

static uint32_t pins(void *context, uint8_t pins_out[][32])
{
    struct sbx_policy_follower *follower = context;
    pthread_mutex_lock(&follower->lock);
    const struct sbx_keyset *keyset = sbx_policy_store_keyset(follower->store);
    uint32_t count = keyset->pin_count < SBX_GATE_PINS_MAX ? keyset->pin_count : SBX_GATE_PINS_MAX;
    memcpy(pins_out, keyset->pins, count * sizeof keyset->pins[0]);
    pthread_mutex_unlock(&follower->lock);
    return count;
}

/* ---- life ---- */

int sbx_follower_open(const struct sbx_follower_options *options, struct sbx_policy_follower **follower_out,
                      struct sbx_policy *policy_out, char *why, size_t why_bytes)
{
    uint8_t *bytes = NULL;
    size_t count = 0;
    char reason[300] = "";
    struct sbx_policy_follower *follower = calloc(1, sizeof *follower);
    if (follower == NULL) {
        snprintf(why, why_bytes, "out of memory");
        return -ENOMEM;
    }
    follower->options = *options;
    follower->gate = (struct sbx_delivery_gate){follower, may_pack, may_send, was_sent, pins, terms};
    follower->call = follower->watch = -1;
    follower->app_mark = mark_of_program(options->program);
    pthread_mutex_init(&follower->lock, NULL);
    int result = -ENOENT;
    if (!read_file(follower, &bytes, &count)) {
        snprintf(why, why_bytes, "%s: cannot be read, or is larger than 64 KiB", options->file);
        goto close_follower;
    }
    int spool = open(sbx_spool_path(options->spool), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    result = spool < 0 ? -errno
                       : sbx_policy_store_open(spool, bytes, count, STALLBOX_BUILD_TIME, &follower->store, reason,
                                               sizeof reason);
    if (spool >= 0) {
        close(spool);
    }
    if (result != 0) {
        snprintf(why, why_bytes, "%s: %s", options->file, reason[0] != '\0' ? reason : strerror(-result));
        goto close_follower;
    }
    struct sbx_open_start self = sbx_policy_store_self(follower->store);
    snprintf(follower->mark, sizeof follower->mark, SBX_ENV_COMPANION "=%u-%llu", self.pid,
             (unsigned long long)self.start_ticks);
    if (options->mark != NULL && options->mark[0] != '\0') {
        snprintf(follower->mark, sizeof follower->mark, "%s", options->mark);
    }
    follower->agents.key = options->key;
    follower->agents.recordings = options->recordings;
    follower->agents.searches_recordings = options->searches_recordings;
    follower->agents.spool_path = options->spool_path;
    follower->agents.mark = options->only_own ? follower->mark : NULL;
    enum sbx_policy_verdict verdict = take(follower, bytes, count, false);
    free(bytes);
    bytes = NULL;
    if (follower->order == 0 || verdict == SBX_POLICY_STORE) { /* a start that was not stored must not record */
        result = -EIO;
        snprintf(why, why_bytes, "%s: what it says could not be kept in the spool", options->file);
        goto close_follower;
    }
    *policy_out = follower->effect.policy;
    if (follower->effect.source > SBX_SOURCE_POLICY) {
        fprintf(stderr, "stallbox %s: policy: %s\n", options->command, sbx_policy_source_name(follower->effect.source));
    }
    *follower_out = follower;
    return 0;

close_follower:
    free(bytes);
    sbx_follower_close(follower);
    return result;
}

const char *sbx_follower_mark(const struct sbx_policy_follower *follower)
{
    return follower->mark;
}

const struct sbx_delivery_gate *sbx_follower_gate(struct sbx_policy_follower *follower)
{
    return &follower->gate;
}

void sbx_follower_ask(struct sbx_policy_follower *follower)
{
    if (follower->options.server_url != NULL) {
        poll_server(follower);
    }
}

int sbx_follower_start(struct sbx_policy_follower *follower)
{
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", follower->options.file);
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        slash[slash == folder] = '\0';
    }
    follower->call = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (follower->call < 0) {
        return -errno;
    }
    follower->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (follower->watch >= 0) { /* without inotify there is a look every few seconds */
        (void)inotify_add_watch(follower->watch, slash != NULL ? folder : ".", IN_MOVED_TO | IN_CLOSE_WRITE);
        struct sbx_recording_folders folders = {.count = 0};
        if (follower->options.recordings != NULL || follower->options.searches_recordings) {
            sbx_recordings_find(follower->options.recordings, &folders);
        }
        for (unsigned i = 0; i < folders.count; i++) {
            (void)inotify_add_watch(follower->watch, folders.paths[i], IN_CREATE | IN_MOVED_TO);
        }
    }
    sigset_t all, before; /* signals are for the thread of the command, which waits for them */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&follower->thread, NULL, run, follower);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    follower->has_thread = error == 0;
    return -error;
}

/* Did the program end itself, or was it asked to end? After any other end, recording may be the cause. */
static bool is_orderly(int wait_status)
{
    if (WIFEXITED(wait_status)) {
        return WEXITSTATUS(wait_status) == 0;
    }
    int number = WTERMSIG(wait_status);
    return number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT || number == SIGPIPE;
}

void sbx_follower_ended(struct sbx_policy_follower *follower, int wait_status)
{
    pthread_mutex_lock(&follower->lock);
    follower->is_ending = true;
    if (follower->options.judges_starts && follower->survive_ms != 0 && !follower->has_ended) {
        if (is_orderly(wait_status)) {
            survive(follower);
        } else if (sbx_policy_store_begin(follower->store, wall_s()) == 0) {
            struct sbx_open_start self = sbx_policy_store_self(follower->store);
            sbx_crash_loop_crash(&sbx_policy_store_state(follower->store)->crash_loop, &self, wall_s());
            if (sbx_policy_store_end(follower->store, true) != 0) {
                /* The start stays stored as open, so it counts as a crash later. */
            }
        }
    }
    follower->has_ended = true;
    pthread_mutex_unlock(&follower->lock);
}

void sbx_follower_close(struct sbx_policy_follower *follower)
{
    if (follower == NULL) {
        return;
    }
    if (follower->has_thread) {
        pthread_mutex_lock(&follower->lock);
        follower->is_ending = true;
        pthread_mutex_unlock(&follower->lock);
        eventfd_write(follower->call, 1);
        pthread_join(follower->thread, NULL);
    }
    if (follower->call >= 0) {
        close(follower->call);
    }
    if (follower->watch >= 0) {
        close(follower->watch);
    }
    sbx_policy_store_close(follower->store);
    pthread_mutex_destroy(&follower->lock);
    free(follower);
}
