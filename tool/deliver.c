/* SPDX-License-Identifier: Apache-2.0 */
/* deliver.c - `stallbox deliver`: the delivery loop alone, for applications that have the recorder linked in. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
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
#include "options.h"
#include "pack.h"
#include "policy.h"
#include "spool.h"
#include "token_file.h"

enum {
    BLIND_LOOK_MS = 2000,    /* how often to look when the kernel has no inotify for us */
    LATER_LOOK_MS = 60000,   /* a snapshot that could not be encoded for want of memory or room is tried again */
};

enum { OPTION_SPOOL, OPTION_SERVER, OPTION_TOKEN_FILE, OPTION_ONCE, OPTION_COUNT };
static const struct sbx_option options[OPTION_COUNT] = {
    [OPTION_SPOOL] = {"--spool", 's', "DIR", "the spool; made when missing (required)"},
    [OPTION_SERVER] = {"--server", 'u', "URL", "where payloads go (required)"},
    [OPTION_TOKEN_FILE] = {"--token-file", 't', "FILE", "its first line is the secret the server wants to hear"},
    [OPTION_ONCE] = {"--once", 0, NULL, "try each payload once, then end"},
};

struct delivery {
    struct sbx_spool *spool;
    struct sbx_deliverer *deliverer;
    struct sbx_redaction redaction;
    const char *server_url;
    uint64_t sent_told;    /* what the last line said */
    char problem_told[320];
    bool has_failed;       /* something went to bad/, or was refused */
};

static volatile sig_atomic_t is_ending; /* a signal asked for the end */

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
    fputs("\nThe first signal ends it after the attempt at hand, a second one at once. Nothing is lost either way.\n", out);
}

/* ---- one round ---- */

/* Say what went wrong, unless that was the last thing said. */
static void tell_problem(struct delivery *delivery, const char *problem)
{
    if (problem[0] != '\0' && strcmp(problem, delivery->problem_told) != 0) {
        sbx_failure("deliver", "%s", problem);
    }
    snprintf(delivery->problem_told, sizeof delivery->problem_told, "%s", problem);
}

/* Pack and send what can be. Returns the milliseconds until there may be something to do again. */
static uint64_t deliver_round(struct delivery *delivery)
{
    struct sbx_pack_counts packed = {0};
    int result = sbx_pack_raw_folder(delivery->spool, &delivery->redaction, &packed);
    char problem[320] = "";
    if (result != 0) {
        snprintf(problem, sizeof problem, "%s/raw: %s", sbx_spool_path(delivery->spool), strerror(-result));
    } else if (packed.why[0] != '\0') {
        snprintf(problem, sizeof problem, "%s", packed.why);
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
    (void)deliver_round(delivery); /* when to try again is the caller's matter now */
    uint64_t waiting = 0;
    (void)sbx_spool_each(delivery->spool, count_one, &waiting);
    if (waiting > 0) {
        return sbx_failure("deliver", "%" PRIu64 " left in %s%s", waiting, sbx_spool_path(delivery->spool),
                           delivery->problem_told[0] == '\0' ? ": another deliverer is at work there" : "");
    }
    return delivery->has_failed ? SBX_EXIT_FAILED : SBX_EXIT_DONE;
}

/* ---- the loop ---- */

/* An inotify descriptor that tells of new snapshots and payloads; -1 when the kernel has none for us. */
static int watch_spool(const char *path)
{
    char *raw = NULL;
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch < 0) {
        return -1;
    }
    /* Both arrive by rename, so a file that shows is whole. */
    if (asprintf(&raw, "%s/raw", path) < 0 || inotify_add_watch(watch, raw, IN_MOVED_TO) < 0 ||
        inotify_add_watch(watch, path, IN_MOVED_TO) < 0) {
        close(watch);
        watch = -1;
    }
    free(raw);
    return watch;
}

/* Sleep until something arrives, `due_ms` is over, or a signal of `mask` comes, which is let through only here. */
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
            /* Which file it was does not matter: the folders are read anew. */
        }
    }
}

static int deliver_until_signal(struct delivery *delivery)
{
    /* Signals are let through while sending, so that a second one can end an attempt that hangs, and while waiting; not
     * between the look at is_ending and the wait, where one would go unnoticed. */
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
        wait_for_work(watch, due_ms, &mask_before);
    }
    if (watch >= 0) {
        close(watch);
    }
    return SBX_EXIT_DONE;
}

static int deliver(struct delivery *delivery, const char *spool_path, const char *token, bool once)
{
    char why[600];
    if (sbx_spool_open(spool_path, NULL, &delivery->spool, why, sizeof why) != 0) {
        return sbx_failure("deliver", "%s", why);
    }
    int status;
    sbx_policy_redaction(sbx_policy_default(), &delivery->redaction);
    delivery->deliverer = sbx_deliverer_create(delivery->spool, delivery->server_url, token);
    if (delivery->deliverer == NULL) {
        status = sbx_failure("deliver", "%s", strerror(ENOMEM));
    } else {
        status = once ? deliver_once(delivery) : deliver_until_signal(delivery);
    }
    sbx_deliverer_destroy(delivery->deliverer);
    sbx_spool_close(delivery->spool);
    return status;
}

int sbx_command_deliver(int argc, char **argv)
{
    const char *spool_path = NULL, *token_path = NULL;
    bool once = false;
    struct delivery delivery = {0};
    struct sbx_option_reader reader;
    sbx_option_reader_init(&reader, "deliver", options, OPTION_COUNT, argc, argv);
    for (int event = sbx_option_next(&reader); event != SBX_OPTION_END; event = sbx_option_next(&reader)) {
        switch (event) {
        case OPTION_SPOOL:
            spool_path = reader.value;
            break;
        case OPTION_SERVER:
            delivery.server_url = reader.value;
            break;
        case OPTION_TOKEN_FILE:
            token_path = reader.value;
            break;
        case OPTION_ONCE:
            once = true;
            break;
        case SBX_OPTION_OPERAND:
            return sbx_usage_error("deliver", "unexpected argument '%s'", reader.value);
        case SBX_OPTION_HELP:
            sbx_usage_deliver(stdout);
            return SBX_EXIT_DONE;
        default:
            return SBX_EXIT_USAGE;
        }
    }
    if (spool_path == NULL) {
        return sbx_usage_error("deliver", "--spool DIR is missing");
    }
    if (delivery.server_url == NULL) {
        return sbx_usage_error("deliver", "--server URL is missing");
    }
    char token[SBX_TOKEN_MAX + 1], why[600];
    if (token_path != NULL && sbx_token_read(token_path, token, why, sizeof why) != 0) {
        return sbx_failure("deliver", "%s", why);
    }
    return deliver(&delivery, spool_path, token_path == NULL ? NULL : token, once);
}
