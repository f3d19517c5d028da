/* SPDX-License-Identifier: Apache-2.0 */
/* sql_postgres.c - PostgreSQL behind sql.h, by libpq.
 *
 * A statement is prepared at its first step, because the types of its parameters are known only when they are bound.
 * All its rows are fetched at once.
 *
 * Within a transaction, a statement without rows is sent without waiting for its answer. A verdict has some fifty of
 * them, and each would wait for the network while other transactions of the application wait for their turn. A failure
 * of such a statement is reported by the next statement that returns rows, or by the commit.
 *
 * A lost connection is opened again at the next begin, or at the next statement outside of a transaction. The
 * transaction that was open has failed, and the caller tells its client to try later. */
#include <errno.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql.h"
#include "sql_postgres.h"
#include "sql_translate.h"

enum {
    PARAMETERS_MAX = 20,
    SENT_MAX = 200,  /* statements sent without waiting; their answers must fit into the socket buffers */
    TYPE_BYTEA = 17, /* numbers of pg_type, which never change */
    TYPE_INT8 = 20,
    TYPE_TEXT = 25,
    TYPE_JSON = 114,
    TYPE_FLOAT8 = 701,
};

/* Advisory locks, held until the transaction ends. Sums belong to one application. A transaction that changes them
 * takes the lock of all sums (SUMS) shared, and the lock of its application exclusively. An incoming payload takes the
 * INTAKE lock shared, and never takes SUMS. A transaction that waits for INTAKE already holds SUMS exclusively. So
 * there is no deadlock. */
#define SUMS_LOCK        "SELECT pg_advisory_xact_lock(1396854833)"
#define SUMS_OF_APP_LOCK "SELECT pg_advisory_xact_lock_shared(1396854833); SELECT pg_advisory_xact_lock(1396854837, %d)"
#define ALONE_LOCK       SUMS_LOCK "; SELECT pg_advisory_xact_lock(1396854835)"
#define INTAKE_LOCK      "SELECT pg_advisory_xact_lock_shared(1396854835); SELECT pg_advisory_xact_lock(1396854836, %d)"
enum {
    BEGIN_BYTES = 256 /* of the text that begins a transaction */
};

struct connection {
    struct sbx_sql sql;
    PGconn *pg;
    char *setup;
    unsigned generation, statements; /* counters: connections so far; names of statements */
    int64_t changes;
    bool is_in_transaction;
    unsigned sent; /* statements of the transaction that are sent and not waited for */
    int failed; /* -errno of the first statement whose answer came later, until the transaction ends; 0: none failed */
};

struct value {
    Oid type; /* 0: NULL */
    const char *text;
    int bytes, is_binary;
    char number[32];
};

struct statement {
    struct sbx_statement statement;
    struct connection *connection;
    char *text, name[24];
    bool gives_rows;
    int count;
    uint32_t used; /* parameters in the text: one bit each, by number */
    struct value values[PARAMETERS_MAX];
    Oid prepared[PARAMETERS_MAX];
    unsigned generation; /* generation of its connection plus one; 0: not prepared */
    PGresult *result;    /* NULL: not stepped */
    int row;
    struct {
        unsigned char *bytes;
        size_t count;
    } blobs[4]; /* decoded for this row; a column's place is its number modulo 4 */
    int blob_columns[4];
};

static int errno_of_state(const char *state)
{
    if (!state)
        return -EIO;
    if (strcmp(state, "53100") == 0)
        return -ENOSPC;
    if (strcmp(state, "53200") == 0)
        return -ENOMEM;
    if (strcmp(state, "40001") == 0 || strcmp(state, "40P01") == 0 || strncmp(state, "55P", 3) == 0)
        return -EBUSY;
    if (strcmp(state, "42501") == 0 || strncmp(state, "25006", 5) == 0)
        return -EACCES;
    return -EIO;
}

static int result_of(struct connection *connection, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
        connection->changes = strtoll(PQcmdTuples(result), NULL, 10);
        return 0;
    }
    return errno_of_state(PQresultErrorField(result, PG_DIAG_SQLSTATE));
}

/* ---- connections ---- */

static int run(struct connection *connection, const char *text)
{
    PGresult *result = PQexec(connection->pg, text);
    int outcome = result_of(connection, result);
    PQclear(result);
    return outcome;
}

/* Wait for all that was sent. *last_out (given: PQclear; may be NULL) is the last result. Returns 0, or the error of
 * the first statement of the transaction that failed. */
static int settle(struct connection *connection, PGresult **last_out)
{
    if (connection->sent == 0)
        return connection->failed;
    (void)PQpipelineSync(connection->pg); /* without a connection there are no results either */
    for (; connection->sent > 0; connection->sent--) {
        PGresult *result = PQgetResult(connection->pg);
        int outcome = result_of(connection, result);
        if (connection->failed == 0)
            connection->failed = outcome;
        if (connection->sent == 1 && last_out)
            *last_out = result;
        else
            PQclear(result);
        PQclear(PQgetResult(connection->pg)); /* the NULL that ends this result */
    }
    PQclear(PQgetResult(connection->pg)); /* the result of the synchronization */
    (void)PQexitPipelineMode(connection->pg);
    return connection->failed;
}

/* Call this before sending a statement without waiting. */
static int begin_sending(struct connection *connection)
{
    int result = connection->sent < SENT_MAX ? connection->failed : settle(connection, NULL);
    if (result == 0 && connection->sent == 0 && !PQenterPipelineMode(connection->pg))
        result = -EIO;
    return result;
}

/* Call this after it. */
static int end_sending(struct connection *connection, bool is_sent)
{
    connection->sent += is_sent;
    if (!is_sent && connection->sent == 0)
        (void)PQexitPipelineMode(connection->pg);
    return is_sent ? 0 : -EIO;
}

static int send_text(struct connection *connection, const char *text)
{
    int result = begin_sending(connection);
    if (result < 0)
        return result;
    return end_sending(connection, PQsendQueryParams(connection->pg, text, 0, NULL, NULL, NULL, NULL, 0));
}

/* Open the connection again when it is lost. */
static int keep_up(struct connection *connection)
{
    if (PQstatus(connection->pg) == CONNECTION_OK || connection->is_in_transaction)
        return PQstatus(connection->pg) == CONNECTION_OK ? 0 : -EIO;
    PQreset(connection->pg);
    connection->generation++;
    return PQstatus(connection->pg) == CONNECTION_OK ? run(connection, connection->setup) : -EIO;
}

/* A lost connection is noticed when it is used. Outside of a transaction no work is lost, so it can be opened again. */
static bool is_lost(const struct connection *connection)
{
    return PQstatus(connection->pg) != CONNECTION_OK && !connection->is_in_transaction;
}

static void close_connection(struct sbx_sql *sql)
{
    struct connection *connection = (struct connection *)sql;
    PQfinish(connection->pg);
    free(connection->setup);
    free(connection);
}

static int execute(struct sbx_sql *sql, const char *text)
{
    struct connection *connection = (struct connection *)sql;
    int result = keep_up(connection);
    if (result == 0)
        result = settle(connection, NULL);
    return result == 0 ? run(connection, text) : result;
}

/* The text that begins a transaction and takes its locks. An application's number has 64 bits, but the second number of
 * a lock has 32; two applications with the same 32 bits wait for each other. */
static void write_begin(enum sbx_sql_turn turn, uint64_t app, bool is_unhurried, char text_out[BEGIN_BYTES])
{
    const char *words = is_unhurried ? "BEGIN; SET LOCAL synchronous_commit = off; " : "BEGIN; ";
    int number = (int)(int32_t)(uint32_t)(app ^ app >> 32);
    int used = snprintf(text_out, BEGIN_BYTES, "%s", words);
    if (turn == SBX_TURN_INTAKE)
        snprintf(text_out + used, (size_t)(BEGIN_BYTES - used), INTAKE_LOCK, number);
    else if (turn == SBX_TURN_SUMS && app != 0)
        snprintf(text_out + used, (size_t)(BEGIN_BYTES - used), SUMS_OF_APP_LOCK, number);
    else
        snprintf(text_out + used, (size_t)(BEGIN_BYTES - used), "%s", turn == SBX_TURN_ALONE ? ALONE_LOCK : SUMS_LOCK);
}

static int begin(struct sbx_sql *sql, enum sbx_sql_turn turn, uint64_t app, bool is_unhurried)
{
    struct connection *connection = (struct connection *)sql;
    char text[BEGIN_BYTES];
    write_begin(turn, app, is_unhurried, text);
    int result = keep_up(connection);
    if (result == 0)
        result = run(connection, text);
    if (result < 0 && is_lost(connection) && (result = keep_up(connection)) == 0)
        result = run(connection, text);
    if (result < 0 && PQtransactionStatus(connection->pg) != PQTRANS_IDLE) /* the transaction began, but got no lock */
        run(connection, "ROLLBACK");
    connection->is_in_transaction = result == 0;
    return result;
}

static void end(struct connection *connection)
{
    connection->is_in_transaction = false;
    connection->failed = 0;
}

static int commit(struct sbx_sql *sql)
{
    struct connection *connection = (struct connection *)sql;
    /* in this state COMMIT rolls back without an error */
    bool has_failed = connection->sent == 0 && PQtransactionStatus(connection->pg) == PQTRANS_INERROR;
    /* sent together with the pending statements */
    int result = connection->sent > 0 ? send_text(connection, "COMMIT") : 0;
    bool is_to_run = connection->sent == 0;
    int outcome = settle(connection, NULL);
    result = outcome < 0 ? outcome : result;
    if (is_to_run && result == 0)
        result = run(connection, "COMMIT");
    if (result < 0 && PQtransactionStatus(connection->pg) != PQTRANS_IDLE)
        run(connection, "ROLLBACK");
    end(connection);
    return has_failed && result == 0 ? -EIO : result;
}

static void roll_back(struct sbx_sql *sql)
{
    struct connection *connection = (struct connection *)sql;
    (void)settle(connection, NULL);
    if (connection->is_in_transaction)
        run(connection, "ROLLBACK");
    end(connection);
}

static int64_t last_id(struct sbx_sql *sql)
{
    struct connection *connection = (struct connection *)sql;
    PGresult *result = NULL;
    if (connection->sent == 0)
        result = PQexec(connection->pg, "SELECT lastval()");
    else if (send_text(connection, "SELECT lastval()") == 0)
        (void)settle(connection, &result);
    int64_t id = PQresultStatus(result) == PGRES_TUPLES_OK ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : 0;
    PQclear(result);
    return id;
}

static int64_t changes(struct sbx_sql *sql)
{
    struct connection *connection = (struct connection *)sql;
    return settle(connection, NULL) < 0 ? 0 : connection->changes;
}

static void checkpoint(struct sbx_sql *sql, bool is_truncating)
{
    (void)sql, (void)is_truncating; /* the server's own vacuum and journal do this */
}

static const char *error(struct sbx_sql *sql)
{
    return PQerrorMessage(((struct connection *)sql)->pg);
}

/* ---- statements ---- */

static int prepare(struct sbx_sql *sql, const char *text, struct sbx_statement **statement_out)
{
    struct connection *connection = (struct connection *)sql;
    struct statement *statement = calloc(1, sizeof(*statement));
    *statement_out = NULL;
    if (!statement || !(statement->text = sbx_sql_translate(text, &statement->count, &statement->used))) {
        free(statement);
        return -ENOMEM;
    }
    statement->statement.engine = sql->engine;
    statement->connection = connection;
    statement->gives_rows =
        (strncmp(statement->text, "INSERT ", 7) != 0 && strncmp(statement->text, "UPDATE ", 7) != 0 &&
         strncmp(statement->text, "DELETE ", 7) != 0) ||
        strstr(statement->text, " RETURNING ") != NULL;
    snprintf(statement->name, sizeof(statement->name), "s%u", connection->statements++);
    *statement_out = &statement->statement;
    return statement->count < PARAMETERS_MAX ? 0 : -E2BIG;
}

static void drop_blobs(struct statement *statement)
{
    for (size_t i = 0; i < 4; i++) {
        if (statement->blobs[i].bytes)
            PQfreemem(statement->blobs[i].bytes);
        statement->blobs[i].bytes = NULL;
    }
}

static void reset(struct sbx_statement *it)
{
    struct statement *statement = (struct statement *)it;
    drop_blobs(statement);
    PQclear(statement->result);
    statement->result = NULL;
}

static void finalize(struct sbx_statement *it)
{
    struct statement *statement = (struct statement *)it;
    struct connection *connection = statement->connection;
    char command[48];
    reset(it);
    if (statement->generation == connection->generation + 1 && PQstatus(connection->pg) == CONNECTION_OK) {
        (void)settle(connection, NULL);
        int64_t changed = connection->changes;
        snprintf(command, sizeof(command), "DEALLOCATE %s", statement->name);
        PQclear(PQexec(connection->pg, command));
        connection->changes = changed;
    }
    free(statement->text);
    free(statement);
}

static void clear(struct sbx_statement *it)
{
    struct statement *statement = (struct statement *)it;
    for (int i = 0; i < statement->count; i++)
        statement->values[i].type = 0;
}

/* "$7 IS NULL" alone does not tell the type of a parameter; only ids are used so. A list is text that the statement
 * parses. */
static bool is_asked_as(const struct statement *statement, const char *before, int number, const char *after)
{
    char phrase[48];
    snprintf(phrase, sizeof(phrase), "%s$%d%s", before, number, after);
    return strstr(statement->text, phrase) != NULL;
}

static Oid type_of(const struct statement *statement, int number)
{
    Oid type = statement->values[number - 1].type;
    bool is_list = type == TYPE_TEXT && is_asked_as(statement, "json_array_elements_text(", number, ")");
    return is_list ? TYPE_JSON : type;
}

/* Prepare it for these types, on this connection. */
static int make_ready(struct statement *statement)
{
    struct connection *connection = statement->connection;
    char command[48];
    bool is_same = statement->generation == connection->generation + 1;
    for (int i = 0; i < statement->count && is_same; i++) /* a NULL fits any type */
        is_same = statement->values[i].type == 0 || statement->values[i].type == statement->prepared[i] ||
                  type_of(statement, i + 1) == statement->prepared[i];
    if (is_same)
        return 0;
    int failed = settle(connection, NULL);
    if (failed < 0)
        return failed;
    if (statement->generation == connection->generation + 1) {
        snprintf(command, sizeof(command), "DEALLOCATE %s", statement->name);
        PQclear(PQexec(connection->pg, command));
    }
    for (int i = 0; i < statement->count; i++)
        if (statement->values[i].type != 0)
            statement->prepared[i] = type_of(statement, i + 1);
        else if (!(statement->used >> (i + 1) & 1)) /* PostgreSQL needs a type for a number that the text leaves out */
            statement->prepared[i] = TYPE_INT8;
        else if (statement->prepared[i] == 0 && is_asked_as(statement, "", i + 1, " IS NULL"))
            statement->prepared[i] = TYPE_BYTEA;
    PGresult *result =
        PQprepare(connection->pg, statement->name, statement->text, statement->count, statement->prepared);
    int outcome = result_of(connection, result);
    PQclear(result);
    statement->generation = outcome == 0 ? connection->generation + 1 : 0;
    return outcome;
}

static int run_statement(struct statement *statement)
{
    const char *texts[PARAMETERS_MAX];
    int bytes[PARAMETERS_MAX], formats[PARAMETERS_MAX];
    int result = keep_up(statement->connection);
    if (result == 0)
        result = make_ready(statement);
    if (result < 0)
        return result;
    for (int i = 0; i < statement->count; i++) {
        const struct value *value = &statement->values[i];
        texts[i] = value->type == 0                                         ? NULL
                   : value->type == TYPE_INT8 || value->type == TYPE_FLOAT8 ? value->number
                                                                            : value->text;
        bytes[i] = value->bytes;
        formats[i] = value->is_binary;
    }
    struct connection *connection = statement->connection;
    statement->row = -1;
    if (!connection->is_in_transaction || (connection->sent == 0 && statement->gives_rows)) {
        statement->result = PQexecPrepared(connection->pg, statement->name, statement->count, texts, bytes, formats, 0);
        return result_of(connection, statement->result);
    }
    result = begin_sending(connection);
    if (result < 0)
        return result;
    result = end_sending(
        connection, PQsendQueryPrepared(connection->pg, statement->name, statement->count, texts, bytes, formats, 0));
    return result == 0 && statement->gives_rows ? settle(connection, &statement->result) : result;
}

static int step(struct sbx_statement *it)
{
    struct statement *statement = (struct statement *)it;
    int result = statement->result ? 0 : run_statement(statement);
    if (result < 0 && is_lost(statement->connection)) {
        reset(it);
        result = run_statement(statement);
    }
    drop_blobs(statement);
    if (result == 0 && statement->result && ++statement->row < PQntuples(statement->result))
        return 1;
    reset(it);
    return result;
}

static int parameters(struct sbx_statement *it)
{
    return ((struct statement *)it)->count;
}

static struct value *value_of(struct sbx_statement *it, int index)
{
    static struct value nowhere;
    struct statement *statement = (struct statement *)it;
    return index >= 1 && index <= statement->count ? &statement->values[index - 1] : &nowhere;
}

static void bind_integer(struct sbx_statement *it, int index, int64_t number)
{
    struct value *value = value_of(it, index);
    value->type = TYPE_INT8;
    value->is_binary = 0;
    snprintf(value->number, sizeof(value->number), "%lld", (long long)number);
}

static void bind_real(struct sbx_statement *it, int index, double number)
{
    struct value *value = value_of(it, index);
    value->type = TYPE_FLOAT8;
    value->is_binary = 0;
    snprintf(value->number, sizeof(value->number), "%.17g", number);
}

static void bind_text(struct sbx_statement *it, int index, const char *text)
{
    struct value *value = value_of(it, index);
    value->type = text ? TYPE_TEXT : 0;
    value->is_binary = 0;
    value->text = text;
}

static void bind_blob(struct sbx_statement *it, int index, const void *bytes, size_t count)
{
    struct value *value = value_of(it, index);
    value->type = bytes || count == 0 ? TYPE_BYTEA : 0;
    value->is_binary = 1;
    value->text = bytes ? bytes : "";
    value->bytes = (int)count;
}

static const char *cell(struct sbx_statement *it, int column)
{
    struct statement *statement = (struct statement *)it;
    if (!statement->result || PQgetisnull(statement->result, statement->row, column))
        return NULL;
    return PQgetvalue(statement->result, statement->row, column);
}

static bool is_null(struct sbx_statement *it, int column)
{
    return cell(it, column) == NULL;
}

static int64_t integer(struct sbx_statement *it, int column)
{
    const char *text = cell(it, column);
    return !text ? 0 : strcmp(text, "t") == 0 ? 1 : strtoll(text, NULL, 10);
}

static double real(struct sbx_statement *it, int column)
{
    const char *text = cell(it, column);
    return text ? strtod(text, NULL) : 0;
}

static const void *blob(struct sbx_statement *it, int column, size_t *count_out)
{
    struct statement *statement = (struct statement *)it;
    const char *text = cell(it, column);
    size_t place = (size_t)column % 4;
    *count_out = 0;
    if (!text)
        return NULL;
    if (PQftype(statement->result, column) != TYPE_BYTEA) {
        *count_out = strlen(text);
        return text;
    }
    if (statement->blobs[place].bytes && statement->blob_columns[place] != column) {
        PQfreemem(statement->blobs[place].bytes);
        statement->blobs[place].bytes = NULL;
    }
    if (!statement->blobs[place].bytes)
        statement->blobs[place].bytes = PQunescapeBytea((const unsigned char *)text, &statement->blobs[place].count);
    statement->blob_columns[place] = column;
    *count_out = statement->blobs[place].bytes ? statement->blobs[place].count : 0;
    return statement->blobs[place].bytes;
}

static const struct sbx_sql_engine engine = {
    .close = close_connection,
    .execute = execute,
    .begin = begin,
    .commit = commit,
    .roll_back = roll_back,
    .last_id = last_id,
    .changes = changes,
    .checkpoint = checkpoint,
    .error = error,
    .prepare = prepare,
    .finalize = finalize,
    .step = step,
    .reset = reset,
    .clear = clear,
    .parameters = parameters,
    .bind_integer = bind_integer,
    .bind_real = bind_real,
    .bind_text = bind_text,
    .bind_blob = bind_blob,
    .is_null = is_null,
    .integer = integer,
    .real = real,
    .text = cell,
    .blob = blob,
};

static void be_quiet(void *context, const char *message)
{
    (void)context, (void)message;
}

bool sbx_sql_is_postgres(const char *where)
{
    return strncmp(where, "postgresql://", 13) == 0 || strncmp(where, "postgres://", 11) == 0;
}

void sbx_sql_place(const char *where, char *place_out, size_t bytes)
{
    const char *at = strchr(where, '@'), *path = strstr(where, "://");
    const char *host = at && path && (!strchr(path + 3, '/') || at < strchr(path + 3, '/')) ? at + 1
                       : path                                                               ? path + 3
                                                                                            : where;
    snprintf(place_out, bytes, "postgresql://%.*s", (int)strcspn(host, "?"), host);
}

int sbx_sql_open_postgres(const char *url, const char *setup, struct sbx_sql **sql_out, char *why, size_t why_bytes)
{
    char place[200];
    struct connection *connection = calloc(1, sizeof(*connection));
    *sql_out = NULL;
    sbx_sql_place(url, place, sizeof(place));
    if (!connection || !(connection->setup = strdup(setup))) {
        free(connection);
        snprintf(why, why_bytes, "%s: no memory", place);
        return -ENOMEM;
    }
    connection->sql.engine = &engine;
    connection->pg = PQconnectdb(url);
    int result = PQstatus(connection->pg) == CONNECTION_OK ? 0 : -EIO;
    if (result == 0) {
        PQsetNoticeProcessor(connection->pg, be_quiet, NULL);
        result = run(connection, setup);
    }
    if (result < 0) {
        snprintf(why, why_bytes, "%s: %s", place, PQerrorMessage(connection->pg));
        why[strcspn(why, "\n")] = '\0'; /* keep one line */
        close_connection(&connection->sql);
        return result;
    }
    *sql_out = &connection->sql;
    return 0;
}
