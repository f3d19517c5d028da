/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - stores payloads and verdicts, each in one transaction. store_schema.c has the tables. */
#include "store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "duration_sketch.h"
#include "interval.h"
#include "machine_sample.h"
#include "names.h"
#include "blobs.h"
#include "sql_postgres.h"
#include "store_blobs.h"
#include "store_inside.h"
#include "store_schema.h"
#include "unseal.h"

/* ---- open and close ---- */

/* Payloads that another version failed to triage are tried again. */
static int retry_failures(struct sbx_store *store, char *why, size_t why_bytes)
{
    sbx_store_handle_lock(&store->writer);
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, RETRY_FAILURES);
    sbx_bind_text(statement, 1, store->version);
    int result = sbx_store_step(statement);
    if (result < 0)
        snprintf(why, why_bytes, "%s: %s", store->path, sbx_sql_error(sbx_store_handle_db(&store->writer)));
    sbx_store_handle_unlock(&store->writer);
    return result;
}

enum {
    READERS = 8,       /* for pages, lists and triage at the same time */
    WRITERS = 4,       /* for a shared database: payloads, verdicts and a removal do not wait for one connection */
    WEIGHT_MAX = 10000 /* maximum of stalls that one payload may stand for, a hundred times the bound on the machine */
};

bool sbx_store_is_database(const char *url, char *why, size_t why_bytes)
{
    const char *host = strstr(url, "://"), *slash = host ? strchr(host + 3, '/') : NULL;
    const char *at = host ? strchr(host + 3, '@') : NULL, *colon = host ? strchr(host + 3, ':') : NULL;
    if (!sbx_sql_is_postgres(url)) {
        snprintf(why, why_bytes, "a database is postgresql://[USER@]HOST[:PORT]/NAME");
        return false;
    }
    if ((at && (!slash || at < slash) && colon && colon < at) || strstr(url, "password=")) {
        snprintf(why, why_bytes, "a password in a command line is seen by everybody: put it into ~/.pgpass (0600)");
        return false;
    }
    return true;
}

int sbx_store_open(const char *where, const char *version, struct sbx_store **store_out, char *why, size_t why_bytes)
{
    struct sbx_store *store = calloc(1, sizeof(*store));
    bool is_postgres = sbx_sql_is_postgres(where);
    if (!store || asprintf(&store->path, is_postgres ? "%s" : "%s/store.db", where) < 0) {
        free(store);
        snprintf(why, why_bytes, "no memory");
        return -ENOMEM;
    }
    snprintf(store->version, sizeof(store->version), "%s", version);
    if (getrandom(&store->number, sizeof(store->number), 0) != (ssize_t)sizeof(store->number))
        store->number = getpid();
    int result = is_postgres ? sbx_store_renew_schema_postgres(where, why, why_bytes)
                             : sbx_store_renew_schema(store, why, why_bytes);
    if (result == 0)
        result = sbx_store_handle_open_several(&store->writer, is_postgres ? WRITERS : 1, store->path,
                                               is_postgres ? sbx_store_postgres_writer_setup : sbx_store_writer_setup,
                                               sbx_store_writer_sql, WRITER_STATEMENTS, why, why_bytes);
    if (result == 0)
        result = sbx_store_handle_open_several(&store->reader, READERS, store->path,
                                               is_postgres ? sbx_store_postgres_setup : sbx_store_reader_setup,
                                               sbx_store_reader_sql, SBX_READER_STATEMENTS, why, why_bytes);
    if (result == 0)
        result = retry_failures(store, why, why_bytes);
    if (result < 0) {
        sbx_store_close(store);
        return result;
    }
    *store_out = store;
    return 0;
}

void sbx_store_close(struct sbx_store *store)
{
    if (!store)
        return;
    sbx_store_handle_close(&store->reader);
    sbx_store_handle_close(&store->writer);
    free(store->path);
    free(store);
}

/* ---- payloads ---- */

/* Compare the payload of `seq` with these bytes. The writer's lock is held. Returns 0 or -errno. */
static int compare_payload(struct sbx_store *store, int64_t seq, const void *envelope, size_t bytes,
                           enum sbx_stored *stored_out)
{
    uint8_t digest[SBX_SEALED_DIGEST_BYTES];
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, READ_PAYLOAD);
    sbx_bind_integer(statement, 1, seq);
    int row = sbx_store_step(statement);
    if (row < 0)
        return row;
    bool is_equal = row > 0 && sbx_column_bytes(statement, 0) == bytes &&
                    memcmp(sbx_column_blob(statement, 0), envelope, bytes) == 0;
    sbx_statement_reset(statement);
    if (row == 0) { /* stored outside, or aged out. Without a digest it cannot be compared; it counts as stored */
        int result = sbx_sealed_digest(envelope, bytes, digest);
        if (result < 0)
            return result;
        statement = sbx_store_handle_use(&store->writer, READ_BLOB);
        sbx_bind_integer(statement, 1, seq);
        row = sbx_store_step(statement);
        is_equal = row > 0 && (sbx_column_bytes(statement, 1) != SBX_SEALED_DIGEST_BYTES ||
                               memcmp(sbx_column_blob(statement, 1), digest, SBX_SEALED_DIGEST_BYTES) == 0);
        sbx_statement_reset(statement);
    }
    *stored_out = is_equal ? SBX_STORED_BEFORE : SBX_STORED_CONFLICT;
    return row < 0 ? row : 0;
}

uint64_t sbx_stall_tenant(const struct sbx_stall *stall)
{
    return stall->app_what != 0 ? stall->app_what : stall->program;
}

/* How long a stall lasted. A snapshot that was requested by hand is about the last seconds, even when a message is
 * open. */
static int64_t duration_of(const struct sbx_stall *stall)
{
    struct sbx_interval judged = sbx_interval_judged(stall);
    return stall->trigger.kind == SBX_TRIGGER_MANUAL ? judged.end_ns - judged.begin_ns : stall->trigger.duration_ns;
}

/* Store the bucket of the changed duration. */
static int renew_bucket(struct sbx_store *store, int64_t seq)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, READ_DURATION);
    sbx_bind_integer(statement, 1, seq);
    int result = sbx_store_step(statement);
    if (result <= 0)
        return result < 0 ? result : -EIO;
    int64_t duration_ns = sbx_column_integer(statement, 0);
    sbx_statement_reset(statement);
    statement = sbx_store_handle_use(&store->writer, SET_BUCKET);
    sbx_bind_integer(statement, 1, seq);
    if (duration_ns > 0)
        sbx_bind_integer(statement, 2, sbx_duration_bucket(duration_ns));
    return sbx_store_step(statement);
}

/* When both a stall and its end are there, join them, and correct the duration in the sums of its place. The writer's
 * transaction is open. */
static int complete(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES])
{
    int64_t seq, place;
    int result = sbx_store_find(store, id, &seq, NULL, &place);
    if (result < 0)
        return result == -ENOENT ? 0 : result; /* the stall may come later */
    if (place != 0)
        result = sbx_store_sum(store, seq, -1);
    if (result == 0) {
        struct sbx_statement *statement = sbx_store_handle_use(&store->writer, COMPLETE_SNAPSHOT);
        sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
        result = sbx_store_step(statement);
        sbx_statement_clear(statement);
    }
    if (result == 0)
        result = renew_bucket(store, seq);
    if (result == 0 && place != 0)
        result = sbx_store_sum(store, seq, 1);
    return result == 0 ? sbx_store_settle_place(store, place, 0) : result; /* the stall may be the longest now */
}

/* Store the bytes of a row: in the database, or as the key under which they are stored already. */
static int add_bytes(struct sbx_store *store, int64_t seq, const void *envelope, size_t bytes, const char *key)
{
    uint8_t digest[SBX_SEALED_DIGEST_BYTES];
    int result = key ? sbx_sealed_digest(envelope, bytes, digest) : 0;
    if (result < 0)
        return result;
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, key ? SET_BLOB : ADD_PAYLOAD);
    sbx_bind_integer(statement, 1, seq);
    if (key) {
        sbx_bind_text(statement, 2, key);
        sbx_bind_blob(statement, 3, digest, sizeof(digest));
    } else {
        sbx_bind_blob(statement, 2, envelope, bytes);
    }
    result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    return result == 0 && key ? sbx_store_blob_keep(store, key) : result;
}

/* Store which stalls of its family it overlapped with, and which processes its threads waited for. */
static int add_kin(struct sbx_store *store, int64_t seq, const struct sbx_stall *stall)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, ADD_KIN);
    const uint8_t *family = stall->family.is_worker ? stall->family.id : stall->session_id;
    sbx_bind_integer(statement, 1, seq);
    sbx_bind_blob(statement, 2, family, SBX_ID_BYTES);
    sbx_bind_integer(statement, 3, (int64_t)stall->family.moment);
    int result = sbx_store_step(statement);
    for (uint32_t i = 0; i < stall->process_count && result == 0; i++) {
        if (!stall->processes[i].is_recorded)
            continue;
        statement = sbx_store_handle_use(&store->writer, ADD_KIN_HOLDER);
        sbx_bind_integer(statement, 1, seq);
        sbx_bind_blob(statement, 2, stall->processes[i].session_id, SBX_ID_BYTES);
        result = sbx_store_step(statement);
    }
    return result;
}

/* Limit the weight that a payload claims. A payload is untrusted, and every sum uses its weight; the variance uses its
 * chance squared. */
static uint32_t bounded(uint32_t claimed)
{
    return claimed < WEIGHT_MAX ? claimed : WEIGHT_MAX;
}

/* Bind the hashes of its process and its machine, which the sums use. */
static int bind_hashes(struct sbx_statement *statement, const struct sbx_stall *stall)
{
    int64_t process = 0, machine = 0;
    int result = sbx_machine_hash(stall->session_id, &process);
    machine = process;
    if (result == 0 && stall->has_rotating_id)
        result = sbx_machine_hash(stall->rotating_id, &machine);
    sbx_bind_integer(statement, 15, process);
    sbx_bind_integer(statement, 16, machine);
    return result;
}

/* `key`: where its bytes are stored outside; NULL: store them here. */
static int add_payload(struct sbx_store *store, const struct sbx_stall *stall, const void *envelope, size_t bytes,
                       int64_t received_ms, const char *key)
{
    char build_id[2 * sizeof(stall->app_build_id) + 1], version[40] = "";
    sbx_hex_print(stall->app_build_id, stall->app_build_id_bytes, build_id);
    if (stall->app_version[0] || stall->app_version[1] || stall->app_version[2])
        snprintf(version, sizeof(version), "%u.%u.%u", stall->app_version[0], stall->app_version[1],
                 stall->app_version[2]);

    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, ADD_BUILD);
    sbx_bind_text(statement, 1, version);
    sbx_bind_text(statement, 2, build_id);
    sbx_bind_integer(statement, 3, sbx_version_rank(version));
    sbx_bind_integer(statement, 4, (int64_t)sbx_stall_tenant(stall));
    int result = sbx_store_step(statement);
    if (result < 0)
        return result;
    statement = sbx_store_handle_use(&store->writer, ADD_SNAPSHOT);
    sbx_bind_blob(statement, 1, stall->payload_id, SBX_ID_BYTES);
    sbx_bind_integer(statement, 2, received_ms);
    sbx_bind_integer(statement, 3, stall->created_day);
    sbx_bind_integer(statement, 4, (int64_t)bytes);
    sbx_bind_blob(statement, 5, stall->session_id, SBX_ID_BYTES);
    sbx_bind_text(statement, 6, build_id);
    sbx_bind_text(statement, 7, version);
    sbx_bind_text(statement, 8, sbx_trigger_name(stall->trigger.kind));
    sbx_bind_integer(statement, 9, duration_of(stall));
    sbx_bind_integer(statement, 10, stall->trigger.threshold_ms);
    sbx_bind_integer(statement, 11, bounded(stall->sampling.weight));
    sbx_bind_integer(statement, 12, bounded(stall->sampling.one_in));
    if (duration_of(stall) > 0)
        sbx_bind_integer(statement, 13, sbx_duration_bucket(duration_of(stall)));
    sbx_bind_integer(statement, 14, (int64_t)sbx_stall_tenant(stall));
    result = bind_hashes(statement, stall);
    if (result == 0)
        result = sbx_store_step(statement);
    if (result < 0)
        return result;

    int64_t seq = sbx_sql_last_id(sbx_store_handle_db(&store->writer));
    sbx_statement_clear(statement); /* `build_id` and `version` are valid only in this call */
    result = add_bytes(store, seq, envelope, bytes, key);
    if (result == 0 && stall->has_rotating_id) {
        statement = sbx_store_handle_use(&store->writer, ADD_ROTATING);
        sbx_bind_integer(statement, 1, seq);
        sbx_bind_blob(statement, 2, stall->rotating_id, SBX_ROTATING_ID_BYTES);
        result = sbx_store_step(statement);
    }
    if (result == 0 && stall->family.moment != 0)
        result = add_kin(store, seq, stall);
    return result == 0 ? complete(store, stall->payload_id) : result;
}

/* Store how a stall ended; the first report counts. Then complete the stall if it is there. The writer's transaction is
 * open. */
static int add_end(struct sbx_store *store, const struct sbx_stall *end, int64_t received_ms,
                   enum sbx_stored *stored_out)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, FIND_END);
    sbx_bind_blob(statement, 1, end->completes, SBX_ID_BYTES);
    int result = sbx_store_step(statement);
    sbx_statement_reset(statement);
    *stored_out = result > 0 ? SBX_STORED_BEFORE : SBX_STORED_NEW;
    if (result != 0)
        return result < 0 ? result : 0;
    statement = sbx_store_handle_use(&store->writer, ADD_END);
    sbx_bind_blob(statement, 1, end->completes, SBX_ID_BYTES);
    sbx_bind_blob(statement, 2, end->payload_id, SBX_ID_BYTES);
    sbx_bind_blob(statement, 3, end->session_id, SBX_ID_BYTES);
    sbx_bind_integer(statement, 4, end->end.how);
    sbx_bind_integer(statement, 5, end->end.signal);
    sbx_bind_integer(statement, 6, end->end.duration_ns);
    sbx_bind_integer(statement, 7, received_ms);
    if (end->has_rotating_id)
        sbx_bind_blob(statement, 8, end->rotating_id, SBX_ROTATING_ID_BYTES);
    result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    return result == 0 ? complete(store, end->completes) : result;
}

/* Did its machine ask for erasure? 1, 0 or -errno. The writer's lock is held. */
static int is_erased(struct sbx_store *store, const struct sbx_stall *stall)
{
    if (!stall->has_rotating_id)
        return 0;
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, IS_ERASED);
    sbx_bind_blob(statement, 1, stall->rotating_id, SBX_ROTATING_ID_BYTES);
    int result = sbx_store_step(statement);
    sbx_statement_reset(statement);
    return result;
}

int sbx_store_find(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], int64_t *seq_out, int *attempts_out,
                   int64_t *place_out)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, FIND_SNAPSHOT);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    int row = sbx_store_step(statement);
    if (row <= 0)
        return row < 0 ? row : -ENOENT;
    *seq_out = sbx_column_integer(statement, 0);
    if (place_out)
        *place_out = sbx_column_integer(statement, 1);
    if (attempts_out)
        *attempts_out = (int)sbx_column_integer(statement, 2);
    sbx_statement_reset(statement);
    return 0;
}

/* Is the payload known, or must it not be kept? Then returns 0, and *stored_out tells which. Returns 1 when it is to be
 * added, or -errno. The writer's transaction is open. */
static int look(struct sbx_store *store, const struct sbx_stall *stall, const void *envelope, size_t bytes,
                enum sbx_stored *stored_out)
{
    int64_t seq;
    int result = sbx_store_find(store, stall->payload_id, &seq, NULL, NULL);
    if (result == 0)
        return compare_payload(store, seq, envelope, bytes, stored_out);
    if (result != -ENOENT)
        return result;
    result = is_erased(store, stall);
    *stored_out = result > 0 ? SBX_STORED_BEFORE : SBX_STORED_NEW; /* BEFORE, so that the sender does not try again */
    return result > 0 ? 0 : result < 0 ? result : 1;
}

/* Look, and add the payload when it is new: `key` as for add_payload(). When `owed_out` is given, only make a key and
 * its debt. */
static int take(struct sbx_store *store, const struct sbx_stall *stall, const void *envelope, size_t bytes,
                int64_t received_ms, const char *key, char *owed_out, enum sbx_stored *stored_out)
{
    sbx_store_handle_lock(&store->writer);
    /* A stall and its end may reach two servers at the same moment; one of the two must see the other. */
    int result = sbx_stall_is_end(stall) ? sbx_store_handle_begin_alone(&store->writer)
                                         : sbx_store_handle_begin_intake(&store->writer, sbx_stall_tenant(stall));
    if (result == 0) {
        int is_new = result = look(store, stall, envelope, bytes, stored_out);
        if (is_new == 1 && sbx_stall_is_end(stall))
            result = add_end(store, stall, received_ms, stored_out);
        else if (is_new == 1 && owed_out)
            result = sbx_store_blob_owe(store, stall->payload_id, owed_out);
        else if (is_new == 1)
            result = add_payload(store, stall, envelope, bytes, received_ms, key);
        else if (result == 0 && key) /* another post of the same bytes was faster */
            result = sbx_store_blob_drop(store, key);
        result = sbx_store_handle_end(&store->writer, result);
    }
    sbx_store_handle_unlock(&store->writer);
    return result;
}

int sbx_store_put(struct sbx_store *store, const struct sbx_stall *stall, const void *envelope, size_t bytes,
                  int64_t received_ms, enum sbx_stored *stored_out)
{
    char key[SBX_BLOB_KEY_BYTES] = "";
    bool is_outside = store->blobs && !sbx_stall_is_end(stall);
    int result = take(store, stall, envelope, bytes, received_ms, NULL, is_outside ? key : NULL, stored_out);
    if (result < 0 || !*key)
        return result;
    result = sbx_store_blob_put(store, key, envelope, bytes); /* after a failure, the debt is settled within hours */
    return result < 0 ? result : take(store, stall, envelope, bytes, received_ms, key, NULL, stored_out);
}

/* ---- triage's side ---- */

/* Change a row's count of attempts, if that is below `attempts_limit`. */
static int count_attempt(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], enum writer_statement change,
                         int attempts_limit)
{
    int64_t seq;
    int attempts;
    sbx_store_handle_lock(&store->writer);
    int result = sbx_store_find(store, id, &seq, &attempts, NULL);
    if (result == 0 && attempts >= attempts_limit)
        result = -EDEADLK;
    if (result == 0) {
        struct sbx_statement *statement = sbx_store_handle_use(&store->writer, change);
        sbx_bind_integer(statement, 1, seq);
        result = sbx_store_step(statement);
    }
    sbx_store_handle_unlock(&store->writer);
    return result;
}

int sbx_store_begin_triage(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES])
{
    return count_attempt(store, id, BEGIN_TRIAGE, SBX_TRIAGE_ATTEMPTS_MAX);
}

int sbx_store_put_off_triage(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES])
{
    return count_attempt(store, id, PUT_OFF_TRIAGE, INT_MAX);
}

static int set_verdict(struct sbx_store *store, int64_t seq, const struct sbx_verdict_row *verdict)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, SET_VERDICT);
    sbx_bind_integer(statement, 1, seq);
    sbx_bind_text(statement, 2, store->version);
    sbx_bind_text(statement, 4, verdict->app);
    sbx_bind_text(statement, 5, verdict->cause);
    sbx_bind_text(statement, 6, verdict->class_);
    sbx_bind_text(statement, 7, verdict->function);
    sbx_bind_text(statement, 8, verdict->module);
    sbx_bind_text(statement, 9, verdict->headline);
    sbx_bind_real(statement, 10, verdict->confidence);
    sbx_bind_integer(statement, 11, (int64_t)verdict->tenant);
    int result = sbx_store_step(statement);
    sbx_statement_clear(statement); /* the caller owns the strings */
    return result;
}

/* The application and the day of a stall, from its row. The verdict is not used for this, because a worker made it from
 * untrusted input. 0: no application, or no such stall. */
static int read_turn(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], uint64_t *app_out, int64_t *day_out)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, FIND_APP);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    int result = sbx_store_step(statement);
    *app_out = result > 0 ? (uint64_t)sbx_column_integer(statement, 0) : 0;
    *day_out = result > 0 ? sbx_column_integer(statement, 1) : 0;
    sbx_statement_reset(statement);
    return result < 0 ? result : 0;
}

int sbx_store_put_verdict(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES],
                          const struct sbx_verdict_row *verdict)
{
    uint64_t app;
    int64_t day, seq, old_place, place = 0;
    bool lacks_less = false, stays = false;
    sbx_store_handle_lock(&store->writer);
    /* The commit need not be synced: when a power cut loses a verdict, the payload waits for triage again. */
    int result = read_turn(store, id, &app, &day);
    if (result == 0)
        result = sbx_store_open_day(store, day);
    if (result == 0)
        result = sbx_store_handle_begin_unhurried(&store->writer, app);
    if (result < 0)
        goto unlock;
    result = sbx_store_find(store, id, &seq, NULL, &old_place);
    if (result == 0 && old_place != 0)
        result = sbx_store_is_summed_as(store, seq, verdict, &stays);
    if (result == 0 && !stays)
        result = sbx_store_leave_place(store, seq, old_place);
    if (result == 0)
        result = set_verdict(store, seq, verdict);
    if (result == 0)
        result = sbx_store_put_gaps(store, seq, verdict, &lacks_less);
    if (result == 0 && stays)
        result = sbx_store_stay_in_place(store, seq, place = old_place, verdict);
    if (result == 0 && !stays)
        result = sbx_store_enter_place(store, seq, verdict, old_place, &place);
    if (result == 0 && old_place != 0 && place != old_place)
        result = sbx_store_note_place(store, seq, old_place, place, lacks_less);
    if (result == 0 && place != old_place)
        result = sbx_store_settle_place(store, old_place, place);
    result = sbx_store_handle_end(&store->writer, result);
unlock:
    sbx_store_handle_unlock(&store->writer);
    return result;
}

int sbx_store_put_failure(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], const char *reason)
{
    int64_t seq;
    sbx_store_handle_lock(&store->writer);
    int result = sbx_store_find(store, id, &seq, NULL, NULL);
    if (result == 0) {
        struct sbx_statement *statement = sbx_store_handle_use(&store->writer, SET_FAILURE);
        sbx_bind_integer(statement, 1, seq);
        sbx_bind_text(statement, 2, store->version);
        sbx_bind_text(statement, 3, reason);
        result = sbx_store_step(statement);
        sbx_statement_clear(statement);
    }
    sbx_store_handle_unlock(&store->writer);
    return result;
}
