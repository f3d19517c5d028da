/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - one running Stallbox server: collector, store, triage worker and pages behind one port.
 *
 *     POST /v1/snapshots -> decode -> store (durable) -> answer
 *                                       |
 *                                       v  one worker thread
 *                        symbolize, attribute, render -> pages, downloads
 *
 * `stallbox serve` parses options and calls this; tests call the same three functions. A process may run several
 * servers on different data folders; each function may be called by any thread, but start and stop of one server are
 * the caller's to order. The caller should ignore SIGPIPE. */
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
    /* Parsed symbols, asked before any file: a folder, made when missing, or the URL of Redis; NULL: DATA/symbols. */
    const char *symbol_store;
    uint32_t symbol_patience_ms; /* that stalls wait for it when it is away; then they are told without names; 30,000 */
    const char *const *symbol_dirs; /* folders with ELF files, searched by build-id; a missing one is no error */
    size_t symbol_dir_count;
    const char *const *index_paths; /* module index files ("BUILD-ID-HEX PATH" lines); may appear or change later */
    size_t index_path_count;
    bool skips_local_files; /* names come from those alone: not from what this machine has installed or runs */
    const struct sbx_unseal_keys
        *unseal_keys;  /* what sealed payloads are opened with; NULL: they are kept as they are */
    const char *token; /* NULL: none, allowed on loopback addresses only. With one, writing always needs it and reading
                          needs it unless the address is loopback. It may do everything */
    /* Tokens for one thing each. With any of them, whoever writes needs one. */
    const char *const *send_tokens;    /* to deliver payloads */
    const char *const *symbols_tokens; /* to send symbols */
    const char *const *read_tokens;    /* to look at pages and lists */
    size_t send_token_count, symbols_token_count, read_token_count;
    const char *database; /* postgresql://HOST/DATABASE, which several servers may share; NULL: SQLite, DATA/store.db */
    const char *blobs;    /* where the bytes of payloads go: a folder or a bucket (blobs.h); NULL: into the database */
    const char *blobs_secret; /* of a bucket: "ACCESS-KEY SECRET-KEY" */
    const char *token_book;   /* the file of `stallbox token`; NULL: DATA/tokens. It may come later, and change */
    uint32_t token_rate;      /* payloads and symbol files of one token in an hour; 3,600,000 */
    struct sbx_symbol_helper
        *symbol_helper;                 /* symbol_helper.h, borrowed until stop; NULL: the server makes one, which has
                                                whatever secrets this process has by then */
    struct sbx_triage_nursery *nursery; /* of sbx_server_prepare(): likewise */
    uint32_t workers;                   /* processes that triage; as many as there are processors */
    uint32_t triage_ms;                 /* of processor time for one payload; 5,000 */
    uint32_t pending_max;               /* payloads that wait for triage, before no more are taken; 100,000 */
    uint32_t machine_rate;              /* payloads of one machine in an hour, and at once; 1,000 */
    const char *const
        *proxies; /* addresses of proxies in front: with any, nobody is taken for this machine itself, and a
                                      token is needed for everything */
    size_t proxy_count;
    uint64_t symbol_bytes_max;    /* of a file of symbols that is sent; 2 GiB */
    uint64_t disk_reserve_bytes;  /* that such a file leaves free, for payloads; 256 MiB */
    uint32_t request_deadline_ms; /* from connect, or the end of the request before, to the end of the answer; 30 s */
    uint64_t
        renderings_bytes_max; /* what reports that somebody asked for may take on disk; 256 MiB. SBX_RENDERINGS_NOT_KEPT */
    uint32_t payload_days;    /* payloads as they came, and reports made of them, go after so many; 30 */
    uint32_t retention_days;               /* and what was said of them; 90. SBX_KEEP_FOR_EVER: never, of either */
    const char *debuginfod_url;            /* asked for symbols that stalls lack (symbol_fetcher.h); NULL: nobody is */
    struct sbx_fetch_helper *fetch_helper; /* fetch_helper.h, borrowed until stop; NULL: as symbol_helper */
    uint32_t fetch_every_ms;               /* between looks for what is missing; half a minute */
    const char *webhook_url;               /* told of changes (docs/REGRESSIONS.md); NULL: nobody is */
    bool webhook_is_otlp;                  /* it takes logs of OpenTelemetry */
    const char *webhook_changes;           /* it is told of these alone: "new,regressed"; NULL: of all */
    const char *const *webhook_apps;       /* and of these applications; borrowed until stop */
    size_t webhook_app_count;              /* 0: of all */
    const char *webhook_secret;            /* signs what it is told; NULL: nothing does */
    uint32_t changes_every_ms;             /* between looks for changes; an hour */
    uint32_t min_machines;                 /* show nothing that fewer machines sent (docs/PRIVACY.md); 1: everything */
    struct sbx_operator_log log;           /* its file is borrowed until stop; zeroed: silent */
};

#define SBX_RENDERINGS_NOT_KEPT UINT64_MAX

enum {
    SBX_KEEP_FOR_EVER = 1000000
}; /* days */

struct sbx_server;

/* Fork the process that triage workers are made by, for the options' `nursery`: at the program's begin, while it has one thread
 * and has read no secret yet. Returns 0 and one (given: unprepare, after the server was stopped), or -errno. */
int sbx_server_prepare(struct sbx_triage_nursery **nursery_out);
void sbx_server_unprepare(struct sbx_triage_nursery *nursery); /* NULL is fine */

/* Start listening and the worker. Returns 0 and a server (given: sbx_server_stop), or -EINVAL for options that cannot
 * be (no token on a public address, a listen text that is no address), -EBUSY when another server uses the data folder,
 * or another -errno; `why` then says in one sentence what and why. */
int sbx_server_start(const struct sbx_server_options *options, struct sbx_server **server_out, char *why,
                     size_t why_bytes);

/* The port it listens on: the chosen one when 0 was asked for. */
uint16_t sbx_server_port(const struct sbx_server *server);

/* Stop listening, close connections, finish the triage at hand, close the store. NULL is fine. */
void sbx_server_stop(struct sbx_server *server);

#endif
