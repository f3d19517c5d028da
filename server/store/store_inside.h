/* SPDX-License-Identifier: Apache-2.0 */
/* store_inside.h - the inside of a store, for its files: store.c stores, store_rows.c and store_issues.c read,
 * store_removal.c removes, store_sums.c keeps the sums, store_symbols.c keeps what stalls lack, store_schema.c has the
 * tables. */
#ifndef SBX_STORE_INSIDE_H
#define SBX_STORE_INSIDE_H

#include <stdatomic.h>
#include <stdio.h>

#include "operator_log.h"
#include "store.h"
#include "store_handle.h"

/* Statements of the writer, in store_statements.c. */
enum writer_statement {
    FIND_SNAPSHOT,
    FIND_APP,
    ADD_SNAPSHOT,
    ADD_PAYLOAD,
    READ_PAYLOAD,
    BEGIN_TRIAGE,
    PUT_OFF_TRIAGE,
    SET_VERDICT,
    SET_FAILURE,
    RETRY_FAILURES,
    ADD_BUILD,
    ADD_FACT,
    ADD_SPREAD,
    ADD_LABELS,
    ADD_MET,
    ADD_MET_DAY,
    ADD_TO_PLACE,
    READ_DAY,
    DROP_MET_DAY,
    DROP_MET,
    DROP_LABELS,
    DROP_SPREAD,
    DROP_FACT,
    ADD_WORDS,
    ADD_SAID,
    READ_SAID,
    READ_WAS,
    DROP_SAID,
    ADD_PROFILE,
    DROP_PROFILE,
    FORGET_WORDS,
    FIND_PLACE,
    ADD_ISSUE,
    ADD_PLACE,
    NAME_PLACE,
    SET_PLACE,
    ADD_APP,
    FORGET_APPS,
    RENEW_PLACE,
    READ_PLACE,
    DROP_PLACE,
    DROP_ALIASES,
    DROP_ISSUE,
    MOVE_PLACES,
    MOVE_PLACE,
    MOVE_ALIASES,
    ADD_ALIAS,
    DROP_ALIAS,
    FIND_ISSUE,
    CHANGE_ISSUE,
    TOUCH_ISSUE,
    WAKE_ISSUE,
    SET_BUCKET,
    READ_DURATION,
    ADD_ROTATING,
    ADD_KIN,
    ADD_KIN_HOLDER,
    ADD_ERASED,
    IS_ERASED,
    ADD_ERASING,
    DROP_ERASING,
    NEXT_ERASING,
    LEAVE_PLACE,
    NEXT_AGED_PAYLOADS,
    AGED_OWE,
    AGED_PAYLOAD,
    AGED_LEAVE,
    AGED_GAP,
    FORGET_ERASED,
    SET_RIGHT,
    FIND_END,
    ADD_END,
    COMPLETE_SNAPSHOT,
    ERASE_ENDS,
    FIND_MODULE,
    ADD_MODULE,
    ADD_GAP,
    DROP_GAPS,
    ADD_WAS_IN,
    LEAVE_WAS_IN,
    ADD_ARRIVAL,
    FORGET_ARRIVALS,
    NEWEST_ARRIVAL,
    NEXT_ARRIVAL,
    SYMBOLS_CAME,
    COUNT_GAPS_OF,
    COUNT_GAPS,
    NEXT_RENAMED,
    COUNT_GAPS_OF_TENANT,
    READ_BLOB,
    SET_BLOB,
    HAS_BLOBS,
    ADD_DEBT,
    DROP_DEBT,
    NEXT_DEBT,
    READ_ID,
    READ_TENANT,
    END_RENAMED,
    ALL_GAPS,
    FORGET_MADE,
    FORGET_LACKS,
    FORGET_MODULES,
    FORGET_ENDS,
    COUNT_ACTIVE,
    GROW_ACTIVE,
    ADD_ACTIVE,
    FORGET_ACTIVE,
    /* For a batch of stalls to remove (store_leaving.c). */
    GOING_NONE,
    GOING_NO_GROUP,
    GOING_AGED,
    GOING_ERASED,
    GOING_ONE,
    GOING_IDS,
    GOING_DAYS,
    GOING_GROUPS,
    GOING_LAST_GROUPS,
    GOING_FACT,
    GOING_SPREAD,
    GOING_DROP_SPREAD,
    GOING_LAST_SPREAD,
    GOING_LABEL,
    GOING_DROP_LABEL,
    GOING_LAST_LABEL,
    GOING_MET_DAY,
    GOING_DROP_MET_DAY,
    GOING_LAST_MET_DAY,
    GOING_MET,
    GOING_LAST_FACT,
    GOING_PLACES,
    GOING_OWE,
    GOING_SAID,
    GOING_PAYLOAD,
    GOING_ROTATING,
    GOING_END,
    GOING_GAP,
    GOING_WAS_IN,
    GOING_SNAPSHOT,
    GOING_RENEW_PLACES,
    GOING_EMPTY_PLACES,
    WRITER_STATEMENTS,
};

/* Statements of the reader, in store_rows.c. */
enum sbx_reader_statement {
    SBX_READER_READ_ENVELOPE,
    SBX_READER_EACH_PENDING,
    SBX_READER_TRIAGE_INPUT,
    SBX_READER_ONE_SNAPSHOT,
    SBX_READER_KIN_OF_ONE,
    SBX_READER_NEWEST_SNAPSHOTS,
    SBX_READER_NEWEST_OF_APP,
    SBX_READER_PLACES_OF_ISSUE,
    SBX_READER_SNAPSHOTS_OF_PLACE,
    SBX_READER_TOP_ISSUES,
    SBX_READER_ONE_ISSUE,
    SBX_READER_COUNT_ROWS,
    SBX_READER_COUNT_OF_APP,
    SBX_READER_COUNT_COMMON,
    SBX_READER_READ_END,
    SBX_READER_MISSING_MODULES,
    SBX_READER_IS_SENT,
    SBX_READER_ISSUES_AFTER,
    SBX_READER_FIND_ADDRESS,
    SBX_READER_LOOK,
    SBX_READER_HAS_PAYLOAD,
    SBX_READER_STATEMENTS
};
extern const char *const sbx_store_reader_sql[SBX_READER_STATEMENTS];

enum {
    SBX_DAYS_KNOWN = 128
};

struct sbx_store {
    struct sbx_store_handle writer, reader;
    char *path; /* DATA/store.db */
    char version[32];
    int64_t number;                      /* random; tells rows that this server wrote from those of other servers */
    uint32_t min_machines;               /* set before any reader starts */
    int64_t sample_rows;                 /* 0: SBX_SAMPLE_ROWS. Set before any reader starts */
    _Atomic size_t batch, payload_batch; /* stalls, or payloads, per transaction: as many as take some 20 ms */
    _Atomic unsigned batches;            /* batches removed so far, over all connections */
    struct sbx_blobs *blobs;             /* NULL: payloads are in the database. Set before any reader starts */
    /* days that have a table in PostgreSQL, each plus one; indexed by day modulo the size (store_days.c) */
    _Atomic int64_t days[SBX_DAYS_KNOWN];
    const struct sbx_operator_log *log;
    _Atomic bool has_blob_trouble; /* the trouble was logged */
};

/* ---- bytes outside (store_blobs.c); with the writer's lock held, but put and get, which hold none ---- */

/* Make a key for a coming payload, and its debt, which the current transaction makes durable. */
int sbx_store_blob_owe(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], char *key_out);
int sbx_store_blob_put(struct sbx_store *store, const char *key, const void *bytes, size_t count);
int sbx_store_blob_keep(struct sbx_store *store, const char *key); /* the current transaction has its row */
int sbx_store_blob_drop(struct sbx_store *store, const char *key); /* the key is not used; its bytes are removed soon */
/* -EAGAIN: try again later. -ENODATA: the bytes are lost; no server of this store removed them. */
int sbx_store_blob_get(struct sbx_store *store, const char *key, struct sbx_byte_buffer *out);

/* Find a row by its id; the writer's lock is held. Returns 0, -ENOENT or -errno. `place_out` (may be NULL) is 0 when
 * the row has no place. `attempts_out` may be NULL. */
int sbx_store_find(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], int64_t *seq_out, int *attempts_out,
                   int64_t *place_out);

/* Replace what is stored about code without names by that of a verdict. *less_out: it is less than before. The writer's
 * transaction is open. Returns 0 or -errno. */
int sbx_store_put_gaps(struct sbx_store *store, int64_t seq, const struct sbx_verdict_row *verdict, bool *less_out);

/* Remember the place that a stall leaves, when it leaves because symbols came. As above. */
int sbx_store_note_place(struct sbx_store *store, int64_t seq, int64_t old_place, int64_t place, bool by_symbols);

/* ---- many that go (store_leaving.c) ---- */

enum {
    SBX_LEAVING_MAX = 512 /* per batch */
};

/* Which stalls are removed: with GOING_AGED, those received before `number`; with GOING_ERASED, those of a machine;
 * with GOING_ONE, the one with seq `number`. */
struct sbx_leaving {
    int64_t number;
    const uint8_t *rotating_id;
    size_t max;
};

/* Remove at most `max` stalls from the sums and the tables, and settle places that have no stall left. The writer's
 * transaction is open. `ids_out` has room for `max`. Returns the number of stalls, or -errno. */
int sbx_store_leave(struct sbx_store *store, enum writer_statement fill, const struct sbx_leaving *leaving,
                    uint8_t (*ids_out)[SBX_ID_BYTES]);

/* ---- sums (store_sums.c); the writer's transaction is open, 0 or -errno ---- */

/* Add a stall that has a place to the sums, or subtract it: `sign` is 1 or -1. The stall must not change between the
 * two. */
int sbx_store_sum(struct sbx_store *store, int64_t seq, int sign);

/* Take a stall out of its place and of all sums, before its row changes or is removed. `place`: its place, 0 for none;
 * the caller settles it afterwards (sbx_store_settle_place()). */
int sbx_store_leave_place(struct sbx_store *store, int64_t seq, int64_t place);

/* Put a stall into the place of the verdict's key, and into the sums. The place is made when it is missing. */
int sbx_store_enter_place(struct sbx_store *store, int64_t seq, const struct sbx_verdict_row *verdict, int64_t left,
                          int64_t *place_out);

/* Do the sums have the stall as this verdict says? Then it stays in its place, and no sum changes. Only the place's
 * words and the stall's profile may differ. */
int sbx_store_is_summed_as(struct sbx_store *store, int64_t seq, const struct sbx_verdict_row *verdict, bool *same_out);
int sbx_store_stay_in_place(struct sbx_store *store, int64_t seq, int64_t place, const struct sbx_verdict_row *verdict);

/* Settle a place that a stall left: find its first, last and longest stall anew. Remove it when it is empty, unless a
 * person changed its issue. When its last stall went to `moved_to` (0: nowhere), its address leads there. */
int sbx_store_settle_place(struct sbx_store *store, int64_t place, int64_t moved_to);

/* Give all places and addresses of issue `from` to issue `into`. */
int sbx_store_join_issues(struct sbx_store *store, int64_t from, const uint8_t from_id[SBX_ID_BYTES], int64_t into);

/* ---- days (store_days.c) ---- */

/* When sums have a table for each day, make the tables of this day, before its stalls are summed. No transaction is
 * open; the writer's lock is held. Returns 0 or -errno. */
int sbx_store_open_day(struct sbx_store *store, int64_t day);

/* The number of rows to read for one count of distinct machines, and for one issue among a thousand. */
int64_t sbx_store_sample_rows(const struct sbx_store *store);
int64_t sbx_store_sample_issue_rows(const struct sbx_store *store);

/* A statement that shows rows, with the minimum of machines and the reader's application bound. The lock is held. */
struct sbx_statement *sbx_store_use_to_show(const struct sbx_store_view *view, enum sbx_reader_statement index);

#endif
