/* SPDX-License-Identifier: Apache-2.0 */
/* store_sums.c - adds stalls to the sums, and subtracts them.
 *
 * Nothing is ever counted again. A stall adds some twenty rows to the sums of its place, day and build, the same to
 * those of its application and of all days, and the same rows with the other sign when it is removed or judged again.
 * So a stall costs the same in an issue of ten stalls and of a million. The first, the last and the longest stall
 * cannot be subtracted; each is at one end of an index. */
#include <errno.h>
#include <string.h>

#include "json_document.h"
#include "stable_name.h"
#include "store_inside.h"

/* Run a statement with (?1 integer, ?2 integer) that returns no row. */
static int run(struct sbx_store *store, enum writer_statement index, int64_t first, int64_t second)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, index);
    sbx_bind_integer(statement, 1, first);
    if (sbx_statement_parameters(statement) > 1)
        sbx_bind_integer(statement, 2, second);
    return sbx_store_step(statement);
}

static int read_day(struct sbx_store *store, int64_t seq, int64_t *day_out)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, READ_DAY);
    sbx_bind_integer(statement, 1, seq);
    int result = sbx_store_step(statement);
    *day_out = result > 0 ? sbx_column_integer(statement, 0) : -1;
    sbx_statement_reset(statement);
    return result < 0 ? result : 0;
}

/* Delete rows that became zero. */
static int drop_sums(struct sbx_store *store, int64_t seq)
{
    static const enum writer_statement dropping[] = {DROP_MET_DAY, DROP_MET, DROP_LABELS, DROP_SPREAD, DROP_FACT};
    int64_t day;
    int result = read_day(store, seq, &day);
    for (size_t i = 0; i < sizeof(dropping) / sizeof(dropping[0]) && result == 0; i++)
        result = run(store, dropping[i], seq, day);
    return result;
}

int sbx_store_sum(struct sbx_store *store, int64_t seq, int sign)
{
    /* The fact must exist before machines are counted in it, and is removed after them. */
    static const enum writer_statement adding[] = {ADD_FACT, ADD_SPREAD,  ADD_LABELS,
                                                   ADD_MET,  ADD_MET_DAY, ADD_TO_PLACE};
    int result = 0;
    for (size_t i = 0; i < sizeof(adding) / sizeof(adding[0]) && result == 0; i++)
        result = run(store, adding[i], seq, sign);
    return result == 0 && sign < 0 ? drop_sums(store, seq) : result;
}

int sbx_store_leave_place(struct sbx_store *store, int64_t seq, int64_t place)
{
    if (place == 0)
        return 0;
    int result = sbx_store_sum(store, seq, -1);
    if (result == 0)
        result = run(store, DROP_SAID, seq, 0);
    return result == 0 ? run(store, LEAVE_PLACE, seq, 0) : result;
}

/* ---- places ---- */

struct place {
    int64_t hits, issue, places; /* places: number of places of its issue */
    bool is_touched;             /* a person changed its issue */
    bool is_namesake;            /* its issue has the same id */
    uint8_t issue_id[SBX_ID_BYTES];
};

static int read_place(struct sbx_store *store, int64_t num, struct place *place_out)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, READ_PLACE);
    sbx_bind_integer(statement, 1, num);
    int result = sbx_store_step(statement);
    if (result <= 0)
        return result < 0 ? result : -ENOENT;
    *place_out = (struct place){.hits = sbx_column_integer(statement, 0),
                                .issue = sbx_column_integer(statement, 1),
                                .is_touched = (int)sbx_column_integer(statement, 2) != 0,
                                .is_namesake = (int)sbx_column_integer(statement, 3) != 0,
                                .places = sbx_column_integer(statement, 4)};
    memcpy(place_out->issue_id, sbx_column_blob(statement, 5), SBX_ID_BYTES);
    sbx_statement_reset(statement);
    return 0;
}

/* Make a place for a new key, with its own issue. But when names came and a stall leaves an issue that a person has
 * changed, the new place belongs to that issue. */
static int make_place(struct sbx_store *store, const uint8_t *key, int64_t tenant, int64_t left, int64_t *place_out)
{
    struct place from = {0};
    int result = left != 0 ? read_place(store, left, &from) : 0;
    int64_t issue = from.is_touched ? from.issue : 0;
    if (result == 0 && issue == 0) {
        /* the address belongs to an issue again */
        struct sbx_statement *statement = sbx_store_handle_use(&store->writer, DROP_ALIAS);
        sbx_bind_blob(statement, 1, key, SBX_ID_BYTES);
        result = sbx_store_step(statement);
        sbx_statement_clear(statement);
        if (result == 0) {
            statement = sbx_store_handle_use(&store->writer, ADD_ISSUE);
            sbx_bind_blob(statement, 1, key, SBX_ID_BYTES);
            sbx_bind_integer(statement, 2, 0);
            result = sbx_store_step(statement);
            sbx_statement_clear(statement);
            issue = sbx_sql_last_id(sbx_store_handle_db(&store->writer));
        }
    }
    if (result < 0)
        return result;
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, ADD_PLACE);
    sbx_bind_blob(statement, 1, key, SBX_ID_BYTES);
    sbx_bind_integer(statement, 2, issue);
    sbx_bind_integer(statement, 3, tenant);
    result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    *place_out = sbx_sql_last_id(sbx_store_handle_db(&store->writer));
    return result;
}

/* *is_foreign_out: it belongs to another application. */
static int look_for_place(struct sbx_store *store, const uint8_t *key, int64_t tenant, int64_t *place_out,
                          bool *is_foreign_out)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, FIND_PLACE);
    sbx_bind_blob(statement, 1, key, SBX_ID_BYTES);
    int result = sbx_store_step(statement);
    *is_foreign_out = result > 0 && !sbx_column_is_null(statement, 2) && sbx_column_integer(statement, 2) != tenant;
    if (result > 0)
        *place_out = sbx_column_integer(statement, 0);
    sbx_statement_reset(statement);
    sbx_statement_clear(statement);
    return result;
}

/* Find the place of a key. Keys of two applications differ, because they contain the name of the application. But a
 * worker makes the key from untrusted input, so it may claim a place of another application; such stalls get a place of
 * their own. */
static int find_place(struct sbx_store *store, const uint8_t *key, int64_t tenant, int64_t left, int64_t *place_out)
{
    uint8_t own_key[SBX_ID_BYTES];
    bool is_foreign;
    int result = look_for_place(store, key, tenant, place_out, &is_foreign);
    if (result > 0 && is_foreign) {
        for (size_t i = 0; i < SBX_ID_BYTES; i++)
            own_key[i] = (uint8_t)(key[i] ^ 0xa5 ^ (uint64_t)tenant >> i % 8 * 8);
        key = own_key;
        result = look_for_place(store, key, tenant, place_out, &is_foreign);
        if (result > 0 && is_foreign)
            return -EPROTO;
    }
    return result != 0 ? (result < 0 ? result : 0) : make_place(store, key, tenant, left, place_out);
}

/* Read the application of a stall. */
static int read_tenant(struct sbx_store *store, int64_t seq, int64_t *tenant_out)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, READ_TENANT);
    sbx_bind_integer(statement, 1, seq);
    int result = sbx_store_step(statement);
    *tenant_out = result > 0 ? sbx_column_integer(statement, 0) : 0;
    sbx_statement_reset(statement);
    return result > 0 ? 0 : result < 0 ? result : -ENOENT;
}

/* Write all labels as one value, each as "KKUUUUUUUUUUUUUUUUUUUWORD": two digits of the kind and nineteen of the
 * time. */
static void write_said(const struct sbx_verdict_row *verdict, struct sbx_document *list_out)
{
    *list_out = (struct sbx_document){0};
    sbx_document_open(list_out, NULL, '[');
    for (size_t i = 0; i < verdict->said_count; i++) {
        const struct sbx_said_row *said = &verdict->said[i];
        struct sbx_byte_buffer text = {0};
        if (said->word[0] == '\0')
            continue;
        sbx_byte_buffer_format(&text, "%02d%019lld%s", said->kind, (long long)(said->us > 0 ? said->us : 0),
                               said->word);
        list_out->text.failed |= text.failed;
        sbx_document_string(list_out, NULL, text.failed ? "" : text.data);
        sbx_byte_buffer_finish(&text);
    }
    sbx_document_close(list_out, ']');
}

static int add_said(struct sbx_store *store, int64_t seq, int64_t tenant, const struct sbx_verdict_row *verdict)
{
    struct sbx_document list;
    write_said(verdict, &list);
    int result = list.text.failed ? -ENOMEM : 0;
    for (int step = 0; step < 2 && result == 0; step++) {
        struct sbx_statement *statement = sbx_store_handle_use(&store->writer, step == 0 ? ADD_WORDS : ADD_SAID);
        sbx_bind_integer(statement, 1, step == 0 ? tenant : seq);
        sbx_bind_text(statement, 2, list.text.data);
        if (step == 1)
            sbx_bind_integer(statement, 3, tenant);
        result = sbx_store_step(statement);
        sbx_statement_clear(statement);
    }
    sbx_byte_buffer_finish(&list.text);
    return result;
}

static int put_profile(struct sbx_store *store, int64_t seq, const char *profile)
{
    if (!profile || !*profile)
        return run(store, DROP_PROFILE, seq, 0);
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, ADD_PROFILE);
    sbx_bind_integer(statement, 1, seq);
    sbx_bind_text(statement, 2, profile);
    int result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    return result;
}

static int name_place(struct sbx_store *store, int64_t place, int64_t tenant, const struct sbx_verdict_row *verdict)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, NAME_PLACE);
    sbx_bind_integer(statement, 1, place);
    sbx_bind_text(statement, 2, verdict->path ? verdict->path : "");
    sbx_bind_integer(statement, 3, verdict->rules);
    sbx_bind_integer(statement, 4, tenant);
    int result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    return result;
}

int sbx_store_enter_place(struct sbx_store *store, int64_t seq, const struct sbx_verdict_row *verdict, int64_t left,
                          int64_t *place_out)
{
    int64_t tenant;
    int result = read_tenant(store, seq, &tenant);
    if (result == 0)
        result = find_place(store, verdict->key, tenant, left, place_out);
    if (result == 0)
        result = name_place(store, *place_out, tenant, verdict);
    if (result == 0)
        result = add_said(store, seq, tenant, verdict);
    if (result == 0)
        result = put_profile(store, seq, verdict->profile);
    if (result == 0)
        result = run(store, ADD_APP, seq, 0);
    if (result == 0)
        result = run(store, SET_PLACE, seq, *place_out);
    if (result == 0)
        result = sbx_store_sum(store, seq, 1);
    if (result == 0)
        result = run(store, RENEW_PLACE, *place_out, 0);
    return result == 0 ? run(store, WAKE_ISSUE, seq, 0) : result;
}

/* ---- the same verdict again ---- */

/* Of several labels with the same kind and word, the first counts. */
static const struct sbx_said_row *find_said(const struct sbx_verdict_row *verdict, int64_t kind, const char *word)
{
    for (size_t i = 0; i < verdict->said_count; i++)
        if (verdict->said[i].kind == kind && strcmp(verdict->said[i].word, word) == 0)
            return &verdict->said[i];
    return NULL;
}

static size_t count_said(const struct sbx_verdict_row *verdict)
{
    size_t count = 0;
    for (size_t i = 0; i < verdict->said_count; i++) {
        const struct sbx_said_row *said = &verdict->said[i];
        count += said->word[0] != '\0' && find_said(verdict, said->kind, said->word) == said;
    }
    return count;
}

static int says_the_same(struct sbx_store *store, int64_t seq, const struct sbx_verdict_row *verdict, bool *same_out)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, READ_SAID);
    char word[2 * SBX_STABLE_NAME_BYTES + 64]; /* a longer word never compares as equal */
    size_t count = 0;
    int result;
    *same_out = true;
    sbx_bind_integer(statement, 1, seq);
    while ((result = sbx_store_step(statement)) > 0) {
        sbx_store_column_text(statement, 2, word, sizeof(word));
        const struct sbx_said_row *said = find_said(verdict, sbx_column_integer(statement, 0), word);
        *same_out &= said && said->us == sbx_column_integer(statement, 1);
        count++;
    }
    *same_out &= count == count_said(verdict);
    return result;
}

static int was_there(struct sbx_store *store, int64_t seq, const struct sbx_verdict_row *verdict, bool *same_out)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, READ_WAS);
    sbx_bind_integer(statement, 1, seq);
    int result = sbx_store_step(statement);
    char app[256] = "";
    if (result > 0)
        sbx_store_column_text(statement, 0, app, sizeof(app));
    *same_out = result > 0 && strcmp(app, verdict->app) == 0 && sbx_column_bytes(statement, 1) == SBX_ID_BYTES &&
                memcmp(sbx_column_blob(statement, 1), verdict->key, SBX_ID_BYTES) == 0;
    sbx_statement_reset(statement);
    return result < 0 ? result : 0;
}

int sbx_store_is_summed_as(struct sbx_store *store, int64_t seq, const struct sbx_verdict_row *verdict, bool *same_out)
{
    int result = was_there(store, seq, verdict, same_out);
    return result == 0 && *same_out ? says_the_same(store, seq, verdict, same_out) : result;
}

int sbx_store_stay_in_place(struct sbx_store *store, int64_t seq, int64_t place, const struct sbx_verdict_row *verdict)
{
    int64_t tenant;
    int result = read_tenant(store, seq, &tenant);
    if (result == 0)
        result = name_place(store, place, tenant, verdict);
    return result == 0 ? put_profile(store, seq, verdict->profile) : result;
}

/* ---- what becomes of issues ---- */

static int add_alias(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], int64_t issue)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, ADD_ALIAS);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    sbx_bind_integer(statement, 2, issue);
    int result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    return result;
}

int sbx_store_join_issues(struct sbx_store *store, int64_t from, const uint8_t from_id[SBX_ID_BYTES], int64_t into)
{
    int result = run(store, MOVE_PLACES, from, into);
    if (result == 0)
        result = run(store, MOVE_ALIASES, from, into);
    if (result == 0)
        result = add_alias(store, from_id, into);
    return result == 0 ? run(store, DROP_ISSUE, from, 0) : result;
}

int sbx_store_settle_place(struct sbx_store *store, int64_t num, int64_t moved_to)
{
    struct place place, to = {0};
    if (num == 0)
        return 0;
    int result = run(store, RENEW_PLACE, num, 0);
    if (result == 0)
        result = read_place(store, num, &place);
    if (result == 0 && moved_to != 0)
        result = read_place(store, moved_to, &to);
    if (result < 0 || place.hits > 0)
        return result;
    if (place.is_touched) { /* the changes of a person stay with the issue that has its stalls now */
        bool is_taken = to.issue != 0 && to.issue != place.issue && !to.is_touched && to.places == 1;
        return is_taken ? sbx_store_join_issues(store, to.issue, to.issue_id, place.issue) : 0;
    }
    result = run(store, DROP_PLACE, num, 0);
    if (result < 0 || place.places > 1)
        return result;
    if (to.issue != 0 && to.issue != place.issue) /* the issue has no other places, so only its addresses move */
        return sbx_store_join_issues(store, place.issue, place.issue_id, to.issue);
    result = run(store, DROP_ALIASES, place.issue, 0);
    return result == 0 ? run(store, DROP_ISSUE, place.issue, 0) : result;
}
