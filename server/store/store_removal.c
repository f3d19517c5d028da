/* SPDX-License-Identifier: Apache-2.0 */
/* store_removal.c - what goes: because its machine asks for it, or because it is old enough.
 *
 * One payload a transaction, and the lock is let go between them: an upload waits for one removal at most. What goes is
 * overwritten in the file (secure_delete, store.c). */
#include <errno.h>
#include <string.h>

#include "store_blobs.h"
#include "store_inside.h"

/* Take one payload away, and what counts it; `place` 0: it has none. The writer's transaction is open. */
static int drop_snapshot(struct sbx_store *store, int64_t seq, int64_t place)
{
    static const enum writer_statement steps[] = {OWE_BLOB,  DROP_PAYLOAD, DROP_ROTATING, DROP_END,
                                                  DROP_GAPS, DROP_WAS_IN,  DROP_SNAPSHOT};
    int result = sbx_store_leave_place(store, seq, place);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && result == 0; i++) {
        struct sbx_statement *statement = sbx_store_handle_use(&store->writer, steps[i]);
        sbx_bind_integer(statement, 1, seq);
        result = sbx_store_step(statement);
    }
    return result == 0 ? sbx_store_settle_place(store, place, 0) : result;
}

/* The row of a query for seq, id and place goes whole. Returns 1 and its id, 0 when there is none, or -errno. */
static int drop_found(struct sbx_store *store, struct sbx_statement *statement, uint8_t id_out[SBX_ID_BYTES])
{
    int row = sbx_store_step(statement);
    if (row <= 0)
        return row;
    int64_t seq = sbx_column_integer(statement, 0), place = sbx_column_integer(statement, 2);
    memcpy(id_out, sbx_column_blob(statement, 1), SBX_ID_BYTES);
    sbx_statement_reset(statement);
    int result = sbx_store_handle_begin(&store->writer);
    if (result == 0)
        result = sbx_store_handle_end(&store->writer, drop_snapshot(store, seq, place));
    return result < 0 ? result : 1;
}

/* ---- on request ---- */

/* One of those that carry the id. As drop_found(). */
static int erase_one(struct sbx_store *store, const uint8_t rotating_id[SBX_ROTATING_ID_BYTES],
                     uint8_t id_out[SBX_ID_BYTES])
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, NEXT_ERASED);
    sbx_bind_blob(statement, 1, rotating_id, SBX_ROTATING_ID_BYTES);
    return drop_found(store, statement, id_out);
}

int sbx_store_erase(struct sbx_store *store, const uint8_t rotating_id[SBX_ROTATING_ID_BYTES], int64_t now_ms,
                    void (*gone)(void *context, const uint8_t id[SBX_ID_BYTES]), void *context)
{
    uint8_t id[SBX_ID_BYTES];
    int count = 0;
    sbx_store_handle_lock(&store->writer);
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, ADD_ERASED);
    sbx_bind_blob(statement, 1, rotating_id, SBX_ROTATING_ID_BYTES);
    sbx_bind_integer(statement, 2, now_ms);
    int result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    if (result == 0) { /* those whose stall is not here; the others go with it */
        statement = sbx_store_handle_use(&store->writer, ERASE_ENDS);
        sbx_bind_blob(statement, 1, rotating_id, SBX_ROTATING_ID_BYTES);
        result = sbx_store_step(statement);
        sbx_statement_clear(statement);
    }
    while (result == 0 && (result = erase_one(store, rotating_id, id)) > 0) {
        if (gone)
            gone(context, id);
        count++;
        result = 0;
    }
    if (result == 0 && count > 0) /* the journal has what was overwritten in the file */
        sbx_sql_checkpoint(store->writer.db, true);
    sbx_store_handle_unlock(&store->writer);
    if (result == 0 && count > 0) /* what is away now is found again by the ager */
        (void)sbx_store_settle_blobs(store, now_ms, (size_t)count);
    return result < 0 ? result : count;
}

/* ---- age ---- */

/* The oldest whose payload came before `before_ms` and is still there: its bytes go, or all of it when nobody ever came
 * to read them. Returns 1 and its id, 0 when there is none, or -errno. */
static int drop_old_payload(struct sbx_store *store, int64_t before_ms, uint8_t id_out[SBX_ID_BYTES])
{
    static const enum writer_statement steps[] = {OWE_BLOB, DROP_PAYLOAD, LEAVE_PAYLOAD, DROP_GAPS};
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, NEXT_AGED_PAYLOAD);
    sbx_bind_integer(statement, 1, before_ms);
    int result = sbx_store_step(statement);
    if (result <= 0)
        return result;
    int64_t seq = sbx_column_integer(statement, 0);
    bool is_told = (int)sbx_column_integer(statement, 2) != SBX_TRIAGE_PENDING;
    memcpy(id_out, sbx_column_blob(statement, 1), SBX_ID_BYTES);
    sbx_statement_reset(statement);
    result = sbx_store_handle_begin(&store->writer);
    if (result < 0)
        return result;
    if (!is_told)
        result = drop_snapshot(store, seq, 0);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && is_told && result == 0; i++) {
        statement = sbx_store_handle_use(&store->writer, steps[i]);
        sbx_bind_integer(statement, 1, seq);
        result = sbx_store_step(statement);
    }
    result = sbx_store_handle_end(&store->writer, result);
    return result < 0 ? result : 1;
}

/* The oldest that came before `before_ms` goes whole. Returns as above. */
static int drop_old_snapshot(struct sbx_store *store, int64_t before_ms, uint8_t id_out[SBX_ID_BYTES])
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, NEXT_AGED);
    sbx_bind_integer(statement, 1, before_ms);
    return drop_found(store, statement, id_out);
}

int sbx_store_age_one(struct sbx_store *store, enum sbx_store_aged what, int64_t before_ms,
                      uint8_t id_out[SBX_ID_BYTES])
{
    sbx_store_handle_lock(&store->writer);
    int result = (what == SBX_AGED_PAYLOAD ? drop_old_payload : drop_old_snapshot)(store, before_ms, id_out);
    sbx_store_handle_unlock(&store->writer);
    return result;
}

int sbx_store_end_ageing(struct sbx_store *store, int64_t now_ms, int64_t erased_before_ms, bool has_removed)
{
    enum {
        EARLY_MS = 86400000
    };                                                  /* a clock that is put right by a little moves nothing */
    const int64_t END_KEPT_MS = INT64_C(31) * 86400000; /* longer than a machine keeps a payload */
    sbx_store_handle_lock(&store->writer);
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, FORGET_ERASED);
    sbx_bind_integer(statement, 1, erased_before_ms);
    int result = sbx_store_step(statement);
    if (result == 0) { /* a stall that has not come after so long does not come any more */
        statement = sbx_store_handle_use(&store->writer, FORGET_ENDS);
        sbx_bind_integer(statement, 1, now_ms - END_KEPT_MS);
        result = sbx_store_step(statement);
    }
    if (result == 0) {
        statement = sbx_store_handle_use(&store->writer, SET_RIGHT);
        sbx_bind_integer(statement, 1, now_ms);
        sbx_bind_integer(statement, 2, now_ms + EARLY_MS);
        result = sbx_store_step(statement);
    }
    if (result == 0) {
        statement = sbx_store_handle_use(&store->writer, FORGET_MODULES);
        result = sbx_store_step(statement);
    }
    if (result == 0) {
        statement = sbx_store_handle_use(&store->writer, FORGET_WORDS);
        result = sbx_store_step(statement);
    }
    if (result == 0) {
        statement = sbx_store_handle_use(&store->writer, FORGET_APPS);
        result = sbx_store_step(statement);
    }
    if (result == 0 && has_removed) /* what was overwritten goes from the journal into the file; nobody is waited for */
        sbx_sql_checkpoint(store->writer.db, false);
    sbx_store_handle_unlock(&store->writer);
    return result;
}
