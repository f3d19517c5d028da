/* SPDX-License-Identifier: Apache-2.0 */
/* store_inside.h - the inside of a store, for the files that work on it: store.c takes in, store_rows.c gives out,
 * store_removal.c takes away, store_symbols.c
 * knows what lacks names. */
#ifndef SBX_STORE_INSIDE_H
#define SBX_STORE_INSIDE_H

#include "store.h"
#include "store_handle.h"

/* Of the writer, in store.c. */
enum writer_statement {
    FIND_SNAPSHOT,
    ADD_SNAPSHOT,
    ADD_PAYLOAD,
    READ_PAYLOAD,
    BEGIN_TRIAGE,
    PUT_OFF_TRIAGE,
    SET_VERDICT,
    SET_FAILURE,
    RETRY_FAILURES,
    RENEW_ISSUE,
    DROP_EMPTY_ISSUE,
    ADD_ROTATING,
    ADD_ERASED,
    IS_ERASED,
    NEXT_ERASED,
    LEAVE_ISSUE,
    DROP_PAYLOAD,
    DROP_ROTATING,
    DROP_SNAPSHOT,
    NEXT_AGED,
    NEXT_AGED_PAYLOAD,
    LEAVE_PAYLOAD,
    FORGET_ERASED,
    SET_RIGHT,
    FIND_END,
    ADD_END,
    COMPLETE_SNAPSHOT,
    DROP_END,
    ERASE_ENDS,
    ADD_MODULE,
    ADD_GAP,
    DROP_GAPS,
    COUNT_GAPS_OF,
    ADD_WAS_IN,
    LEAVE_WAS_IN,
    DROP_WAS_IN,
    SYMBOLS_CAME,
    COUNT_GAPS,
    NEXT_RENAMED,
    READ_ID,
    END_RENAMED,
    ALL_GAPS,
    FORGET_MODULES,
    FORGET_ENDS,
    WRITER_STATEMENTS,
};

/* Of the reader, in store_rows.c. */
enum {
    SBX_READER_STATEMENTS = 11
};
extern const char *const sbx_store_reader_sql[SBX_READER_STATEMENTS];

struct sbx_store {
    struct sbx_store_handle writer, reader;
    char *path; /* DATA/store.db */
    char version[32];
    uint32_t min_machines; /* set before anybody reads */
};

/* Look for a row by its id; the writer's lock is held. Returns 0, -ENOENT or -errno; `issue_out` (may be NULL) is all
 * zero when it has none, `attempts_out` may be NULL. */
int sbx_store_find(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], int64_t *seq_out, int *attempts_out,
                   uint8_t *issue_out);

/* Count the snapshots of an issue anew; an issue without any goes. The writer's transaction is open. */
int sbx_store_renew_issue(struct sbx_store *store, const uint8_t issue[SBX_ID_BYTES]);

/* What a verdict says of code without names replaces what was said before; *less_out: it is less. The writer's transaction is
 * open. 0 or -errno. */
int sbx_store_put_gaps(struct sbx_store *store, int64_t seq, const struct sbx_verdict_row *verdict, bool *less_out);

/* Remember the issue that a stall leaves, if it does for symbols that came; `old_issue` is all zero when it was in none. The
 * same. */
int sbx_store_note_issue(struct sbx_store *store, int64_t seq, const uint8_t *old_issue, const uint8_t *issue,
                         bool by_symbols);

/* End the transaction that `result` is of: commit what went well, roll back the rest. */
int sbx_store_end(struct sbx_store *store, int result);

#endif
