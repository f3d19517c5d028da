/* SPDX-License-Identifier: Apache-2.0 */
/* store_removal.c - what goes: because its machine asks for it, or because it is old enough.
 *
 * Some 20 ms of removals a transaction, and the lock is let go between them to whoever waits: an upload waits for one batch at most. One
 * payload a transaction would leave the disk's writes as the limit, far below what intake can bring. What goes is overwritten in the
 * file (secure_delete, store.c). */
#include <errno.h>
#include <string.h>
#include <time.h>

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

/* The row of a query for seq, id and place goes whole. Returns 1 and its id, 0 when there is none, or -errno. The same. */
static int drop_found(struct sbx_store *store, struct sbx_statement *statement, uint8_t id_out[SBX_ID_BYTES])
{
    int row = sbx_store_step(statement);
    if (row <= 0)
        return row;
    int64_t seq = sbx_column_integer(statement, 0), place = sbx_column_integer(statement, 2);
    memcpy(id_out, sbx_column_blob(statement, 1), SBX_ID_BYTES);
    sbx_statement_reset(statement);
    int result = drop_snapshot(store, seq, place);
    return result < 0 ? result : 1;
}

/* ---- many ---- */

enum {
    BATCH_MS = 20,
    BATCH_MAX = 256
};

/* What is to go, and how the next of it is taken away: as drop_found(). */
struct removal {
    int (*next)(struct sbx_store *store, const struct removal *removal, uint8_t id_out[SBX_ID_BYTES]);
    const uint8_t *rotating_id;
    int64_t before_ms;
    void (*gone)(void *context,
                 const uint8_t id[SBX_ID_BYTES]); /* may be NULL; is told without a lock, of what is durably gone */
    void *context;
};

static int64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* One transaction of them, `max` at most. Returns how many went, 0 when there are no more, or -errno, and none of them did. */
static int remove_batch(struct sbx_store *store, const struct removal *removal, size_t max)
{
    uint8_t ids[BATCH_MAX][SBX_ID_BYTES];
    int count = 0, most = max < BATCH_MAX ? (int)max : BATCH_MAX;
    sbx_store_handle_stand_back(&store->writer, BATCH_MS); /* as long as a batch takes: half of the time is theirs */
    sbx_store_handle_lock(&store->writer);
    int64_t end_ms = monotonic_ms() + BATCH_MS;
    int result = sbx_store_handle_begin(&store->writer);
    if (result == 0) {
        do
            result = removal->next(store, removal, ids[count]);
        while (result > 0 && ++count < most && monotonic_ms() < end_ms);
        result = sbx_store_handle_end(&store->writer, result < 0 ? result : 0);
    }
    sbx_store_handle_unlock(&store->writer);
    for (int i = 0; i < count && result == 0 && removal->gone; i++)
        removal->gone(removal->context, ids[i]);
    return result < 0 ? result : count;
}

/* ---- on request ---- */

/* One of those that carry the id. */
static int erase_next(struct sbx_store *store, const struct removal *removal, uint8_t id_out[SBX_ID_BYTES])
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, NEXT_ERASED);
    sbx_bind_blob(statement, 1, removal->rotating_id, SBX_ROTATING_ID_BYTES);
    return drop_found(store, statement, id_out);
}

int sbx_store_erase(struct sbx_store *store, const uint8_t rotating_id[SBX_ROTATING_ID_BYTES], int64_t now_ms,
                    void (*gone)(void *context, const uint8_t id[SBX_ID_BYTES]), void *context)
{
    const struct removal removal = {.next = erase_next, .rotating_id = rotating_id, .gone = gone, .context = context};
    int count = 0, went;
    sbx_store_handle_lock(&store->writer);
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, ADD_ERASED); /* from now on none comes */
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
    sbx_store_handle_unlock(&store->writer);
    while (result == 0 && (went = remove_batch(store, &removal, SIZE_MAX)) != 0) {
        count += went > 0 ? went : 0;
        result = went < 0 ? went : 0;
    }
    if (result == 0 && count > 0) { /* the journal has what was overwritten in the file */
        sbx_store_handle_lock(&store->writer);
        sbx_sql_checkpoint(store->writer.db, true);
        sbx_store_handle_unlock(&store->writer);
        (void)sbx_store_settle_blobs(store, now_ms, (size_t)count); /* what is away now is found again by the ager */
    }
    return result < 0 ? result : count;
}

/* ---- age ---- */

/* The oldest whose payload came before and is still there: its bytes go, or all of it when nobody ever came to read them. */
static int age_next_payload(struct sbx_store *store, const struct removal *removal, uint8_t id_out[SBX_ID_BYTES])
{
    static const enum writer_statement steps[] = {OWE_BLOB, DROP_PAYLOAD, LEAVE_PAYLOAD, DROP_GAPS};
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, NEXT_AGED_PAYLOAD);
    sbx_bind_integer(statement, 1, removal->before_ms);
    int result = sbx_store_step(statement);
    if (result <= 0)
        return result;
    int64_t seq = sbx_column_integer(statement, 0);
    bool is_told = (int)sbx_column_integer(statement, 2) != SBX_TRIAGE_PENDING;
    memcpy(id_out, sbx_column_blob(statement, 1), SBX_ID_BYTES);
    sbx_statement_reset(statement);
    result = is_told ? 0 : drop_snapshot(store, seq, 0);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && is_told && result == 0; i++) {
        statement = sbx_store_handle_use(&store->writer, steps[i]);
        sbx_bind_integer(statement, 1, seq);
        result = sbx_store_step(statement);
    }
    return result < 0 ? result : 1;
}

/* The oldest that came before goes whole. */
static int age_next_snapshot(struct sbx_store *store, const struct removal *removal, uint8_t id_out[SBX_ID_BYTES])
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, NEXT_AGED);
    sbx_bind_integer(statement, 1, removal->before_ms);
    return drop_found(store, statement, id_out);
}

int sbx_store_age(struct sbx_store *store, enum sbx_store_aged what, int64_t before_ms, size_t max,
                  void (*gone)(void *context, const uint8_t id[SBX_ID_BYTES]), void *context)
{
    const struct removal removal = {.next = what == SBX_AGED_PAYLOAD ? age_next_payload : age_next_snapshot,
                                    .before_ms = before_ms,
                                    .gone = gone,
                                    .context = context};
    return remove_batch(store, &removal, max);
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
