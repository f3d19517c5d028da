/* SPDX-License-Identifier: Apache-2.0 */
/* store_symbols.h - which stalls lack which symbols, and which must be triaged again because symbols came.
 *
 * The gaps of a stall are written with its verdict. They are removed with it, or with its payload, because without the
 * payload it cannot be triaged again. A mark in the table notes that symbols came, so a server that was killed
 * continues after its restart. */
#ifndef SBX_STORE_SYMBOLS_H
#define SBX_STORE_SYMBOLS_H

#include "store.h"

/* Symbols of a build-id (or names of a runtime), made at `made_s`, have come: the stalls that lack them wait for
 * triage. Durable. *stalls_out: the number of these stalls. Returns 0 or -errno. */
int sbx_store_symbols_came(struct sbx_store *store, const uint8_t *build_id, size_t bytes, uint64_t made_s,
                           int64_t *stalls_out);

/* The number of stalls of the view's application that lack names of a build-id. Returns 0 or -errno. */
int sbx_store_count_lacking(const struct sbx_store_view *view, const uint8_t *build_id, size_t bytes,
                            int64_t *stalls_out);

/* ---- what other servers of the database took ---- */

/* The number of the newest arrival: a server that starts now knows the earlier ones. Returns 0 or -errno. */
int sbx_store_newest_arrival(struct sbx_store *store, int64_t *seen_out);
/* Get the next arrival of another server: its build-id, with room for 32 bytes. Stalls that were triaged here without
 * it wait for triage again. *seen moves on. Returns 0, -ENOENT when there is none, or -errno. */
int sbx_store_next_arrival(struct sbx_store *store, int64_t *seen, uint8_t build_id_out[32], size_t *bytes_out);

/* Call `each` with every build-id that some stall of application `app` lacks. It returns true when there are symbols,
 * with their time in *made_s. The newest symbols of a build-id then count as arrived, unless they did before. This
 * finds symbols that were put into the symbol store without the server, and names for stalls that were reported while
 * that store was unreachable. Returns 0 or -errno. */
int sbx_store_look_for_symbols(struct sbx_store *store,
                               bool (*each)(void *context, const uint8_t *build_id, size_t bytes, uint64_t app,
                                            uint64_t *made_s_out),
                               void *context);

/* A stall that waits for a new triage, newest first. */
struct sbx_renamed {
    uint8_t id[SBX_ID_BYTES];
    int64_t module, seq, before; /* for the store only */
};
/* 0, -ENOENT when none waits, or -errno. */
int sbx_store_next_renamed(struct sbx_store *store, struct sbx_renamed *renamed_out);
/* The stall was triaged again, or cannot be. Returns 0 or -errno. */
int sbx_store_end_renamed(struct sbx_store *store, const struct sbx_renamed *renamed);

/* ---- the pages' side ---- */

struct sbx_missing_row {
    char build_id[65]; /* hex; for a runtime: its number */
    char name[128];    /* "": unknown */
    bool is_runtime;
    bool is_renamed; /* symbols came, and its stalls are being triaged again */
    int64_t stalls, frames, last_ms;
};
/* Code without names, ordered by number of stalls. */
int sbx_store_missing(const struct sbx_store_view *view, struct sbx_missing_row *rows, size_t max, size_t *count_out);

/* An entry of the symbol store. */
struct sbx_stored_row {
    char build_id[65];  /* hex */
    char name[64];      /* "": unknown */
    const char *source; /* "dwarf", "symtab", "dynsym"; a literal */
    bool is_damaged;
    uint64_t functions, stored_bytes, code_bytes;
    int64_t added_ms, used_ms;
};

/* Of `rows`, which are symbols for all applications, keep only those that the view's application sent, before it had
 * symbols of its own. Returns 0 or -errno. */
int sbx_store_keep_sent(const struct sbx_store_view *view, struct sbx_stored_row *rows, size_t *count);

struct sbx_issue_after {
    char id_text[SBX_ID_TEXT_BYTES];
    int64_t hits;
    char headline[240]; /* headline of one of them */
};
/* The issues that now have the stalls that were in this issue before symbols came, those with the most stalls first. */
int sbx_store_issues_after(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES],
                           struct sbx_issue_after *rows, size_t max, size_t *count_out);

#endif
