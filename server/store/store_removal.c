/* SPDX-License-Identifier: Apache-2.0 */
/* store_removal.c - removes data that a machine asked to erase, or that is old enough.
 *
 * A transaction removes as many stalls as take some 20 ms (200 ms in a shared database). Between two transactions
 * waiting threads get the lock, so an upload waits for one batch at most. A batch is taken out of the sums by group
 * (store_leaving.c). Removed data is overwritten in the file (secure_delete, store_schema.c). */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "number_list.h"
#include "store_blobs.h"
#include "store_inside.h"

enum {
    BATCH_MS = 20,
    BATCH_SHARED_MS = 200, /* with a table for each day, the fixed cost of a batch is some 100 ms */
    BATCH_FIRST = 64,
    BATCH_LEAST = 8
};

/* What is to be removed. */
struct removal {
    /* for sbx_store_leave(). NEXT_AGED_PAYLOADS: the bytes of triaged stalls, and stalls never triaged as a whole */
    enum writer_statement fill;
    struct sbx_leaving which;
    void (*gone)(void *context,
                 const uint8_t id[SBX_ID_BYTES]); /* may be NULL; called without a lock, after the removal is durable */
    void *context;
};

static int64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* Payloads of a batch: triaged ones as a list, and those that were never triaged. */
struct aged {
    struct sbx_byte_buffer told; /* "[1,2,3]" */
    int64_t untold[BATCH_LEAST]; /* removed one by one */
    size_t untold_count;
};

/* Given: sbx_byte_buffer_finish(). Returns the number of payloads, or -errno. */
static int list_aged(struct sbx_store *store, int64_t before_ms, size_t max, struct aged *aged_out,
                     uint8_t (*ids_out)[SBX_ID_BYTES])
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, NEXT_AGED_PAYLOADS);
    size_t count = 0;
    int result = 0;
    aged_out->told = (struct sbx_byte_buffer){0};
    aged_out->untold_count = 0;
    sbx_bind_integer(statement, 1, before_ms);
    sbx_bind_integer(statement, 2, (int64_t)max);
    while (count < max && aged_out->untold_count < BATCH_LEAST && (result = sbx_store_step(statement)) > 0) {
        int64_t seq = sbx_column_integer(statement, 0);
        memcpy(ids_out[count++], sbx_column_blob(statement, 1), SBX_ID_BYTES);
        if ((int)sbx_column_integer(statement, 2) == SBX_TRIAGE_PENDING)
            aged_out->untold[aged_out->untold_count++] = seq;
        else
            sbx_number_list_add(&aged_out->told, seq);
    }
    sbx_statement_reset(statement);
    if (aged_out->told.used > 0)
        sbx_number_list_end(&aged_out->told);
    return result < 0 ? result : aged_out->told.failed ? -ENOMEM : (int)count;
}

/* Remove the bytes of the oldest payloads received before `before_ms`, at most `max`; stalls that were never triaged
 * are removed whole. One query finds all of them: where deleted rows stay for older readers, as in PostgreSQL, each
 * query must first skip them. Returns their number, or -errno. The writer's transaction is open. */
static int age_payloads(struct sbx_store *store, int64_t before_ms, size_t max, uint8_t (*ids_out)[SBX_ID_BYTES])
{
    static const enum writer_statement steps[] = {AGED_OWE, AGED_PAYLOAD, AGED_LEAVE, AGED_GAP};
    uint8_t id[1][SBX_ID_BYTES];
    struct aged aged;
    int count = list_aged(store, before_ms, max, &aged, ids_out), result = count < 0 ? count : 0;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && result == 0 && aged.told.used > 0; i++) {
        struct sbx_statement *statement = sbx_store_handle_use(&store->writer, steps[i]);
        sbx_bind_text(statement, 1, aged.told.data);
        result = sbx_store_step(statement);
        sbx_statement_clear(statement);
    }
    for (size_t i = 0; i < aged.untold_count && result >= 0; i++)
        result = sbx_store_leave(store, GOING_ONE, &(struct sbx_leaving){.number = aged.untold[i], .max = 1}, id);
    /* waits for the sent statements, so that their time is measured */
    (void)sbx_sql_changes(sbx_store_handle_db(&store->writer));
    sbx_byte_buffer_finish(&aged.told);
    return result < 0 ? result : count;
}

/* Change the size of the next batch, so that it takes the wanted time. */
static void fit_batch(_Atomic size_t *size, size_t batch, int64_t took_ms, bool is_shared)
{
    const int64_t wanted_ms = is_shared ? BATCH_SHARED_MS : BATCH_MS;
    const size_t least = is_shared ? BATCH_FIRST : BATCH_LEAST;
    if (took_ms < wanted_ms && batch < SBX_LEAVING_MAX)
        atomic_store(size, 2 * batch);
    else if (took_ms > 2 * wanted_ms && batch > least)
        atomic_store(size, batch / 2);
}

/* Remove at most `max` in the open transaction. Returns their number, or -errno. */
static int remove_some(struct sbx_store *store, const struct removal *removal, size_t max, uint8_t (*ids)[SBX_ID_BYTES])
{
    bool is_payload = removal->fill == NEXT_AGED_PAYLOADS;
    _Atomic size_t *size = is_payload ? &store->payload_batch : &store->batch;
    size_t batch = atomic_load(size);
    struct sbx_leaving which = removal->which;
    int64_t begin_ms = monotonic_ms();
    batch = batch > 0 ? batch : BATCH_FIRST;
    which.max = max < batch ? max : batch;
    int result = is_payload ? age_payloads(store, which.number, which.max, ids)
                            : sbx_store_leave(store, removal->fill, &which, ids);
    if (result > 0 && (size_t)result == batch)
        fit_batch(size, batch, monotonic_ms() - begin_ms, sbx_store_is_shared(store));
    return result;
}

/* Remove at most `max` in one transaction. Returns their number, 0 when there are no more, or -errno when none was
 * removed. */
static int remove_batch(struct sbx_store *store, const struct removal *removal, size_t max)
{
    uint8_t ids[SBX_LEAVING_MAX][SBX_ID_BYTES];
    int count = 0;
    sbx_store_handle_stand_back(&store->writer, BATCH_MS); /* waiters may use as much time as a batch */
    sbx_store_handle_lock(&store->writer);
    /* A payload of an erased machine is either stored before this, and removed too, or comes later, and is not kept. */
    int result = sbx_store_handle_begin_alone(&store->writer);
    if (result == 0) {
        count = remove_some(store, removal, max < SBX_LEAVING_MAX ? max : SBX_LEAVING_MAX, ids);
        result = sbx_store_handle_end(&store->writer, count < 0 ? count : 0);
    }
    sbx_store_handle_unlock(&store->writer);
    for (int i = 0; i < count && result == 0 && removal->gone; i++)
        removal->gone(removal->context, ids[i]);
    return result < 0 ? result : count;
}

/* ---- on request ---- */

/* Run one statement with an id, and with the time if it uses it. The lock is held. */
static int run_of_id(struct sbx_store *store, enum writer_statement index, const uint8_t *rotating_id, int64_t now_ms)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, index);
    sbx_bind_blob(statement, 1, rotating_id, SBX_ROTATING_ID_BYTES);
    if (sbx_statement_parameters(statement) > 1)
        sbx_bind_integer(statement, 2, now_ms);
    int result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    return result;
}

int sbx_store_want_erased(struct sbx_store *store, const uint8_t (*rotating_ids)[SBX_ROTATING_ID_BYTES], size_t count,
                          int64_t now_ms)
{
    /* Erase ends whose stalls are not here; the other ends are removed with their stalls. */
    static const enum writer_statement steps[] = {ADD_ERASED, ADD_ERASING, ERASE_ENDS};
    sbx_store_handle_lock(&store->writer);
    /* a payload of the machine is stored before this, or comes later */
    int result = sbx_store_handle_begin_alone(&store->writer);
    if (result == 0) {
        for (size_t i = 0; i < count && result == 0; i++)
            for (size_t step = 0; step < sizeof(steps) / sizeof(steps[0]) && result == 0; step++)
                result = run_of_id(store, steps[step], rotating_ids[i], now_ms);
        result = sbx_store_handle_end(&store->writer, result);
    }
    sbx_store_handle_unlock(&store->writer);
    return result;
}

int sbx_store_next_erasing(struct sbx_store *store, uint8_t rotating_id_out[SBX_ROTATING_ID_BYTES])
{
    sbx_store_handle_lock(&store->writer);
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, NEXT_ERASING);
    int result = sbx_store_step(statement);
    if (result > 0 && sbx_column_bytes(statement, 0) == SBX_ROTATING_ID_BYTES)
        memcpy(rotating_id_out, sbx_column_blob(statement, 0), SBX_ROTATING_ID_BYTES);
    sbx_statement_reset(statement);
    sbx_store_handle_unlock(&store->writer);
    return result > 0 ? 0 : result < 0 ? result : -ENOENT;
}

int sbx_store_erase_some(struct sbx_store *store, const uint8_t rotating_id[SBX_ROTATING_ID_BYTES], size_t max,
                         void (*gone)(void *context, const uint8_t id[SBX_ID_BYTES]), void *context)
{
    const struct removal removal = {GOING_ERASED, {.rotating_id = rotating_id}, gone, context};
    return remove_batch(store, &removal, max);
}

int sbx_store_end_erasure(struct sbx_store *store, const uint8_t rotating_id[SBX_ROTATING_ID_BYTES], int64_t now_ms,
                          size_t removed)
{
    sbx_store_handle_lock(&store->writer);
    int result = run_of_id(store, DROP_ERASING, rotating_id, 0);
    if (removed > 0) /* the journal still has the overwritten data */
        sbx_sql_checkpoint(sbx_store_handle_db(&store->writer), true);
    sbx_store_handle_unlock(&store->writer);
    /* the ager tries again when the blob store is unreachable now */
    (void)sbx_store_settle_blobs(store, now_ms, removed);
    return result;
}

int sbx_store_erase(struct sbx_store *store, const uint8_t rotating_id[SBX_ROTATING_ID_BYTES], int64_t now_ms,
                    void (*gone)(void *context, const uint8_t id[SBX_ID_BYTES]), void *context)
{
    int count = 0, went;
    int result = sbx_store_want_erased(store, (const uint8_t(*)[SBX_ROTATING_ID_BYTES])rotating_id, 1, now_ms);
    while (result == 0 && (went = sbx_store_erase_some(store, rotating_id, SIZE_MAX, gone, context)) != 0) {
        count += went > 0 ? went : 0;
        result = went < 0 ? went : 0;
    }
    if (result == 0)
        result = sbx_store_end_erasure(store, rotating_id, now_ms, (size_t)count);
    return result < 0 ? result : count;
}

/* ---- age ---- */

int sbx_store_age(struct sbx_store *store, enum sbx_store_aged what, int64_t before_ms, size_t max,
                  void (*gone)(void *context, const uint8_t id[SBX_ID_BYTES]), void *context)
{
    const struct removal removal = {
        what == SBX_AGED_PAYLOAD ? NEXT_AGED_PAYLOADS : GOING_AGED, {.number = before_ms}, gone, context};
    return remove_batch(store, &removal, max);
}

/* Remove rows that nothing uses. The writer's transaction is open, so nobody can begin to use them. */
static int forget_unused(struct sbx_store *store)
{
    static const enum writer_statement steps[] = {FORGET_LACKS, FORGET_MODULES, FORGET_WORDS, FORGET_APPS};
    int result = 0;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && result == 0; i++)
        result = sbx_store_step(sbx_store_handle_use(&store->writer, steps[i]));
    return result;
}

int sbx_store_end_ageing(struct sbx_store *store, int64_t now_ms, int64_t erased_before_ms, bool has_removed)
{
    enum {
        EARLY_MS = 86400000
    };                                                  /* a small correction of the clock changes nothing */
    const int64_t END_KEPT_MS = INT64_C(31) * 86400000; /* longer than a machine keeps a payload */
    sbx_store_handle_lock(&store->writer);
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, FORGET_ERASED);
    sbx_bind_integer(statement, 1, erased_before_ms);
    int result = sbx_store_step(statement);
    if (result == 0) { /* a stall that has not come by now will not come */
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
    if (result == 0)
        result = sbx_store_handle_begin_alone(&store->writer);
    if (result == 0)
        result = sbx_store_handle_end(&store->writer, forget_unused(store));
    /* move overwritten data from the journal into the file, without waiting for others */
    if (result == 0 && has_removed)
        sbx_sql_checkpoint(sbx_store_handle_db(&store->writer), false);
    sbx_store_handle_unlock(&store->writer);
    return result;
}
