/* SPDX-License-Identifier: Apache-2.0 */
/* deliver.c - `stallbox deliver`: only the delivery loop, for applications that have the recorder linked in. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "deliver.h"
#include "delivery_options.h"
#include "options.h"
#include "pack.h"
#include "policy.h"
#include "policy_follower.h"
#include "preload.h"
#include "recording_folder.h"
#include "recording_recover.h"
#include "spool.h"

enum {
    BLIND_LOOK_MS = 2000,    /* interval of looks without inotify */
    ORPHANS_LOOK_MS = 60000, /* interval of looks for recordings that dead processes left */
    LATER_LOOK_MS = 60000,   /* until a snapshot that had no memory or room for its encoding is tried again */
};

enum {
    OPTION_ONCE = SBX_DELIVERY_OPTION_COUNT,
    OPTION_COUNT
};
static const struct sbx_option options[OPTION_COUNT] = {
    SBX_DELIVERY_OPTION_ROWS("the spool; made when missing (required)", "where payloads go (required)",
                             "obey, and have the applications that use this spool obey, the signed policy of the\n"
                             "application whose KEYSET FILE begins with (see docs/POLICY.md)"),
    [OPTION_ONCE] = {"--once", 0, NULL, "try each payload once, then end"},
};

struct delivery {
    struct sbx_spool *spool;
    struct sbx_deliverer *deliverer;
    pthread_mutex_t lock; /* protects redaction, which the thread of the policy changes */
    struct sbx_redaction redaction;
    struct sbx_policy_follower *follower; /* NULL: there is no policy */
    struct sbx_sealer *sealer;            /* NULL: there is neither a key nor a KEYSET to seal to */
    const char *server_url;
    uint64_t sent_told; /* in the last printed line */
    char problem_told[320];
    char orphan_told[600];
    bool has_failed; /* a file was moved to bad/, or was refused */
};

static volatile sig_atomic_t is_ending; /* a signal asked to end */

static void note_signal(int signal_number)
{
    (void)signal_number;
    is_ending = 1;
}

void sbx_usage_deliver(FILE *out)
{
    fputs("usage: stallbox deliver --spool DIR --server URL [OPTION]...\n"
          "\n"
          "Encode a spool's raw snapshots and send its payloads, now and whenever new ones arrive, until SIGTERM or\n"
          "SIGINT. `stallbox run --server` does the same for its own command.\n"
          "\n",
          out);
    sbx_options_print(options, OPTION_COUNT, out);
    fputs("\nThe first signal ends it after the current attempt, a second one at once. Nothing is lost either way.\n",
          out);
}

/* ---- one round ---- */

/* Report a problem, unless it was the last one reported. */
static void tell_problem(struct delivery *delivery, const char *problem)
{
    if (problem[0] != '\0' && strcmp(problem, delivery->problem_told) != 0) {
        sbx_failure("deliver", "%s", problem);
    }
    snprintf(delivery->problem_told, sizeof delivery->problem_told, "%s", problem);
}

static void complain(void *context, const char *path, const char *why)
{
    struct delivery *delivery = context;
    char problem[sizeof delivery->orphan_told];
    snprintf(problem, sizeof problem, "%s: %s", path, why);
    if (strcmp(problem, delivery->orphan_told) != 0) {
        sbx_failure("deliver", "%s", problem);
        memcpy(delivery->orphan_told, problem, sizeof problem);
    }
}

/* Make snapshots of what dead processes without a companion left. Those of our spool go into its raw/. */
static void recover(struct delivery *delivery)
{
    struct sbx_recording_folders folders;
    struct sbx_recovery_counts counts;
    sbx_recordings_find(sbx_recordings_given(), &folders);
    for (unsigned i = 0; i < folders.count; i++) {
        const struct sbx_recovery_order order = {.folder = folders.paths[i],
                                                 .spool = sbx_spool_path(delivery->spool),
                                                 .complain = complain,
                                                 .context = delivery};
        int result = sbx_recording_recover(&order, &counts);
        if (result != 0) {
            complain(delivery, order.folder, strerror(-result));
        }
    }
}

/* Pack and send what is possible. Returns the milliseconds until there may be more to do. */
static uint64_t deliver_round(struct delivery *delivery)
{
    struct sbx_pack_counts packed = {0};
    recover(delivery);
    pthread_mutex_lock(&delivery->lock);
    struct sbx_redaction redaction = delivery->redaction;
    pthread_mutex_unlock(&delivery->lock);
    int result = sbx_pack_raw_folder(delivery->spool, &redaction,
                                     delivery->follower != NULL ? sbx_follower_gate(delivery->follower) : NULL,
                                     delivery->sealer, &packed);
    char problem[320] = "";
    if (result != 0) {
        snprintf(problem, sizeof problem, "%s/raw: %s", sbx_spool_path(delivery->spool), strerror(-result));
    } else if (packed.why[0] != '\0') {
        snprintf(problem, sizeof problem, "%s", packed.why);
    }
    if (packed.expired > 0) {
        fprintf(stderr, "stallbox deliver: %s: %u waited too long and were removed unsent\n",
                sbx_spool_path(delivery->spool), packed.expired);
    }
    uint64_t due_ms = sbx_deliverer_step(delivery->deliverer);
    struct sbx_deliver_counts counts;
    sbx_deliverer_counts(delivery->deliverer, &counts);
    if (problem[0] == '\0') {
        snprintf(problem, sizeof problem, "%s", sbx_deliverer_last_error(delivery->deliverer));
    }
    tell_problem(delivery, problem);
    if (counts.sent > delivery->sent_told) {
        fprintf(stderr, "stallbox deliver: sent %" PRIu64 " to %s\n", counts.sent - delivery->sent_told,
                delivery->server_url);
        delivery->sent_told = counts.sent;
    }
    if (result != 0 || packed.unreadable > 0 || packed.later > 0 || counts.refused > 0 || counts.unreadable > 0) {
        delivery->has_failed = true;
    }
    return packed.later > 0 && due_ms > LATER_LOOK_MS ? LATER_LOOK_MS : due_ms;
}

static int count_one(void *context, const char *path, const uint8_t id[16])
{
    (void)path, (void)id;
    ++*(uint64_t *)context;
    return 0;
}

static int deliver_once(struct delivery *delivery)
{
    sbx_deliverer_hurry(delivery->deliverer);
    (void)deliver_round(delivery); /* the caller decides when to try again */
    uint64_t waiting = 0;
    (void)sbx_spool_each(delivery->spool, count_one, &waiting);
    if (waiting > 0) {
        return sbx_failure("deliver", "%" PRIu64 " left in %s%s", waiting, sbx_spool_path(delivery->spool),
                           delivery->problem_told[0] == '\0' ? ": another deliverer is at work there" : "");
    }
    /* Also when nothing waits, for example after an unanswered request to delete. */
    return delivery->has_failed || delivery->problem_told[0] != '\0' ? SBX_EXIT_FAILED : SBX_EXIT_DONE;
}

/* ---- the loop ---- */

/* Open an inotify descriptor that reports new snapshots and payloads; -1: there is none. */
static int watch_spool(const char *path)
{
    char *raw = NULL;
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch < 0) {
        return -1;
    }
    /* Both arrive by rename, so a file that is visible is complete. */
    if (asprintf(&raw, "%s/raw", path) < 0 || inotify_add_watch(watch, raw, IN_MOVED_TO) < 0 ||
        inotify_add_watch(watch, path, IN_MOVED_TO) < 0) {
        close(watch);
        watch = -1;
    }
    free(raw);
    return watch;
}

/* Sleep until something arrives, `due_ms` is over, or a signal of `mask` comes. Only here these signals are
 * unblocked. */
static void wait_for_work(int watch, uint64_t due_ms, const sigset_t *mask)
{
    if (watch < 0 && due_ms > BLIND_LOOK_MS) {
        due_ms = BLIND_LOOK_MS;
    }
    const struct timespec limit = {.tv_sec = (time_t)(due_ms / 1000), .tv_nsec = (long)(due_ms % 1000) * 1000000};
    struct pollfd wait = {.fd = watch, .events = POLLIN};
    if (ppoll(&wait, 1, due_ms == UINT64_MAX ? NULL : &limit, mask) > 0) {
        char events[4096];
        while (read(watch, events, sizeof events) > 0) {
            /* All folders are read again, so the events themselves are not needed. */
        }
    }
}

static int deliver_until_signal(struct delivery *delivery)
{
    /* Signals are unblocked while sending, so that a second one can end an attempt that hangs, and while waiting. They
     * are blocked between the check of is_ending and the wait, where one could be missed. */
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESETHAND | SA_RESTART};
    sigset_t ends, mask_before;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, &mask_before);
    sigdelset(&mask_before, SIGTERM);
    sigdelset(&mask_before, SIGINT);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);

    int watch = watch_spool(sbx_spool_path(delivery->spool));
    fprintf(stderr, "stallbox deliver: watching %s for %s\n", sbx_spool_path(delivery->spool), delivery->server_url);
    for (;;) {
        sigprocmask(SIG_UNBLOCK, &ends, NULL);
        uint64_t due_ms = is_ending ? 0 : deliver_round(delivery);
        sigprocmask(SIG_BLOCK, &ends, NULL);
        if (is_ending) {
            break;
        }
        wait_for_work(watch, due_ms < ORPHANS_LOOK_MS ? due_ms : ORPHANS_LOOK_MS, &mask_before);
    }
    if (watch >= 0) {
        close(watch);
    }
    return SBX_EXIT_DONE;
}

/* Another policy is in force. */
static void on_policy(void *context, const struct sbx_policy *policy)
{
    struct delivery *delivery = context;
    pthread_mutex_lock(&delivery->lock);
    sbx_policy_redaction(policy, &delivery->redaction);
    pthread_mutex_unlock(&delivery->lock);
}

/* Set the keys that payloads are sealed to. */
static void on_keyset(void *context, const struct sbx_keyset *keyset, uint64_t now_s)
{
    struct delivery *delivery = context;
    sbx_sealer_follow(delivery->sealer, keyset->seal_keys, keyset->seal_key_count, now_s);
}

/* Follow a policy for applications that have the recorder linked in. Returns an exit status. */
static int follow_policy(struct delivery *delivery, const char *file, uint32_t poll_ms, bool once)
{
    static char spool_path[PATH_MAX];
    char why[600];
    struct sbx_policy policy;
    if (realpath(sbx_spool_path(delivery->spool), spool_path) == NULL) {
        return sbx_failure("deliver", "%s: %s", sbx_spool_path(delivery->spool), strerror(errno));
    }
    const struct sbx_follower_options follower_options = {
        .spool = delivery->spool,
        .file = file,
        .server_url = delivery->server_url,
        .recordings = sbx_recordings_given(),
        .searches_recordings = true,
        .spool_path = spool_path,
        .poll_ms = poll_ms,
        .command = "deliver",
        .on_change = on_policy,
        .on_keyset = on_keyset,
        .context = delivery,
    };
    if (sbx_follower_open(&follower_options, &delivery->follower, &policy, why, sizeof why) != 0) {
        return sbx_failure("deliver", "%s", why);
    }
    if (once) {
        sbx_follower_ask(delivery->follower);
    } else if (sbx_follower_start(delivery->follower) != 0) {
        return sbx_failure("deliver", "no thread to follow the policy");
    }
    return SBX_EXIT_DONE;
}

static int deliver(struct delivery *delivery, const struct sbx_delivery_options *told, bool once)
{
    char why[600];
    if (sbx_spool_open(told->spool_path, NULL, &delivery->spool, why, sizeof why) != 0) {
        return sbx_failure("deliver", "%s", why);
    }
    int status;
    sbx_policy_redaction(sbx_policy_default(), &delivery->redaction);
    delivery->deliverer = sbx_deliverer_create(delivery->spool, delivery->server_url, told->token);
    if (delivery->deliverer == NULL) {
        status = sbx_failure("deliver", "%s", strerror(ENOMEM));
    } else {
        status =
            told->policy_path != NULL ? follow_policy(delivery, told->policy_path, told->poll_ms, once) : SBX_EXIT_DONE;
    }
    if (status == SBX_EXIT_DONE) {
        sbx_deliverer_set_gate(delivery->deliverer,
                               delivery->follower != NULL ? sbx_follower_gate(delivery->follower) : NULL);
        sbx_deliverer_set_sealer(delivery->deliverer, delivery->sealer);
        (void)sbx_delivery_options_tell_unsealed(told, "deliver", sbx_spool_path(delivery->spool), delivery->sealer);
        status = once ? deliver_once(delivery) : deliver_until_signal(delivery);
    }
    sbx_deliverer_destroy(delivery->deliverer);
    sbx_follower_close(delivery->follower);
    sbx_spool_close(delivery->spool);
    return status;
}

int sbx_command_deliver(int argc, char **argv)
{
    struct sbx_delivery_options told = {.spool_path = NULL};
    bool once = false;
    struct delivery delivery = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct sbx_option_reader reader;
    sbx_option_reader_init(&reader, "deliver", options, OPTION_COUNT, argc, argv);
    for (int event = sbx_option_next(&reader); event != SBX_OPTION_END; event = sbx_option_next(&reader)) {
        switch (event) {
        case OPTION_ONCE:
            once = true;
            break;
        case SBX_OPTION_OPERAND:
            return sbx_usage_error("deliver", "unexpected argument '%s'", reader.value);
        case SBX_OPTION_HELP:
            sbx_usage_deliver(stdout);
            return SBX_EXIT_DONE;
        case SBX_OPTION_BAD:
            return SBX_EXIT_USAGE;
        default:
            if (!sbx_delivery_options_take(&told, &reader, event)) {
                return SBX_EXIT_USAGE;
            }
        }
    }
    if (told.spool_path == NULL) {
        return sbx_usage_error("deliver", "--spool DIR is missing");
    }
    if (told.server_url == NULL) {
        return sbx_usage_error("deliver", "--server URL is missing");
    }
    if (!sbx_delivery_options_check_server(&told, "deliver")) {
        return SBX_EXIT_USAGE;
    }
    int status = sbx_delivery_options_prepare(&told, "deliver", &delivery.sealer);
    if (status != SBX_EXIT_DONE) {
        return status;
    }
    delivery.server_url = told.server_url;
    status = deliver(&delivery, &told, once);
    sbx_sealer_destroy(delivery.sealer);
    return status;
}
