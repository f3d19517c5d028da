/* SPDX-License-Identifier: Apache-2.0 */
/* server.c - starts the parts of the server in order, and stops them in reverse order. */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "active_days.h"
#include "ager.h"
#include "eraser.h"
#include "change_watch.h"
#include "blobs.h"
#include "collector.h"
#include "debuginfod.h"
#include "fetch_helper.h"
#include "gate.h"
#include "http.h"
#include "listener.h"
#include "metrics.h"
#include "provider_shelf.h"
#include "proxies.h"
#include "rate_limit.h"
#include "renderings.h"
#include "sealed_store.h"
#include "store.h"
#include "store_blobs.h"
#include "symbol_fetcher.h"
#include "symbol_helper.h"
#include "symbol_intake.h"
#include "symbol_store.h"
#include "server_defaults.h"
#include "settings_list.h"
#include "settings_replies.h"
#include "token_ring.h"
#include "triage_nursery.h"
#include "triager.h"

enum {
    REQUEST_DEADLINE_MS_DEFAULT = 30000,
    WORKERS_MAX = 256,
    CONNECTIONS_MAX = 4096,
    CONNECTIONS_MIN = 16,
    /* descriptors of the store, symbols, helpers, workers and files being read, with room to spare */
    OWN_DESCRIPTORS = 192,
    DESCRIPTORS_WANTED = 8192,
};
static const char SYMBOL_TENANT[] = "default"; /* the same tenant as in `stallbox symbols`, which may share the store */

/* Each user has its own handle, because a handle is for one thread at a time. */
enum symbol_user {
    SYMBOLS_OF_TRIAGER,
    SYMBOLS_OF_AGER,
    SYMBOLS_OF_INTAKE,
    SYMBOLS_OF_PAGES,
    SYMBOL_USERS
};

struct sbx_server {
    struct sbx_operator_log log;
    int lock_fd; /* of DATA/lock, locked: one server per data folder */
    struct sbx_token_ring *tokens;
    struct sbx_symbol_helper *own_helper;   /* NULL when the caller has one */
    struct sbx_fetch_helper *own_fetcher;   /* same */
    struct sbx_triage_nursery *own_nursery; /* same */
    struct sbx_symbol_intake *intake;
    struct sbx_symbol_fetcher *fetcher; /* NULL: debuginfod is not asked */
    struct sbx_metrics *metrics;
    struct sbx_blobs *blobs;
    struct sbx_store *store;
    struct sbx_sealed_store *sealed;
    struct sbx_renderings *renderings;
    struct sbx_policy_shelf *policies;
    struct sbx_symbol_store *symbols[SYMBOL_USERS];
    struct sbx_provider_shelf *providers;
    struct sbx_triager *triager;
    struct sbx_ager *ager;
    struct sbx_eraser *eraser;
    struct sbx_active_days *active;
    struct sbx_change_log *changes;
    struct sbx_change_watch *change_watch;
    struct sbx_rate_limit *machines, *senders; /* limits per machine, and per token */
    struct sbx_collector *collector;
    struct sbx_http *http;
    struct sbx_setting settings[SBX_SETTINGS_MAX]; /* as they were at the start */
    struct sbx_settings_view settings_view;
    char *token_book; /* path of the token book */
    uint16_t port;
};

static int add_tokens(struct sbx_server *server, const char *const *texts, size_t count, unsigned rights, char *why,
                      size_t why_bytes)
{
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        result = *texts[i] ? sbx_token_ring_add(server->tokens, texts[i], rights) : -EINVAL;
        if (result < 0)
            snprintf(why, why_bytes, result == -EINVAL ? "the token is empty" : "no memory");
    }
    return result;
}

/* Open the token book (the named one, or the one in the data folder) and add the tokens of the options. Returns 0 or
 * -errno. */
static int open_tokens(struct sbx_server *server, const struct sbx_server_options *options, char *why, size_t why_bytes)
{
    char *usual = NULL;
    if (!options->token_book && options->data_dir && asprintf(&usual, "%s/tokens", options->data_dir) < 0) {
        snprintf(why, why_bytes, "no memory");
        return -ENOMEM;
    }
    int result = sbx_token_ring_create(options->token_book ? options->token_book : usual, &server->log, &server->tokens,
                                       why, why_bytes);
    server->token_book = usual ? usual : strdup(options->token_book ? options->token_book : "");
    if (result == 0 && !server->token_book) {
        snprintf(why, why_bytes, "no memory");
        result = -ENOMEM;
    }
    if (result == 0)
        result = add_tokens(server, &options->token, options->token != NULL, SBX_RIGHT_ALL, why, why_bytes);
    if (result == 0)
        result = add_tokens(server, options->send_tokens, options->send_token_count, SBX_RIGHT_SEND, why, why_bytes);
    if (result == 0)
        result = add_tokens(server, options->symbols_tokens, options->symbols_token_count, SBX_RIGHT_SYMBOLS, why,
                            why_bytes);
    if (result == 0)
        result = add_tokens(server, options->read_tokens, options->read_token_count, SBX_RIGHT_READ, why, why_bytes);
    return result;
}

/* Check the options before anything is changed. Returns 0 or -EINVAL. */
static int check_options(const struct sbx_server *server, const struct sbx_server_options *options, char *why,
                         size_t why_bytes)
{
    bool is_loopback;
    if (!options->data_dir || !*options->data_dir || !options->listen) {
        snprintf(why, why_bytes, "a data folder and an address to listen on are needed");
        return -EINVAL;
    }
    if (options->database && !sbx_store_is_database(options->database, why, why_bytes))
        return -EINVAL;
    if (options->debuginfod_url && !sbx_debuginfod_is_url(options->debuginfod_url)) {
        snprintf(why, why_bytes, "'%.200s' is no URL of a debuginfod server: http:// or https:// is wanted",
                 options->debuginfod_url);
        return -EINVAL;
    }
    if (options->webhook_changes && sbx_change_rules_kinds(options->webhook_changes) == 0) {
        snprintf(why, why_bytes,
                 "the webhook can report new, regressed, slower, surging, improved or gone (words with a comma "
                 "between), not of \"%.100s\"",
                 options->webhook_changes);
        return -EINVAL;
    }
    int result = sbx_listen_is_loopback(options->listen, &is_loopback, why, why_bytes);
    for (size_t i = 0; i < options->proxy_count && result == 0; i++) {
        struct sbx_proxies proxies = {.count = i};
        if ((result = sbx_proxies_add(&proxies, options->proxies[i])) < 0)
            snprintf(why, why_bytes, "a proxy is named by its address in numbers (%d at most), not as \"%s\"",
                     SBX_PROXIES_MAX, options->proxies[i]);
    }
    if (result < 0)
        return -EINVAL;
    if (options->proxy_count > 0 && !sbx_token_ring_has_any(server->tokens)) {
        snprintf(why, why_bytes,
                 "behind a proxy anybody can be a visitor, and there is no token: give a token file,"
                 " or make one (stallbox token add)");
        return -EINVAL;
    }
    if (result == 0 && !is_loopback && !sbx_token_ring_has_any(server->tokens)) {
        snprintf(why, why_bytes,
                 "%s can be reached from other machines and there is no token: give a token file, or"
                 " listen on 127.0.0.1",
                 options->listen);
        return -EINVAL;
    }
    return result;
}

/* Make the data folder when it is missing, and lock it. Returns the descriptor of the lock or -errno. */
static int lock_data_dir(const char *data_dir, char *why, size_t why_bytes)
{
    char *path;
    int fd, result;
    if (mkdir(data_dir, 0700) < 0 && errno != EEXIST) {
        result = -errno;
        snprintf(why, why_bytes, "%s: %s", data_dir, strerror(-result));
        return result;
    }
    if (asprintf(&path, "%s/lock", data_dir) < 0) {
        snprintf(why, why_bytes, "no memory");
        return -ENOMEM;
    }
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    result = fd < 0 ? -errno : fd;
    if (fd < 0) {
        snprintf(why, why_bytes, "%s: %s", path, strerror(-result));
    } else if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        result = errno == EWOULDBLOCK ? -EBUSY : -errno;
        if (result == -EBUSY)
            snprintf(why, why_bytes, "%s: another server uses this folder", data_dir);
        else
            snprintf(why, why_bytes, "%s: %s", path, strerror(-result));
        close(fd);
    }
    free(path);
    return result;
}

/* Convert days for the ager: an option of 0 becomes the default, "for ever" becomes 0. */
static uint32_t days_of(uint32_t asked, uint32_t otherwise)
{
    return asked == 0 ? otherwise : asked >= SBX_KEEP_FOR_EVER ? 0 : asked;
}

/* Open the symbol store, at DATA/symbols unless the options name another place. Returns 0 or -errno with the reason. */
static int open_symbols(struct sbx_server *server, const struct sbx_server_options *options, char *why,
                        size_t why_bytes)
{
    char *usual = NULL;
    if (!options->symbol_store && asprintf(&usual, "%s/symbols", options->data_dir) < 0) {
        snprintf(why, why_bytes, "no memory");
        return -ENOMEM;
    }
    const char *folder = options->symbol_store ? options->symbol_store : usual;
    int result = 0;
    for (int user = 0; user < SYMBOL_USERS && result == 0; user++)
        result = sbx_symbol_store_open_at(folder, SYMBOL_TENANT, true, &server->symbols[user], why, why_bytes);
    /* for these two errors `why` is already written */
    if (result < 0 && result != -EDESTADDRREQ && result != -EKEYREJECTED)
        snprintf(why, why_bytes, "%s: %s", folder,
                 result == -EPERM ? "not used, because it is another user's or others may write to it"
                                  : strerror(-result));
    free(usual);
    return result;
}

/* The number of workers that the options ask for, else the number of processors. */
static unsigned workers_of(const struct sbx_server_options *options)
{
    long processors = options->workers ? (long)options->workers : sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 1 ? 1 : processors > WORKERS_MAX ? WORKERS_MAX : (unsigned)processors;
}

static int start_triager(struct sbx_server *server, const struct sbx_server_options *options)
{
    char *usual = NULL;
    if (!options->symbol_store && asprintf(&usual, "%s/symbols", options->data_dir) < 0)
        return -ENOMEM;
    const struct sbx_worker_places places = {
        .symbol_dirs = options->symbol_dirs,
        .symbol_dir_count = options->symbol_dir_count,
        .index_paths = options->index_paths,
        .index_path_count = options->index_path_count,
        .provider_dir = sbx_provider_shelf_folder(server->providers),
        .symbol_store = options->symbol_store ? options->symbol_store : usual,
        .symbol_tenant = SYMBOL_TENANT,
        .skips_local_files = options->skips_local_files,
    };
    const struct sbx_triager_settings settings = {
        .store = server->store,
        .sealed = server->sealed,
        .renderings = server->renderings,
        .metrics = server->metrics,
        .log = &server->log,
        .symbols = server->symbols[SYMBOLS_OF_TRIAGER],
        .places = &places,
        .unseal_keys = options->unseal_keys,
        .nursery = options->nursery ? options->nursery : server->own_nursery,
        .workers = workers_of(options),
        .cpu_ms = options->triage_ms ? options->triage_ms : SBX_TRIAGE_MS_DEFAULT,
        .symbol_patience_ms = options->symbol_patience_ms,
        .pending_max = options->pending_max ? options->pending_max : SBX_PENDING_MAX_DEFAULT,
    };
    int result = sbx_triager_start(&settings, &server->triager);
    free(usual);
    return result;
}

static const char *place_of(const struct sbx_server_options *options)
{
    return options->database ? options->database : options->data_dir;
}

/* Open the store, and the place where the bytes of its payloads go. */
static int open_store(struct sbx_server *server, const struct sbx_server_options *options, char *why, size_t why_bytes)
{
    int result =
        options->blobs ? sbx_blobs_open(options->blobs, options->blobs_secret, &server->blobs, why, why_bytes) : 0;
    if (result == 0)
        result = sbx_store_open(place_of(options), STALLBOX_SERVER_VERSION, &server->store, why, why_bytes);
    if (result < 0)
        return result;
    result = sbx_store_use_blobs(server->store, server->blobs, &server->log);
    if (result == -EINVAL)
        snprintf(why, why_bytes, "%s: payloads of it lie outside; say where with --blobs, as before",
                 options->data_dir);
    else if (result < 0)
        snprintf(why, why_bytes, "%s: %s", options->data_dir, strerror(-result));
    return result;
}

/* Start everything that runs behind the port. The lock is held already. Returns 0 or -errno with the reason; the parts
 * that were started are in `server`. */
static int start_boxes(struct sbx_server *server, const struct sbx_server_options *options, char *why, size_t why_bytes)
{
    int result = open_symbols(server, options, why, why_bytes);
    if (result == 0 && (result = sbx_provider_shelf_open(options->data_dir, &server->providers)) < 0)
        snprintf(why, why_bytes, "%s/providers: %s", options->data_dir, strerror(-result));
    if (result < 0)
        return result;
    uint64_t renderings_max = options->renderings_bytes_max == 0 ? SBX_RENDERINGS_BYTES_DEFAULT
                              : options->renderings_bytes_max == SBX_RENDERINGS_NOT_KEPT
                                  ? 0
                                  : options->renderings_bytes_max;
    result = open_store(server, options, why, why_bytes);
    if (result == 0)
        result = sbx_sealed_store_open(place_of(options), STALLBOX_SERVER_VERSION, (int64_t)time(NULL) * 1000,
                                       &server->sealed, why, why_bytes);
    if (result == 0)
        result = sbx_change_log_open(place_of(options), &server->changes, why, why_bytes);
    if (result == 0)
        result = sbx_renderings_open(options->data_dir, STALLBOX_SERVER_VERSION, renderings_max, &server->renderings,
                                     why, why_bytes);
    if (result < 0)
        return result;

    result = sbx_policy_shelf_open(options->data_dir, options->database, &server->policies, why, why_bytes);
    if (result == 0 && !(server->metrics = sbx_metrics_create()))
        result = -ENOMEM;
    if (result == 0)
        result = start_triager(server, options);
    if (result == 0) {
        sbx_store_set_min_machines(server->store, options->min_machines);
        const struct sbx_ager_boxes boxes = {
            server->store, server->sealed, server->renderings, server->metrics, server->symbols[SYMBOLS_OF_AGER],
            &server->log};
        result = sbx_ager_start(&boxes, days_of(options->payload_days, SBX_PAYLOAD_DAYS_DEFAULT),
                                days_of(options->retention_days, SBX_RETENTION_DAYS_DEFAULT), &server->ager);
    }
    if (result == 0)
        result = sbx_eraser_start(
            &(struct sbx_eraser_boxes){server->store, server->renderings, server->metrics, &server->log},
            &server->eraser);
    if (result == 0)
        result = sbx_active_days_start(server->store, &server->log, &server->active);
    uint32_t rate = options->machine_rate ? options->machine_rate : SBX_MACHINE_RATE_DEFAULT;
    if (result == 0 && (!(server->machines = sbx_rate_limit_create(rate)) ||
                        !(server->senders = sbx_rate_limit_create(SBX_TOKEN_RATE_DEFAULT))))
        result = -ENOMEM;
    if (result == 0 && !(server->collector = sbx_collector_create(server->store, server->sealed, options->unseal_keys,
                                                                  server->triager, server->metrics, server->machines)))
        result = -ENOMEM;
    if (result == 0) {
        const struct sbx_intake_settings intake = {
            .data_dir = options->data_dir,
            .store = server->store,
            .symbols = server->symbols[SYMBOLS_OF_INTAKE],
            .listed = server->symbols[SYMBOLS_OF_PAGES],
            .providers = server->providers,
            .helper = options->symbol_helper ? options->symbol_helper : server->own_helper,
            .triager = server->triager,
            .metrics = server->metrics,
            .log = &server->log,
            .bytes_max = options->symbol_bytes_max,
            .reserve_bytes = options->disk_reserve_bytes,
        };
        result = sbx_symbol_intake_start(&intake, &server->intake);
    }
    if (result == 0 && options->debuginfod_url) {
        const struct sbx_fetcher_settings fetcher = {
            .url = options->debuginfod_url,
            .data_dir = options->data_dir,
            .store = server->store,
            .intake = server->intake,
            .helper = options->fetch_helper ? options->fetch_helper : server->own_fetcher,
            .metrics = server->metrics,
            .log = &server->log,
            .every_ms = options->fetch_every_ms,
        };
        result = sbx_symbol_fetcher_start(&fetcher, &server->fetcher);
    }
    if (result == 0) {
        const struct sbx_change_watch_settings changes = {
            .store = server->store,
            .log = server->changes,
            .webhook_url = options->webhook_url,
            .webhook_secret = options->webhook_secret,
            .is_otlp = options->webhook_is_otlp,
            .rules = {.kinds = options->webhook_changes ? sbx_change_rules_kinds(options->webhook_changes) : 0,
                      .apps = options->webhook_apps,
                      .app_count = options->webhook_app_count},
            .every_ms = options->changes_every_ms,
            .say = &server->log};
        result = sbx_change_watch_start(&changes, &server->change_watch);
    }
    if (result < 0)
        snprintf(why, why_bytes, "%s: the server did not start: %s", options->data_dir, strerror(-result));
    return result;
}

/* The maximum number of connections. It is the limit of descriptors, which is raised where possible, less the
 * descriptors that the server itself needs. */
static unsigned connections_of(const struct sbx_server_options *options)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return CONNECTIONS_MIN;
    if (limit.rlim_cur < DESCRIPTORS_WANTED && limit.rlim_cur < limit.rlim_max) {
        rlim_t before = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max < DESCRIPTORS_WANTED ? limit.rlim_max : DESCRIPTORS_WANTED;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            limit.rlim_cur = before;
    }
    rlim_t own = OWN_DESCRIPTORS + 2 * workers_of(options);
    rlim_t room = limit.rlim_cur > own + CONNECTIONS_MIN ? limit.rlim_cur - own : CONNECTIONS_MIN;
    unsigned connections = room < CONNECTIONS_MAX ? (unsigned)room : CONNECTIONS_MAX;
    sbx_operator_log(&options->log, SBX_LOG_INFO, "server", "at most %u connections at a time (%ju descriptors)",
                     connections, (uintmax_t)limit.rlim_cur);
    return connections;
}

/* The port opens last, so that the first client finds everything ready. */
static int start_listening(struct sbx_server *server, const struct sbx_server_options *options, char *why,
                           size_t why_bytes)
{
    struct sbx_listener listener;
    int result = sbx_listener_open(options->listen, &listener, why, why_bytes);
    if (result < 0)
        return result;
    server->settings_view = (struct sbx_settings_view){
        .settings = server->settings,
        .count = sbx_settings_list(options, workers_of(options), server->settings),
        .token_book = server->token_book,
    };
    struct sbx_http_settings settings = {
        .connections_max = connections_of(options),
        .gate = {.tokens = server->tokens, .is_loopback = listener.is_loopback && options->proxy_count == 0},
        .routes = {.store = server->store,
                   .sealed = server->sealed,
                   .renderings = server->renderings,
                   .triager = server->triager,
                   .metrics = server->metrics,
                   .policies = server->policies,
                   .symbols = server->intake,
                   .changes = server->changes,
                   .active = server->active,
                   .eraser = server->eraser,
                   .settings = &server->settings_view},
        .collector = server->collector,
        .metrics = server->metrics,
        .tokens = server->senders,
        .token_rate = options->token_rate ? options->token_rate : SBX_TOKEN_RATE_DEFAULT,
        .request_deadline_ms =
            options->request_deadline_ms ? options->request_deadline_ms : REQUEST_DEADLINE_MS_DEFAULT,
    };
    for (size_t i = 0; i < options->proxy_count; i++)
        (void)sbx_proxies_add(&settings.proxies, options->proxies[i]); /* check_options() checked it */
    result = sbx_http_start(listener.fd, &settings, &server->http, why, why_bytes);
    if (result < 0)
        close(listener.fd);
    server->port = listener.port;
    return result;
}

int sbx_server_prepare(struct sbx_triage_nursery **nursery_out)
{
    return sbx_triage_nursery_start(nursery_out);
}

void sbx_server_unprepare(struct sbx_triage_nursery *nursery)
{
    sbx_triage_nursery_stop(nursery);
}

int sbx_server_start(const struct sbx_server_options *options, struct sbx_server **server_out, char *why,
                     size_t why_bytes)
{
    struct sbx_server *server = calloc(1, sizeof(*server));
    if (!server) {
        snprintf(why, why_bytes, "no memory");
        return -ENOMEM;
    }
    server->log = options->log;
    server->lock_fd = -1;
    int result = open_tokens(server, options, why, why_bytes);
    if (result == 0)
        result = check_options(server, options, why, why_bytes);
    if (result == 0 && !options->symbol_helper && (result = sbx_symbol_helper_start(&server->own_helper)) < 0)
        snprintf(why, why_bytes, "no process to read symbol files in: %s", strerror(-result));
    if (result == 0 && options->debuginfod_url && !options->fetch_helper &&
        (result = sbx_fetch_helper_start(&server->own_fetcher)) < 0)
        snprintf(why, why_bytes, "no process to ask debuginfod from: %s", strerror(-result));
    if (result == 0 && !options->nursery && (result = sbx_triage_nursery_start(&server->own_nursery)) < 0)
        snprintf(why, why_bytes, "no process to triage in: %s", strerror(-result));
    if (result == 0)
        server->lock_fd = result = lock_data_dir(options->data_dir, why, why_bytes);
    if (result >= 0)
        result = start_boxes(server, options, why, why_bytes);
    if (result == 0)
        result = start_listening(server, options, why, why_bytes);
    if (result < 0) {
        sbx_server_stop(server);
        return result;
    }
    *server_out = server;
    return 0;
}

uint16_t sbx_server_port(const struct sbx_server *server)
{
    return server->port;
}

void sbx_server_stop(struct sbx_server *server)
{
    if (!server)
        return;
    sbx_symbol_intake_end(server->intake); /* first, because connections wait for the intake */
    sbx_symbol_fetcher_stop(server->fetcher);
    sbx_triager_end_wishes(server->triager);
    sbx_http_stop(server->http);
    sbx_symbol_intake_destroy(server->intake);
    sbx_symbol_helper_stop(server->own_helper);
    sbx_fetch_helper_stop(server->own_fetcher);
    sbx_change_watch_stop(server->change_watch);
    sbx_active_days_stop(server->active);
    sbx_ager_stop(server->ager);
    sbx_eraser_stop(server->eraser);
    sbx_triager_stop(server->triager);
    sbx_triage_nursery_stop(server->own_nursery);
    sbx_collector_destroy(server->collector);
    sbx_rate_limit_destroy(server->machines);
    sbx_rate_limit_destroy(server->senders);
    sbx_renderings_close(server->renderings);
    sbx_policy_shelf_close(server->policies);
    sbx_sealed_store_close(server->sealed);
    sbx_change_log_close(server->changes);
    sbx_store_close(server->store);
    sbx_blobs_close(server->blobs);
    for (int user = 0; user < SYMBOL_USERS; user++)
        sbx_symbol_store_close(server->symbols[user]);
    sbx_provider_shelf_close(server->providers);
    sbx_metrics_destroy(server->metrics);
    if (server->lock_fd >= 0)
        close(server->lock_fd); /* this also unlocks it */
    sbx_token_ring_destroy(server->tokens);
    free(server->token_book);
    free(server);
}
