/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c - `stallbox serve`: the server as a command, until a signal ends it. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "fetch_helper.h"
#include "operator_log.h"
#include "options.h"
#include "server.h"
#include "symbol_helper.h"
#include "token_file.h"
#include "unseal_key_files.h"

#define DEFAULT_LISTEN "127.0.0.1:7311"

enum {
    OPTION_DATA,
    OPTION_LISTEN,
    OPTION_TOKEN_FILE,
    OPTION_SEND_TOKEN,
    OPTION_SYMBOLS_TOKEN,
    OPTION_READ_TOKEN,
    OPTION_DATABASE,
    OPTION_BLOBS,
    OPTION_BLOBS_KEY,
    OPTION_TOKENS,
    OPTION_TOKEN_RATE,
    OPTION_SYMBOL_STORE,
    OPTION_SYMBOL_MB,
    OPTION_SYMBOLS,
    OPTION_DEBUGINFOD,
    OPTION_MODULES,
    OPTION_NO_LOCAL_FILES,
    OPTION_UNSEAL_KEY,
    OPTION_RETENTION,
    OPTION_PAYLOAD_DAYS,
    OPTION_MIN_MACHINES,
    OPTION_LOG_FORMAT,
    OPTION_RENDERINGS_MB,
    OPTION_WORKERS,
    OPTION_TRIAGE_SECONDS,
    OPTION_PENDING,
    OPTION_MACHINE_RATE,
    OPTION_BEHIND_PROXY,
    OPTION_WEBHOOK,
    OPTION_WEBHOOK_CHANGES,
    OPTION_WEBHOOK_APP,
    OPTION_WEBHOOK_SECRET,
    OPTION_WEBHOOK_FORMAT,
    OPTION_COUNT
};
static const struct sbx_option options[OPTION_COUNT] = {
    [OPTION_DATA] = {"--data", 'd', "DIR", "the folder of the server's data; made when missing (required)"},
    [OPTION_LISTEN] = {"--listen", 'l', "ADDR:PORT", "default " DEFAULT_LISTEN "; port 0 takes a free one"},
    [OPTION_TOKEN_FILE] =
        {"--token-file", 't', "FILE",
         "its first line is the secret that a sender must know; it allows\neverything. This, or one of the next "
         "three, is needed\nto listen on anything but loopback"},
    [OPTION_SEND_TOKEN] = {"--send-token-file", 0, "FILE", "a secret for delivering payloads only; may be repeated"},
    [OPTION_SYMBOLS_TOKEN] = {"--symbols-token-file", 0, "FILE", "a secret for sending symbols; may be repeated"},
    [OPTION_READ_TOKEN] = {"--read-token-file", 0, "FILE", "a secret for reading pages and lists; may be repeated"},
    [OPTION_DATABASE] = {"--database", 0, "URL",
                         "PostgreSQL instead of a file: postgresql://[USER@]HOST/NAME, with\nthe password in "
                         "~/.pgpass; several servers may share it"},
    [OPTION_BLOBS] = {"--blobs", 0, "DIR|URL",
                      "where the bytes of payloads go instead of the database: a folder\n(/DIR), or a bucket of an "
                      "S3-compatible store\n(https://HOST/BUCKET[?region=NAME])"},
    [OPTION_BLOBS_KEY] = {"--blobs-key", 0, "FILE",
                          "the first line of this file is the bucket's access key, a blank,\nand its secret key"},
    [OPTION_TOKENS] = {"--tokens", 0, "FILE",
                       "secrets by application and role, made by `stallbox token add`\n(default tokens, below --data); "
                       "read anew when it changes"},
    [OPTION_TOKEN_RATE] = {"--token-rate", 0, "N",
                           "take N payloads and symbol files an hour from one token, and a\nsixtieth of it at once "
                           "(default 3600000); senders try again later"},
    [OPTION_SYMBOL_STORE] = {"--symbol-store", 'S', "DIR|URL",
                             "where parsed symbols are kept and asked for first (default\nsymbols, below --data); or "
                             "Redis, as in stallbox symbols"},
    [OPTION_SYMBOL_MB] = {"--symbol-mb", 0, "N", "take files of symbols of at most N MiB (default 2048)"},
    [OPTION_SYMBOLS] = {"--symbols", 's', "DIR", "look for ELF and debug files here; may be repeated"},
    [OPTION_DEBUGINFOD] = {"--debuginfod", 0, "URL",
                           "ask this debuginfod server for missing symbols of stalls; it learns\ntheir build-ids "
                           "(docs/SYMBOLS.md)"},
    [OPTION_MODULES] = {"--modules", 'm', "FILE",
                        "a spool's list of where modules lie (SPOOL/modules);\nmay be repeated, and may appear later"},
    [OPTION_NO_LOCAL_FILES] =
        {"--no-local-files", 0, NULL,
         "take names from the store, --symbols and --modules alone: do not\nlook through what this "
         "machine has installed, or runs"},
    [OPTION_UNSEAL_KEY] = {"--unseal-key", 'k', "FILE",
                           "open sealed payloads with this secret key of `stallbox seal\nkeygen`; may be repeated. "
                           "Without it they are kept sealed, until\na server with the key starts on the same data"},
    [OPTION_RETENTION] = {"--retention-days", 0, "N",
                          "delete the verdict on a payload N days after it arrived\n(default 90; 0: never)"},
    [OPTION_PAYLOAD_DAYS] =
        {"--payload-days", 0, "N",
         "delete the payload itself, sealed or not, and its reports,\nN days after it arrived (default "
         "30; 0: together with the rest)"},
    [OPTION_RENDERINGS_MB] = {"--renderings-mb", 0, "N",
                              "keep at most N MiB of rendered reports\n(default 256; 0: none, each is "
                              "made again)"},
    [OPTION_WORKERS] = {"--workers", 0, "N", "triage in N processes (default: as many as there are processors)"},
    [OPTION_TRIAGE_SECONDS] = {"--triage-seconds", 0, "N",
                               "mark a payload as failed that takes more than N s of processor time\n(default 5)"},
    [OPTION_PENDING] = {"--pending", 0, "N",
                        "take no more payloads while N wait for triage; senders try again\nlater (default 100000)"},
    [OPTION_MACHINE_RATE] =
        {"--machine-rate", 0, "N",
         "take N payloads an hour from one machine; further ones get 429 and\nRetry-After (default 1000)"},
    [OPTION_BEHIND_PROXY] = {"--behind-proxy", 0, "ADDR",
                             "requests come through a proxy at this address, so that none\ncounts as local; "
                             "may be repeated"},
    [OPTION_WEBHOOK] =
        {"--webhook", 0, "URL",
         "notify this address of issues that are new, regressed, slower,\nsurging or gone (docs/REGRESSIONS.md)"},
    [OPTION_WEBHOOK_FORMAT] =
        {"--webhook-format", 0, "WORD",
         "stallbox (default), or otlp: log records of OpenTelemetry, for an\naddress that ends in /v1/logs"},
    [OPTION_WEBHOOK_CHANGES] = {"--webhook-changes", 0, "WORD,...",
                                "only of these: new, regressed, slower, surging, improved, gone"},
    [OPTION_WEBHOOK_APP] = {"--webhook-app", 0, "NAME",
                            "only of this application, by the name on pages; may be repeated"},
    [OPTION_WEBHOOK_SECRET] = {"--webhook-secret-file", 0, "FILE",
                               "sign webhook requests with the secret in this file, which only\nits owner may read"},
    [OPTION_MIN_MACHINES] =
        {"--min-machines", 0, "N",
         "show no stall, and no build, that fewer than N machines sent\n(default 1: everything; see "
         "docs/PRIVACY.md)"},
    [OPTION_LOG_FORMAT] =
        {"--log-format", 0, "WORD",
         "the form of the log on standard error: text (default), or json: an\nobject a line, with time, "
         "level, part and message"},
};

void sbx_usage_serve(FILE *out)
{
    fputs("usage: stallbox serve --data DIR [OPTION]...\n"
          "\n"
          "Collect payloads, say what caused each stall, and show it as pages. Runs until SIGTERM or SIGINT.\n"
          "\n",
          out);
    sbx_options_print(options, OPTION_COUNT, out);
    fputs("\nThe address of the pages is printed on standard error once the server listens.\n", out);
}

/* Print the listening address with the real port, for a person to open. */
static void print_address(const struct sbx_server_options *server_options, uint16_t port)
{
    const char *listen = server_options->listen;
    const char *colon = strrchr(listen, ':');
    int host_length = colon == NULL ? (int)strlen(listen) : (int)(colon - listen);
    sbx_operator_log(&server_options->log, SBX_LOG_INFO, "server", "listening on http://%.*s:%u/ (data in %s)",
                     host_length, listen, port, server_options->data_dir);
}

static int serve_until_signal(const struct sbx_server_options *server_options)
{
    /* The server's threads inherit the mask, so that the signals arrive here and nowhere else. */
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    signal(SIGPIPE, SIG_IGN); /* a visitor who disconnects early must not end the server */

    struct sbx_server *server = NULL;
    char why[300];
    int result = sbx_server_start(server_options, &server, why, sizeof why);
    if (result == -EINVAL) {
        return sbx_usage_error("serve", "%s", why);
    }
    if (result != 0) {
        return sbx_failure("serve", "%s", why);
    }
    print_address(server_options, sbx_server_port(server));
    int signal_number = 0;
    do {
        result = sigwait(&ends, &signal_number);
    } while (result == EINTR);
    sbx_operator_log(&server_options->log, SBX_LOG_INFO, "server", "%s, stopping",
                     signal_number == SIGINT ? "interrupted" : "asked to end");
    sbx_server_stop(server);
    return SBX_EXIT_DONE;
}

enum {
    TOKEN_ROLES = 3 /* send, symbols, read */
};

/* Options that may be repeated; there is room for as many as there are arguments. */
struct lists {
    const char **symbol_dirs, **index_paths, **proxies, **webhook_apps;
    const char *webhook_secret_path; /* NULL: none */
    struct {
        const char **paths; /* paths of token files; after reading, the texts of the tokens, which are given */
        size_t count, read;
    } tokens[TOKEN_ROLES];
};

static bool lists_create(struct lists *lists, int argc)
{
    lists->symbol_dirs = calloc((size_t)argc, sizeof *lists->symbol_dirs);
    lists->index_paths = calloc((size_t)argc, sizeof *lists->index_paths);
    lists->proxies = calloc((size_t)argc, sizeof *lists->proxies);
    lists->webhook_apps = calloc((size_t)argc, sizeof *lists->webhook_apps);
    bool has_all = lists->symbol_dirs != NULL && lists->index_paths != NULL && lists->proxies != NULL &&
                   lists->webhook_apps != NULL;
    for (int role = 0; role < TOKEN_ROLES; role++) {
        lists->tokens[role].paths = calloc((size_t)argc, sizeof *lists->tokens[role].paths);
        has_all = has_all && lists->tokens[role].paths != NULL;
    }
    return has_all;
}

static void lists_finish(struct lists *lists)
{
    for (int role = 0; role < TOKEN_ROLES; role++) {
        for (size_t i = 0; i < lists->tokens[role].read; i++) {
            char *token = (char *)lists->tokens[role].paths[i];
            explicit_bzero(token, strlen(token));
            free(token);
        }
        free(lists->tokens[role].paths);
    }
    free(lists->index_paths);
    free(lists->proxies);
    free(lists->webhook_apps);
    free(lists->symbol_dirs);
}

/* Replace the paths of the files by the tokens in them. Returns SBX_EXIT_DONE, or SBX_EXIT_FAILED after a message. */
static int read_role_tokens(struct lists *lists, struct sbx_server_options *server_options)
{
    char token[SBX_TOKEN_MAX + 1], why[300];
    for (int role = 0; role < TOKEN_ROLES; role++) {
        for (size_t i = 0; i < lists->tokens[role].count; i++) {
            if (sbx_token_read(lists->tokens[role].paths[i], token, why, sizeof why) != 0) {
                return sbx_failure("serve", "%s", why);
            }
            char *copy = strdup(token);
            explicit_bzero(token, sizeof token);
            if (copy == NULL) {
                return sbx_failure("serve", "%s", strerror(ENOMEM));
            }
            lists->tokens[role].paths[i] = copy;
            lists->tokens[role].read++;
        }
    }
    server_options->send_tokens = lists->tokens[0].paths;
    server_options->send_token_count = lists->tokens[0].count;
    server_options->symbols_tokens = lists->tokens[1].paths;
    server_options->symbols_token_count = lists->tokens[1].count;
    server_options->read_tokens = lists->tokens[2].paths;
    server_options->read_token_count = lists->tokens[2].count;
    return SBX_EXIT_DONE;
}

/* Returns SBX_EXIT_DONE to go on, or the exit status; *help_out: only help was wanted. */
static int read_options(int argc, char **argv, struct sbx_server_options *server_options, struct lists *lists,
                        struct sbx_unseal_keys *keys, const char **token_path_out, bool *help_out)
{
    char why[300];
    uint64_t number;
    struct sbx_option_reader reader;
    sbx_option_reader_init(&reader, "serve", options, OPTION_COUNT, argc, argv);
    for (;;) {
        switch (sbx_option_next(&reader)) {
        case OPTION_DATA:
            server_options->data_dir = reader.value;
            break;
        case OPTION_LISTEN:
            server_options->listen = reader.value;
            break;
        case OPTION_TOKEN_FILE:
            *token_path_out = reader.value;
            break;
        case OPTION_SEND_TOKEN:
            lists->tokens[0].paths[lists->tokens[0].count++] = reader.value;
            break;
        case OPTION_SYMBOLS_TOKEN:
            lists->tokens[1].paths[lists->tokens[1].count++] = reader.value;
            break;
        case OPTION_READ_TOKEN:
            lists->tokens[2].paths[lists->tokens[2].count++] = reader.value;
            break;
        case OPTION_DATABASE:
            server_options->database = reader.value;
            break;
        case OPTION_BLOBS:
            server_options->blobs = reader.value;
            break;
        case OPTION_BLOBS_KEY:
            server_options->blobs_secret = reader.value; /* a path until the file is read */
            break;
        case OPTION_TOKENS:
            server_options->token_book = reader.value;
            break;
        case OPTION_TOKEN_RATE:
            if (!sbx_option_number(&reader, OPTION_TOKEN_RATE, 1, 1000000000, &number)) {
                return SBX_EXIT_USAGE;
            }
            server_options->token_rate = (uint32_t)number;
            break;
        case OPTION_SYMBOL_MB:
            if (!sbx_option_number(&reader, OPTION_SYMBOL_MB, 1, 1 << 20, &number)) {
                return SBX_EXIT_USAGE;
            }
            server_options->symbol_bytes_max = number << 20;
            break;
        case OPTION_SYMBOL_STORE:
            server_options->symbol_store = reader.value;
            break;
        case OPTION_SYMBOLS:
            lists->symbol_dirs[server_options->symbol_dir_count++] = reader.value;
            break;
        case OPTION_NO_LOCAL_FILES:
            server_options->skips_local_files = true;
            break;
        case OPTION_MODULES:
            lists->index_paths[server_options->index_path_count++] = reader.value;
            break;
        case OPTION_DEBUGINFOD:
            server_options->debuginfod_url = reader.value;
            break;
        case OPTION_UNSEAL_KEY:
            if (sbx_unseal_key_file_add(keys, reader.value, why, sizeof why) != 0) {
                return sbx_failure("serve", "%s", why);
            }
            server_options->unseal_keys = keys;
            break;
        case OPTION_RETENTION:
            if (!sbx_option_number(&reader, OPTION_RETENTION, 0, 36500, &number)) {
                return SBX_EXIT_USAGE;
            }
            server_options->retention_days = number == 0 ? SBX_KEEP_FOR_EVER : (uint32_t)number;
            break;
        case OPTION_PAYLOAD_DAYS:
            if (!sbx_option_number(&reader, OPTION_PAYLOAD_DAYS, 0, 36500, &number)) {
                return SBX_EXIT_USAGE;
            }
            server_options->payload_days = number == 0 ? SBX_KEEP_FOR_EVER : (uint32_t)number;
            break;
        case OPTION_LOG_FORMAT:
            server_options->log.is_json = strcmp(reader.value, "json") == 0;
            if (!server_options->log.is_json && strcmp(reader.value, "text") != 0) {
                return sbx_usage_error("serve", "--log-format: '%s' is neither text nor json", reader.value);
            }
            break;
        case OPTION_MIN_MACHINES:
            if (!sbx_option_number(&reader, OPTION_MIN_MACHINES, 1, 1000, &number)) {
                return SBX_EXIT_USAGE;
            }
            server_options->min_machines = (uint32_t)number;
            break;
        case OPTION_WORKERS:
            if (!sbx_option_number(&reader, OPTION_WORKERS, 1, 256, &number)) {
                return SBX_EXIT_USAGE;
            }
            server_options->workers = (uint32_t)number;
            break;
        case OPTION_TRIAGE_SECONDS:
            if (!sbx_option_number(&reader, OPTION_TRIAGE_SECONDS, 1, 3600, &number)) {
                return SBX_EXIT_USAGE;
            }
            server_options->triage_ms = (uint32_t)number * 1000;
            break;
        case OPTION_PENDING:
            if (!sbx_option_number(&reader, OPTION_PENDING, 1, 100000000, &number)) {
                return SBX_EXIT_USAGE;
            }
            server_options->pending_max = (uint32_t)number;
            break;
        case OPTION_MACHINE_RATE:
            if (!sbx_option_number(&reader, OPTION_MACHINE_RATE, 1, 1000000000, &number)) {
                return SBX_EXIT_USAGE;
            }
            server_options->machine_rate = (uint32_t)number;
            break;
        case OPTION_WEBHOOK:
            if (strncmp(reader.value, "http://", 7) != 0 && strncmp(reader.value, "https://", 8) != 0) {
                return sbx_usage_error("serve", "--webhook: '%s' begins with neither http:// nor https://",
                                       reader.value);
            }
            server_options->webhook_url = reader.value;
            break;
        case OPTION_WEBHOOK_FORMAT:
            if (strcmp(reader.value, "stallbox") != 0 && strcmp(reader.value, "otlp") != 0) {
                return sbx_usage_error("serve", "--webhook-format: '%s' is neither stallbox nor otlp", reader.value);
            }
            server_options->webhook_is_otlp = strcmp(reader.value, "otlp") == 0;
            break;
        case OPTION_WEBHOOK_CHANGES:
            server_options->webhook_changes = reader.value;
            break;
        case OPTION_WEBHOOK_APP:
            lists->webhook_apps[server_options->webhook_app_count++] = reader.value;
            break;
        case OPTION_WEBHOOK_SECRET:
            lists->webhook_secret_path = reader.value;
            break;
        case OPTION_BEHIND_PROXY:
            lists->proxies[server_options->proxy_count++] = reader.value;
            break;
        case OPTION_RENDERINGS_MB:
            if (!sbx_option_number(&reader, OPTION_RENDERINGS_MB, 0, 1 << 20, &number)) {
                return SBX_EXIT_USAGE;
            }
            server_options->renderings_bytes_max = number == 0 ? SBX_RENDERINGS_NOT_KEPT : number << 20;
            break;
        case SBX_OPTION_HELP:
            *help_out = true;
            return SBX_EXIT_DONE;
        case SBX_OPTION_OPERAND:
            return sbx_usage_error("serve", "unexpected argument '%s'", reader.value);
        case SBX_OPTION_END:
            return server_options->data_dir != NULL ? SBX_EXIT_DONE : sbx_usage_error("serve", "--data DIR is missing");
        default:
            return SBX_EXIT_USAGE;
        }
    }
}

int sbx_command_serve(int argc, char **argv)
{
    static struct sbx_unseal_keys keys;
    struct lists lists = {0};
    struct sbx_server_options server_options = {.listen = DEFAULT_LISTEN, .log = {.out = stderr}};
    struct sbx_symbol_helper *helper = NULL;
    struct sbx_fetch_helper *fetcher = NULL;
    struct sbx_triage_nursery *nursery = NULL;
    const char *token_path = NULL;
    char webhook_secret[SBX_TOKEN_MAX + 1];
    char token[SBX_TOKEN_MAX + 1], blobs_secret[SBX_TOKEN_MAX + 1] = "", why[300];
    bool help = false;
    int status = SBX_EXIT_FAILED;
    /* First, so that the process that reads untrusted files has none of the secrets that are read next. */
    int result = sbx_symbol_helper_start(&helper);
    if (result != 0) {
        return sbx_failure("serve", "no process to read symbol files in: %s", strerror(-result));
    }
    result = sbx_fetch_helper_start(&fetcher);
    if (result != 0) {
        sbx_failure("serve", "no process to ask debuginfod from: %s", strerror(-result));
        goto free_lists;
    }
    result = sbx_server_prepare(&nursery);
    if (result != 0) {
        sbx_failure("serve", "no process to triage in: %s", strerror(-result));
        goto free_lists;
    }
    if (!lists_create(&lists, argc)) {
        sbx_failure("serve", "%s", strerror(ENOMEM));
        goto free_lists;
    }
    server_options.symbol_helper = helper;
    server_options.fetch_helper = fetcher;
    server_options.nursery = nursery;
    server_options.symbol_dirs = lists.symbol_dirs;
    server_options.index_paths = lists.index_paths;
    server_options.proxies = lists.proxies;
    server_options.webhook_apps = lists.webhook_apps;
    status = read_options(argc, argv, &server_options, &lists, &keys, &token_path, &help);
    if (help) {
        sbx_usage_serve(stdout);
        goto free_lists;
    }
    if (status != SBX_EXIT_DONE) {
        goto free_lists;
    }
    if (token_path != NULL) {
        if (sbx_token_read(token_path, token, why, sizeof why) != 0) {
            status = sbx_failure("serve", "%s", why);
            goto free_lists;
        }
        server_options.token = token;
    }
    if (server_options.blobs_secret != NULL) {
        if (sbx_key_pair_read(server_options.blobs_secret, blobs_secret, why, sizeof why) != 0) {
            status = sbx_failure("serve", "%s", why);
            goto free_lists;
        }
        server_options.blobs_secret = blobs_secret;
    }
    if (lists.webhook_secret_path != NULL) {
        if (sbx_token_read(lists.webhook_secret_path, webhook_secret, why, sizeof why) != 0) {
            status = sbx_failure("serve", "%s", why);
            goto free_lists;
        }
        server_options.webhook_secret = webhook_secret;
    }
    if (server_options.debuginfod_url == NULL) { /* it is not needed */
        sbx_fetch_helper_stop(fetcher);
        server_options.fetch_helper = fetcher = NULL;
    }
    status = read_role_tokens(&lists, &server_options);
    if (status == SBX_EXIT_DONE) {
        status = serve_until_signal(&server_options);
    }

free_lists:
    sbx_unseal_keys_wipe(&keys);
    explicit_bzero(token, sizeof token);
    explicit_bzero(blobs_secret, sizeof blobs_secret);
    explicit_bzero(webhook_secret, sizeof webhook_secret);
    lists_finish(&lists);
    sbx_server_unprepare(nursery);
    sbx_fetch_helper_stop(fetcher);
    sbx_symbol_helper_stop(helper);
    return status;
}
