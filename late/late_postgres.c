/* SPDX-License-Identifier: Apache-2.0 */
/* late_postgres.c - the functions of libpq that are called here (README.md). */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <libpq-fe.h>

#include "late_library.h"

static struct {
    __typeof__(&PQconnectdb) connectdb;
    __typeof__(&PQfinish) finish;
    __typeof__(&PQreset) reset;
    __typeof__(&PQstatus) status;
    __typeof__(&PQtransactionStatus) transaction_status;
    __typeof__(&PQerrorMessage) error_message;
    __typeof__(&PQsetNoticeProcessor) set_notice_processor;
    __typeof__(&PQexec) exec;
    __typeof__(&PQprepare) prepare;
    __typeof__(&PQexecPrepared) exec_prepared;
    __typeof__(&PQenterPipelineMode) enter_pipeline_mode;
    __typeof__(&PQexitPipelineMode) exit_pipeline_mode;
    __typeof__(&PQpipelineSync) pipeline_sync;
    __typeof__(&PQsendQueryParams) send_query_params;
    __typeof__(&PQsendQueryPrepared) send_query_prepared;
    __typeof__(&PQgetResult) get_result;
    __typeof__(&PQresultStatus) result_status;
    __typeof__(&PQresultErrorField) result_error_field;
    __typeof__(&PQcmdTuples) cmd_tuples;
    __typeof__(&PQntuples) ntuples;
    __typeof__(&PQftype) ftype;
    __typeof__(&PQgetisnull) getisnull;
    __typeof__(&PQgetvalue) getvalue;
    __typeof__(&PQunescapeBytea) unescape_bytea;
    __typeof__(&PQfreemem) freemem;
    __typeof__(&PQclear) clear;
} real;
static bool is_here;

static void load(void)
{
    const struct sbx_late_function functions[] = {
        {"PQconnectdb", &real.connectdb},
        {"PQfinish", &real.finish},
        {"PQreset", &real.reset},
        {"PQstatus", &real.status},
        {"PQtransactionStatus", &real.transaction_status},
        {"PQerrorMessage", &real.error_message},
        {"PQsetNoticeProcessor", &real.set_notice_processor},
        {"PQexec", &real.exec},
        {"PQprepare", &real.prepare},
        {"PQexecPrepared", &real.exec_prepared},
        {"PQenterPipelineMode", &real.enter_pipeline_mode},
        {"PQexitPipelineMode", &real.exit_pipeline_mode},
        {"PQpipelineSync", &real.pipeline_sync},
        {"PQsendQueryParams", &real.send_query_params},
        {"PQsendQueryPrepared", &real.send_query_prepared},
        {"PQgetResult", &real.get_result},
        {"PQresultStatus", &real.result_status},
        {"PQresultErrorField", &real.result_error_field},
        {"PQcmdTuples", &real.cmd_tuples},
        {"PQntuples", &real.ntuples},
        {"PQftype", &real.ftype},
        {"PQgetisnull", &real.getisnull},
        {"PQgetvalue", &real.getvalue},
        {"PQunescapeBytea", &real.unescape_bytea},
        {"PQfreemem", &real.freemem},
        {"PQclear", &real.clear},
    };
    is_here = sbx_late_library_load(LATE_SONAME, functions, sizeof functions / sizeof functions[0]);
}

static bool has_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_here;
}

/* Returns NULL without the library, as libpq does without memory. libpq's other functions treat NULL as a failed
 * connection. */
PGconn *PQconnectdb(const char *information)
{
    return has_library() ? real.connectdb(information) : NULL;
}

/* ---- functions that accept NULL, also without the library ---- */

ConnStatusType PQstatus(const PGconn *connection)
{
    return is_here ? real.status(connection) : CONNECTION_BAD;
}

char *PQerrorMessage(const PGconn *connection)
{
    static char not_here[] = "libpq is not here";
    return is_here ? real.error_message(connection) : not_here;
}

void PQfinish(PGconn *connection)
{
    if (connection != NULL) {
        real.finish(connection);
    }
}

void PQclear(PGresult *result)
{
    if (result != NULL) {
        real.clear(result);
    }
}

/* ---- functions that need a connection, or an object from one ---- */

void PQreset(PGconn *connection)
{
    real.reset(connection);
}

PGTransactionStatusType PQtransactionStatus(const PGconn *connection)
{
    return real.transaction_status(connection);
}

PQnoticeProcessor PQsetNoticeProcessor(PGconn *connection, PQnoticeProcessor processor, void *context)
{
    return real.set_notice_processor(connection, processor, context);
}

PGresult *PQexec(PGconn *connection, const char *text)
{
    return real.exec(connection, text);
}

PGresult *PQprepare(PGconn *connection, const char *name, const char *text, int count, const Oid *types)
{
    return real.prepare(connection, name, text, count, types);
}

PGresult *PQexecPrepared(PGconn *connection, const char *name, int count, const char *const *values, const int *lengths,
                         const int *formats, int format)
{
    return real.exec_prepared(connection, name, count, values, lengths, formats, format);
}

int PQenterPipelineMode(PGconn *connection)
{
    return real.enter_pipeline_mode(connection);
}

int PQexitPipelineMode(PGconn *connection)
{
    return real.exit_pipeline_mode(connection);
}

int PQpipelineSync(PGconn *connection)
{
    return real.pipeline_sync(connection);
}

int PQsendQueryParams(PGconn *connection, const char *text, int count, const Oid *types, const char *const *values,
                      const int *lengths, const int *formats, int format)
{
    return real.send_query_params(connection, text, count, types, values, lengths, formats, format);
}

int PQsendQueryPrepared(PGconn *connection, const char *name, int count, const char *const *values, const int *lengths,
                        const int *formats, int format)
{
    return real.send_query_prepared(connection, name, count, values, lengths, formats, format);
}

PGresult *PQgetResult(PGconn *connection)
{
    return real.get_result(connection);
}

ExecStatusType PQresultStatus(const PGresult *result)
{
    return real.result_status(result);
}

char *PQresultErrorField(const PGresult *result, int field)
{
    return real.result_error_field(result, field);
}

char *PQcmdTuples(PGresult *result)
{
    return real.cmd_tuples(result);
}

int PQntuples(const PGresult *result)
{
    return real.ntuples(result);
}

Oid PQftype(const PGresult *result, int column)
{
    return real.ftype(result, column);
}

int PQgetisnull(const PGresult *result, int row, int column)
{
    return real.getisnull(result, row, column);
}

char *PQgetvalue(const PGresult *result, int row, int column)
{
    return real.getvalue(result, row, column);
}

unsigned char *PQunescapeBytea(const unsigned char *text, size_t *bytes_out)
{
    return real.unescape_bytea(text, bytes_out);
}

void PQfreemem(void *memory)
{
    real.freemem(memory);
}
