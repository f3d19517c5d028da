/* SPDX-License-Identifier: Apache-2.0 */
/* store_symbols.c - stores gaps, and marks stalls for a new triage. */
#include "store_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store_inside.h"
#include "wall_clock.h"

/* ---- with a verdict ---- */

/* Is it stored, with a name? 1, 0, or -errno. An existing row is only read: stalls of other applications lack the same
 * module, and a write would make them wait. */
static int has_module(struct sbx_store *store, const struct sbx_gap_row *gap)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, FIND_MODULE);
    sbx_bind_blob(statement, 1, gap->build_id, gap->build_id_bytes);
    int result = sbx_store_step(statement);
    if (result > 0)
        result = !*gap->name || sbx_column_bytes(statement, 1) > 0;
    sbx_statement_reset(statement);
    sbx_statement_clear(statement);
    return result;
}

static int add_module(struct sbx_store *store, const struct sbx_gap_row *gap)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, ADD_MODULE);
    sbx_bind_blob(statement, 1, gap->build_id, gap->build_id_bytes);
    sbx_bind_text(statement, 2, gap->name);
    sbx_bind_integer(statement, 3, gap->is_runtime);
    int result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    return result;
}

static int add_gap(struct sbx_store *store, int64_t seq, const struct sbx_gap_row *gap)
{
    int result = has_module(store, gap);
    if (result == 0)
        result = add_module(store, gap);
    if (result < 0)
        return result;
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, ADD_GAP);
    sbx_bind_blob(statement, 1, gap->build_id, gap->build_id_bytes);
    sbx_bind_integer(statement, 2, seq);
    sbx_bind_integer(statement, 3, gap->unnamed);
    result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    return result;
}

int sbx_store_put_gaps(struct sbx_store *store, int64_t seq, const struct sbx_verdict_row *verdict, bool *less_out)
{
    double before = 0, now = (double)verdict->gap_count;
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, COUNT_GAPS_OF);
    sbx_bind_integer(statement, 1, seq);
    int result = sbx_store_step(statement);
    if (result > 0)
        before = (double)sbx_column_integer(statement, 0) + sbx_column_real(statement, 1);
    sbx_statement_reset(statement);
    if (result < 0)
        return result;
    statement = sbx_store_handle_use(&store->writer, DROP_GAPS);
    sbx_bind_integer(statement, 1, seq);
    result = sbx_store_step(statement);
    for (size_t i = 0; i < verdict->gap_count && result == 0; i++) {
        now += verdict->gaps[i].unnamed;
        result = add_gap(store, seq, &verdict->gaps[i]);
    }
    if (result == 0 && verdict->lacks_store) { /* the stall no longer counts as named by symbols that came */
        statement = sbx_store_handle_use(&store->writer, FORGET_MADE);
        sbx_bind_integer(statement, 1, seq);
        result = sbx_store_step(statement);
    }
    *less_out = now < before;
    return result;
}

int sbx_store_note_place(struct sbx_store *store, int64_t seq, int64_t old_place, int64_t place, bool by_symbols)
{
    /* it may return to an earlier issue */
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, LEAVE_WAS_IN);
    sbx_bind_integer(statement, 1, place);
    sbx_bind_integer(statement, 2, seq);
    int result = sbx_store_step(statement);
    if (result < 0 || !by_symbols)
        return result;
    statement = sbx_store_handle_use(&store->writer, ADD_WAS_IN);
    sbx_bind_integer(statement, 1, old_place);
    sbx_bind_integer(statement, 2, seq);
    sbx_bind_integer(statement, 3, sbx_wall_clock_ms());
    return sbx_store_step(statement);
}

/* ---- symbols come ---- */

/* The writer's lock is held. */
static int mark(struct sbx_store *store, const uint8_t *build_id, size_t bytes, uint64_t made_s)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, SYMBOLS_CAME);
    sbx_bind_blob(statement, 1, build_id, bytes);
    sbx_bind_integer(statement, 2, (int64_t)made_s);
    int result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    return result;
}

/* Note symbols for the other servers of the database, and remove the oldest notes. The writer's transaction is open. */
static int add_arrival(struct sbx_store *store, const uint8_t *build_id, size_t bytes, uint64_t made_s)
{
    enum {
        ARRIVALS_KEPT = 1000
    };
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, ADD_ARRIVAL);
    sbx_bind_integer(statement, 1, store->number);
    sbx_bind_blob(statement, 2, build_id, bytes);
    sbx_bind_integer(statement, 3, (int64_t)made_s);
    int result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    if (result < 0)
        return result;
    statement = sbx_store_handle_use(&store->writer, FORGET_ARRIVALS);
    sbx_bind_integer(statement, 1, ARRIVALS_KEPT);
    return sbx_store_step(statement);
}

int sbx_store_symbols_came(struct sbx_store *store, const uint8_t *build_id, size_t bytes, uint64_t made_s,
                           int64_t *stalls_out)
{
    *stalls_out = 0;
    sbx_store_handle_lock(&store->writer);
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, COUNT_GAPS);
    sbx_bind_blob(statement, 1, build_id, bytes);
    int result = sbx_store_step(statement);
    if (result > 0) {
        *stalls_out = sbx_column_integer(statement, 0);
        sbx_statement_reset(statement);
        result = 0;
    }
    sbx_statement_clear(statement);
    if (result == 0 && (result = sbx_store_handle_begin(&store->writer)) == 0) {
        /* In one transaction, so that a server that sees the mark also sees the arrival. */
        result = mark(store, build_id, bytes, made_s);
        if (result == 0)
            result = add_arrival(store, build_id, bytes, made_s);
        result = sbx_store_handle_end(&store->writer, result);
    }
    sbx_store_handle_unlock(&store->writer);
    return result;
}

int sbx_store_newest_arrival(struct sbx_store *store, int64_t *seen_out)
{
    sbx_store_handle_lock(&store->writer);
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, NEWEST_ARRIVAL);
    int result = sbx_store_step(statement);
    *seen_out = result > 0 ? sbx_column_integer(statement, 0) : 0;
    sbx_statement_reset(statement);
    sbx_store_handle_unlock(&store->writer);
    return result < 0 ? result : 0;
}

int sbx_store_next_arrival(struct sbx_store *store, int64_t *seen, uint8_t build_id_out[32], size_t *bytes_out)
{
    uint64_t made_s = 0;
    int64_t number = *seen;
    sbx_store_handle_lock(&store->writer);
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, NEXT_ARRIVAL);
    sbx_bind_integer(statement, 1, *seen);
    sbx_bind_integer(statement, 2, store->number);
    int result = sbx_store_step(statement);
    if (result > 0) {
        number = sbx_column_integer(statement, 0);
        size_t bytes = sbx_column_bytes(statement, 1);
        *bytes_out = bytes < 32 ? bytes : 32;
        memcpy(build_id_out, sbx_column_blob(statement, 1), *bytes_out);
        made_s = (uint64_t)sbx_column_integer(statement, 2);
    }
    sbx_statement_reset(statement);
    if (result == 0)
        result = -ENOENT;
    if (result > 0 && (result = mark(store, build_id_out, *bytes_out, made_s)) == 0)
        *seen = number;
    sbx_store_handle_unlock(&store->writer);
    return result;
}

struct wanted {
    uint8_t build_id[32];
    size_t bytes;
    uint64_t made_s, app; /* time of the symbols; the application whose stalls lack them */
};

/* List everything that some stall lacks, each build-id with all of its applications. *wanted_out is given. Returns the
 * number, or -errno. */
static int list_wanted(struct sbx_store *store, struct wanted **wanted_out)
{
    struct wanted *wanted = NULL;
    int count = 0, result;
    sbx_store_handle_lock(&store->writer);
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, ALL_GAPS);
    while ((result = sbx_store_step(statement)) > 0) {
        int bytes = sbx_column_bytes(statement, 0);
        if (bytes == 0 || bytes > 32)
            continue;
        struct wanted *grown = reallocarray(wanted, (size_t)count + 1, sizeof(*wanted));
        if (!grown) {
            result = -ENOMEM;
            break;
        }
        wanted = grown;
        memcpy(wanted[count].build_id, sbx_column_blob(statement, 0), (size_t)bytes);
        wanted[count].bytes = (size_t)bytes;
        wanted[count].made_s = (uint64_t)sbx_column_integer(statement, 1);
        wanted[count++].app = (uint64_t)sbx_column_integer(statement, 2);
    }
    sbx_statement_reset(statement);
    sbx_store_handle_unlock(&store->writer);
    *wanted_out = wanted;
    return result < 0 ? result : count;
}

static bool is_same(const struct wanted *a, const struct wanted *b)
{
    return a->bytes == b->bytes && memcmp(a->build_id, b->build_id, a->bytes) == 0;
}

int sbx_store_look_for_symbols(struct sbx_store *store,
                               bool (*each)(void *context, const uint8_t *build_id, size_t bytes, uint64_t app,
                                            uint64_t *made_s_out),
                               void *context)
{
    struct wanted *wanted = NULL;
    int count = list_wanted(store, &wanted), result = count < 0 ? count : 0;
    for (int i = 0, next; i < count && result == 0; i = next) {
        uint64_t newest = 0, made_s;
        for (next = i; next < count && is_same(&wanted[next], &wanted[i]); next++)
            if (each(context, wanted[i].build_id, wanted[i].bytes, wanted[next].app, &made_s) && made_s > newest)
                newest = made_s;
        if (newest == 0 || newest == wanted[i].made_s)
            continue;
        sbx_store_handle_lock(&store->writer);
        result = mark(store, wanted[i].build_id, wanted[i].bytes, newest);
        sbx_store_handle_unlock(&store->writer);
    }
    free(wanted);
    return result;
}

/* ---- triage anew ---- */

/* Move the mark: the next stall is below this seq. The writer's lock is held. */
static int move_mark(struct sbx_store *store, int64_t module, int64_t from, int64_t to)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, END_RENAMED);
    sbx_bind_integer(statement, 1, module);
    /* no change if symbols came again meanwhile: then all its stalls are triaged again */
    sbx_bind_integer(statement, 2, from);
    sbx_bind_integer(statement, 3, to);
    return sbx_store_step(statement);
}

static int read_id(struct sbx_store *store, int64_t seq, uint8_t id_out[SBX_ID_BYTES])
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, READ_ID);
    sbx_bind_integer(statement, 1, seq);
    int result = sbx_store_step(statement);
    if (result > 0)
        memcpy(id_out, sbx_column_blob(statement, 0), SBX_ID_BYTES);
    sbx_statement_reset(statement);
    return result > 0 ? 0 : result < 0 ? result : -EIO;
}

int sbx_store_next_renamed(struct sbx_store *store, struct sbx_renamed *renamed_out)
{
    int result;
    sbx_store_handle_lock(&store->writer);
    for (;;) {
        struct sbx_statement *statement = sbx_store_handle_use(&store->writer, NEXT_RENAMED);
        result = sbx_store_step(statement);
        if (result <= 0) {
            result = result == 0 ? -ENOENT : result;
            break;
        }
        *renamed_out = (struct sbx_renamed){.module = sbx_column_integer(statement, 0),
                                            .before = sbx_column_integer(statement, 1),
                                            .seq = sbx_column_integer(statement, 2)};
        sbx_statement_reset(statement);
        if (renamed_out->seq > 0) {
            result = read_id(store, renamed_out->seq, renamed_out->id);
            break;
        }
        result = move_mark(store, renamed_out->module, renamed_out->before, 0); /* the module has no more stalls */
        if (result < 0)
            break;
    }
    sbx_store_handle_unlock(&store->writer);
    return result;
}

int sbx_store_end_renamed(struct sbx_store *store, const struct sbx_renamed *renamed)
{
    sbx_store_handle_lock(&store->writer);
    int result = move_mark(store, renamed->module, renamed->before, renamed->seq);
    sbx_store_handle_unlock(&store->writer);
    return result;
}

int sbx_store_count_lacking(const struct sbx_store_view *view, const uint8_t *build_id, size_t bytes,
                            int64_t *stalls_out)
{
    struct sbx_store *store = view->store;
    sbx_store_handle_lock(&store->writer);
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, COUNT_GAPS_OF_TENANT);
    sbx_bind_blob(statement, 1, build_id, bytes);
    sbx_bind_integer(statement, 2, (int64_t)view->app);
    int result = sbx_store_step(statement);
    *stalls_out = result > 0 ? sbx_column_integer(statement, 0) : 0;
    sbx_statement_reset(statement);
    sbx_statement_clear(statement);
    sbx_store_handle_unlock(&store->writer);
    return result < 0 ? result : 0;
}
