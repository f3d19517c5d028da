/* SPDX-License-Identifier: Apache-2.0 */
/* store_symbols.h - which stalls lack which symbols, and which are to be triaged anew because symbols came.
 *
 * A stall's gaps are written with its verdict and go with it, or with its payload: without that it cannot be triaged
 * anew. That symbols came is a mark in the table, not in memory: whoever is killed in the middle goes on where he was. */
#ifndef SBX_STORE_SYMBOLS_H
#define SBX_STORE_SYMBOLS_H

#include "store.h"

/* Symbols of a build-id came (or a runtime's names), made at `made_s`: the stalls that lack them wait for triage. Durable.
 * *stalls_out: how many. 0 or -errno. */
int sbx_store_symbols_came(struct sbx_store *store, const uint8_t *build_id, size_t bytes, uint64_t made_s,
                           int64_t *stalls_out);

/* How many stalls of the view's application lack names of a build-id. 0 or -errno. */
int sbx_store_count_lacking(const struct sbx_store_view *view, const uint8_t *build_id, size_t bytes,
                            int64_t *stalls_out);

/* ---- what other servers of the database took ---- */

/* From which number on arrivals are news: those from before are known to who starts now. 0 or -errno. */
int sbx_store_newest_arrival(struct sbx_store *store, int64_t *seen_out);
/* The next arrival of another server: its build-id, with room for 32 bytes. What was triaged here without it waits for triage again.
 * *seen moves on. 0, -ENOENT when there is none, or -errno. */
int sbx_store_next_arrival(struct sbx_store *store, int64_t *seen, uint8_t build_id_out[32], size_t *bytes_out);

/* Call `each` with every build-id that some stall of application `app` lacks; where it returns true, there are symbols that were made at
 * *made_s. The newest of a build-id are taken as having come, unless they had. For what was put into the store behind the server's back, and for stalls that were told without
 * names because that store was away. 0 or -errno. */
int sbx_store_look_for_symbols(struct sbx_store *store,
                               bool (*each)(void *context, const uint8_t *build_id, size_t bytes, uint64_t app,
                                            uint64_t *made_s_out),
                               void *context);

/* A stall that waits, newest first. */
struct sbx_renamed {
    uint8_t id[SBX_ID_BYTES];
    int64_t module, seq, before; /* the store's own */
};
/* 0, -ENOENT when none waits, or -errno. */
int sbx_store_next_renamed(struct sbx_store *store, struct sbx_renamed *renamed_out);
/* It was triaged anew, or cannot be. 0 or -errno. */
int sbx_store_end_renamed(struct sbx_store *store, const struct sbx_renamed *renamed);

/* ---- the pages' side ---- */

struct sbx_missing_row {
    char build_id[65]; /* hex; of a runtime: its number */
    char name[128];    /* "" unknown */
    bool is_runtime;
    bool is_renamed; /* symbols came, and its stalls are being triaged anew */
    int64_t stalls, frames, last_ms;
};
/* Code that has no names, that of the most stalls first. */
int sbx_store_missing(const struct sbx_store_view *view, struct sbx_missing_row *rows, size_t max, size_t *count_out);

/* What is in the store of symbols. */
struct sbx_stored_row {
    char build_id[65];  /* hex */
    char name[64];      /* "" unknown */
    const char *source; /* "dwarf", "symtab", "dynsym"; a literal */
    bool is_damaged;
    uint64_t functions, stored_bytes, code_bytes;
    int64_t added_ms, used_ms;
};

/* Leave of `rows`, which are of all applications, what was sent for the one that looks, before it had symbols of its own. 0 or -errno. */
int sbx_store_keep_sent(const struct sbx_store_view *view, struct sbx_stored_row *rows, size_t *count);

struct sbx_issue_after {
    char id_text[SBX_ID_TEXT_BYTES];
    int64_t hits;
    char headline[240]; /* of one of them */
};
/* Where the stalls went that were in this issue until symbols came, the most first. */
int sbx_store_issues_after(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES],
                           struct sbx_issue_after *rows, size_t max, size_t *count_out);

#endif
