/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - one running Stallbox server: collector, store, triage worker and pages behind one port.
 *
 *     POST /v1/snapshots -> decode -> store (durable) -> answer
 *                                       |
 *                                       v  one worker thread
 *                        symbolize, attribute, render -> pages, downloads
 *
 * `stallbox serve` parses options and calls this; tests call the same three functions. A process may run several
 * servers on different data folders; any thread may call each function, but the caller must not start and stop one
 * server at the same time. The caller should ignore SIGPIPE. */
#ifndef SBX_SERVER_H
#define SBX_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "operator_log.h"
#include "unseal.h"

struct sbx_fetch_helper;
struct sbx_symbol_helper;
struct sbx_triage_nursery;

/* A new value starts as all zeroes; zero means the default that the field names. Everything is borrowed until
 * sbx_server_start returns, except the file of `log`. */
struct sbx_server_options {
    const char *data_dir; /* required; created (0700) when missing; one server at a time may use it */
    const char *listen;   /* required: "127.0.0.1:8321", "[::1]:8321", "localhost:0"; port 0 takes a free one */
    /* Store of parsed symbols, which is asked before any file: a folder (made when missing) or the URL of Redis. NULL:
     * DATA/symbols. */
    const char *symbol_store;
    /* how long stalls wait for an unreachable symbol store before triage goes on without names; 30,000 */
    uint32_t symbol_patience_ms;
    const char *const *symbol_dirs; /* folders with ELF files, searched by build-id; a missing one is no error */
    size_t symbol_dir_count;
    const char *const *index_paths; /* module index files ("BUILD-ID-HEX PATH" lines); may appear or change later */
    size_t index_path_count;
    bool skips_local_files; /* names come only from the sources above, not from files or processes of this machine */
    const struct sbx_unseal_keys *unseal_keys; /* keys that open sealed payloads; NULL: the server keeps them sealed */
    /* A token with all rights. NULL: none, which is allowed on loopback addresses only. With a token, writing always
     * needs it, and reading needs it unless the address is loopback. */
    const char *token;
    /* Tokens with one right each. If there are any, writing needs a token. */
    const char *const *send_tokens;    /* to deliver payloads */
    const char *const *symbols_tokens; /* to send symbols */
    const char *const *read_tokens;    /* to look at pages and lists */
    size_t send_token_count, symbols_token_count, read_token_count;
    const char *database; /* postgresql://HOST/DATABASE, which several servers may share; NULL: SQLite, DATA/store.db */
    const char *blobs;    /* where the bytes of payloads go: a folder or a bucket (blobs.h); NULL: the database */
    const char *blobs_secret; /* secret of the bucket: "ACCESS-KEY SECRET-KEY" */
    const char *token_book;   /* the file of `stallbox token`; NULL: DATA/tokens. It may appear later, and may change */
    uint32_t token_rate;      /* payloads and symbol files per token and hour; 3,600,000 */
    /* symbol_helper.h, borrowed until stop. NULL: the server starts its own helper, which then inherits all secrets
     * that this process has read. */
    struct sbx_symbol_helper *symbol_helper;
    /* from sbx_server_prepare(), borrowed until stop; NULL: the server starts its own */
    struct sbx_triage_nursery *nursery;
    uint32_t workers;   /* number of triage processes; default: the number of processors */
    uint32_t triage_ms; /* processor time per payload; 5,000 */
    /* payloads that may wait for triage; with more the server refuses new ones; 100,000 */
    uint32_t pending_max;
    uint32_t machine_rate; /* payloads per machine: the limit per hour and of one burst; 1,000 */
    /* Addresses of the proxies in front. With any, no visitor counts as this machine, and every request needs a
     * token. */
    const char *const *proxies;
    size_t proxy_count;
    uint64_t symbol_bytes_max;    /* maximum of one uploaded symbol file; 2 GiB */
    uint64_t disk_reserve_bytes;  /* disk space that symbol files must leave free for payloads; 256 MiB */
    uint32_t request_deadline_ms; /* from connect or the end of the previous request to the end of the answer; 30 s */
    /* disk space for reports that readers asked for; 256 MiB. SBX_RENDERINGS_NOT_KEPT: none */
    uint64_t renderings_bytes_max;
    uint32_t payload_days; /* age at which payloads and their reports are removed; 30 */
    /* age at which rows about them are removed; 90. SBX_KEEP_FOR_EVER: neither is removed */
    uint32_t retention_days;
    /* the debuginfod server that is asked for missing symbols (symbol_fetcher.h); NULL: none */
    const char *debuginfod_url;
    struct sbx_fetch_helper *fetch_helper; /* fetch_helper.h, borrowed until stop; NULL: the server starts its own */
    uint32_t fetch_every_ms;               /* interval of the search for missing symbols; 30 s */
    const char *webhook_url;               /* receives changes of issues (docs/REGRESSIONS.md); NULL: no webhook */
    bool webhook_is_otlp;                  /* the webhook receives OpenTelemetry logs */
    const char *webhook_changes;           /* kinds of changes that are sent: "new,regressed"; NULL: all */
    const char *const *webhook_apps;       /* applications whose changes are sent; borrowed until stop */
    size_t webhook_app_count;              /* 0: all applications */
    const char *webhook_secret;            /* signs the requests to the webhook; NULL: they are not signed */
    uint32_t changes_every_ms;             /* interval of the search for changes; an hour */
    uint32_t min_machines;                 /* data of fewer machines is not shown (docs/PRIVACY.md); 1: all is shown */
    struct sbx_operator_log log;           /* its file is borrowed until stop; zeroed: silent */
};

#define SBX_RENDERINGS_NOT_KEPT UINT64_MAX

enum {
    SBX_KEEP_FOR_EVER = 1000000
}; /* days */

struct sbx_server;

/* Fork the process that makes the triage workers, for the option `nursery`. Call it at the start of the program, while
 * the program has one thread and has read no secrets. Returns 0 and a nursery (given: sbx_server_unprepare, after the
 * server has stopped), or -errno. */
int sbx_server_prepare(struct sbx_triage_nursery **nursery_out);
void sbx_server_unprepare(struct sbx_triage_nursery *nursery); /* NULL is fine */

/* Start listening and the worker. Returns 0 and a server (given: sbx_server_stop), or -EINVAL for invalid options (no
 * token on a public address, a `listen` that is not an address), -EBUSY when another server uses the data folder, or
 * another -errno; `why` then has the reason in one sentence. */
int sbx_server_start(const struct sbx_server_options *options, struct sbx_server **server_out, char *why,
                     size_t why_bytes);

/* The port that the server listens on: also the real one when the options asked for port 0. */
uint16_t sbx_server_port(const struct sbx_server *server);

/* Stop listening, close connections, finish the triage at hand, close the store. NULL is fine. */
void sbx_server_stop(struct sbx_server *server);

#endif
