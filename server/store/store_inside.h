/* SPDX-License-Identifier: Apache-2.0 */
/* store_inside.h - the inside of a store, for the files that work on it: store.c takes in, store_rows.c and store_issues.c give out,
 * store_removal.c takes away, store_sums.c adds up, store_symbols.c knows what lacks names, store_schema.c has the tables. */
#ifndef SBX_STORE_INSIDE_H
#define SBX_STORE_INSIDE_H

#include <stdatomic.h>
#include <stdio.h>

#include "operator_log.h"
#include "store.h"
#include "store_handle.h"

/* Of the writer, in store_statements.c. */
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
    /* Of a batch of stalls that go (store_leaving.c). */
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

/* Of the reader, in store_rows.c. */
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
    int64_t number;        /* random: tells what this server wrote from what others did */
    uint32_t min_machines; /* set before anybody reads */
    int64_t sample_rows;   /* 0: SBX_SAMPLE_ROWS. Likewise */
    _Atomic size_t batch,
        payload_batch;        /* how many stalls, or payloads, go in one transaction: as many as took some 20 ms */
    _Atomic unsigned batches; /* that went, over all connections */
    struct sbx_blobs *blobs;  /* NULL: payloads lie in the database. Likewise */
    _Atomic int64_t
        days[SBX_DAYS_KNOWN]; /* that have a table in PostgreSQL, each plus one, by their last digits (store_days.c) */
    const struct sbx_operator_log *log;
    _Atomic bool has_blob_trouble; /* and it was said */
};

/* ---- bytes outside (store_blobs.c); with the writer's lock held, but put and get, which hold none ---- */

/* A key for a payload that is to come, and the debt of it, which the transaction at hand makes durable. */
int sbx_store_blob_owe(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], char *key_out);
int sbx_store_blob_put(struct sbx_store *store, const char *key, const void *bytes, size_t count);
int sbx_store_blob_keep(struct sbx_store *store, const char *key); /* its row is in the transaction at hand */
int sbx_store_blob_drop(struct sbx_store *store, const char *key); /* it is of no use: it goes soon */
/* -EAGAIN: not now. -ENODATA: it is gone, and nobody here took it away. */
int sbx_store_blob_get(struct sbx_store *store, const char *key, struct sbx_byte_buffer *out);

/* Look for a row by its id; the writer's lock is held. Returns 0, -ENOENT or -errno; `place_out` (may be NULL) is 0 when it has
 * none, `attempts_out` may be NULL. */
int sbx_store_find(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], int64_t *seq_out, int *attempts_out,
                   int64_t *place_out);

/* What a verdict says of code without names replaces what was said before. *less_out: it is less. The writer's transaction is
 * open. 0 or -errno. */
int sbx_store_put_gaps(struct sbx_store *store, int64_t seq, const struct sbx_verdict_row *verdict, bool *less_out);

/* Remember the place that a stall leaves, if it does for symbols that came. The same. */
int sbx_store_note_place(struct sbx_store *store, int64_t seq, int64_t old_place, int64_t place, bool by_symbols);

/* ---- many that go (store_leaving.c) ---- */

enum {
    SBX_LEAVING_MAX = 512 /* at once */
};

/* Which go: those of GOING_AGED, that came before `number`; of GOING_ERASED, of a machine; of GOING_ONE, that of the seq `number`. */
struct sbx_leaving {
    int64_t number;
    const uint8_t *rotating_id;
    size_t max;
};

/* Take stalls out of the sums and the tables, `max` at most, and what counts them: places without a stall are settled. The writer's
 * transaction is open. `ids_out` has room for as many. Returns how many, or -errno. */
int sbx_store_leave(struct sbx_store *store, enum writer_statement fill, const struct sbx_leaving *leaving,
                    uint8_t (*ids_out)[SBX_ID_BYTES]);

/* ---- sums (store_sums.c); the writer's transaction is open, 0 or -errno ---- */

/* Add a stall that has a place to the sums, or take it back: `sign` is 1 or -1. Between the two nothing of it may change. */
int sbx_store_sum(struct sbx_store *store, int64_t seq, int sign);

/* The stall has no place any more, and is in no sum: before its row changes or goes. `place` is the one that it has; 0: none. The
 * place is settled afterwards by sbx_store_settle_place(). */
int sbx_store_leave_place(struct sbx_store *store, int64_t seq, int64_t place);

/* The stall is in the place of the verdict's key, which is made where it is not there, and in the sums. */
int sbx_store_enter_place(struct sbx_store *store, int64_t seq, const struct sbx_verdict_row *verdict, int64_t left,
                          int64_t *place_out);

/* Is it in the sums already as this verdict has it? Then it stays in its place, and no sum changes. The words of a place and the profile of the
 * stall may be others. */
int sbx_store_is_summed_as(struct sbx_store *store, int64_t seq, const struct sbx_verdict_row *verdict, bool *same_out);
int sbx_store_stay_in_place(struct sbx_store *store, int64_t seq, int64_t place, const struct sbx_verdict_row *verdict);

/* A place that a stall left: its first, last and longest are found anew. An empty one goes, unless a person said something of
 * its issue; where its last stall went to `moved_to` (0: nowhere), its address leads there. */
int sbx_store_settle_place(struct sbx_store *store, int64_t place, int64_t moved_to);

/* The places of issue `from` are those of `into` from now on, and so are its addresses. */
int sbx_store_join_issues(struct sbx_store *store, int64_t from, const uint8_t from_id[SBX_ID_BYTES], int64_t into);

/* ---- days (store_days.c) ---- */

/* Where sums have a table for each day, that of this day is there, before stalls of the day are summed. No transaction is open; the writer's lock is
 * held. 0 or -errno. */
int sbx_store_open_day(struct sbx_store *store, int64_t day);

/* How many rows are read for one count of distinct machines, and for one among those of a thousand issues. */
int64_t sbx_store_sample_rows(const struct sbx_store *store);
int64_t sbx_store_sample_issue_rows(const struct sbx_store *store);

/* A statement that shows rows, with k and the reader's application. The lock is held. */
struct sbx_statement *sbx_store_use_to_show(const struct sbx_store_view *view, enum sbx_reader_statement index);

#endif
