/* SPDX-License-Identifier: Apache-2.0 */
/* statement_log.c - uses SQLite's own tracing. */
#include "statement_log.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXTS_MAX = 400,
    CURSORS_MAX = 200
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char *file, *sql;
    int64_t steps;
} texts[TEXTS_MAX];
static size_t text_count;
static int64_t steps, count;

static void note(const char *file, const char *sql, int64_t sql_steps)
{
    size_t i = 0;
    while (i < text_count && strcmp(texts[i].sql, sql) != 0)
        i++;
    if (i == TEXTS_MAX)
        abort();
    if (i == text_count) {
        texts[i].file = strdup(file);
        texts[i].sql = strdup(sql);
        texts[i].steps = 0;
        text_count++;
    }
    texts[i].steps += sql_steps;
}

static int trace(unsigned event, void *context, void *statement, void *took)
{
    const char *file = sqlite3_db_filename(context, "main"), *sql = sqlite3_sql(statement);
    (void)event, (void)took;
    pthread_mutex_lock(&lock);
    int64_t sql_steps = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
    steps += sql_steps;
    count++;
    if (file && sql)
        note(file, sql, sql_steps);
    pthread_mutex_unlock(&lock);
    return 0;
}

static int begin_to_trace(sqlite3 *db, const char **why, const void *routines)
{
    (void)why, (void)routines;
    return sqlite3_trace_v2(db, SQLITE_TRACE_PROFILE, trace, db);
}

void statement_log_watch(void)
{
    sqlite3_auto_extension((void (*)(void))begin_to_trace);
}

void statement_log_clear(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < text_count; i++) {
        free(texts[i].file);
        free(texts[i].sql);
    }
    text_count = 0;
    steps = count = 0;
    pthread_mutex_unlock(&lock);
}

int64_t statement_log_steps(void)
{
    pthread_mutex_lock(&lock);
    int64_t result = steps;
    pthread_mutex_unlock(&lock);
    return result;
}

int64_t statement_log_count(void)
{
    pthread_mutex_lock(&lock);
    int64_t result = count;
    pthread_mutex_unlock(&lock);
    return result;
}

void statement_log_each(void (*each)(void *context, const char *file, const char *sql, int64_t sql_steps),
                        void *context)
{
    for (size_t i = 0; i < text_count; i++) /* no statement runs meanwhile */
        each(context, texts[i].file, texts[i].sql, texts[i].steps);
}

/* ---- plans ---- */

/* Does a page of the file belong to the table or to one of its indexes? */
static int is_of(sqlite3 *db, int page, const char *table)
{
    sqlite3_stmt *statement;
    int is = 0;
    if (sqlite3_prepare_v2(db,
                           "SELECT 1 FROM sqlite_schema WHERE rootpage = ?1 AND tbl_name = ?2 AND name NOT IN"
                           " ('snapshot_pending', 'snapshot_failed')",
                           -1, &statement, NULL) != SQLITE_OK)
        abort();
    sqlite3_bind_int(statement, 1, page);
    sqlite3_bind_text(statement, 2, table, -1, SQLITE_STATIC);
    is = sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    return is;
}

/* What a program does with each of its cursors. */
struct cursor {
    bool is_on; /* on the table */
    int begins, walks;
};

static int count_scans(struct cursor cursors[CURSORS_MAX])
{
    int scans = 0;
    for (int i = 0; i < CURSORS_MAX; i++) /* no further row is read after a first or last row */
        scans += cursors[i].is_on && cursors[i].begins > 0 && cursors[i].walks > 0;
    memset(cursors, 0, CURSORS_MAX * sizeof(*cursors));
    return scans;
}

int statement_log_scans(const char *file, const char *setup, const char *sql, const char *table)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    char *text = sqlite3_mprintf("EXPLAIN %s", sql);
    struct cursor cursors[CURSORS_MAX] = {{0}};
    int scans = 0;
    if (sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        (setup && sqlite3_exec(db, setup, NULL, NULL, NULL) != SQLITE_OK) ||
        sqlite3_prepare_v2(db, text, -1, &statement, NULL) != SQLITE_OK) {
        fprintf(stderr, "statement_log: %s: %s\n", sql, sqlite3_errmsg(db));
        abort();
    }
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *code = (const char *)sqlite3_column_text(statement, 1);
        int number = sqlite3_column_int(statement, 2);
        if (sqlite3_column_int(statement, 0) == 0) /* the program of a trigger, with cursors of its own */
            scans += count_scans(cursors);
        if (number < 0 || number >= CURSORS_MAX)
            continue;
        struct cursor *cursor = &cursors[number];
        bool is_counted = strcmp(code, "Count") == 0;
        if (strcmp(code, "OpenRead") == 0 || strcmp(code, "OpenWrite") == 0)
            cursor->is_on =
                sqlite3_column_int(statement, 4) == 0 && /* of the file, not of the connection's temporary database */
                is_of(db, sqlite3_column_int(statement, 3), table);
        cursor->begins += is_counted || strcmp(code, "Rewind") == 0 || strcmp(code, "Last") == 0;
        cursor->walks += is_counted || strcmp(code, "Next") == 0 || strcmp(code, "Prev") == 0;
    }
    scans += count_scans(cursors);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    sqlite3_free(text);
    return scans;
}

bool statement_log_plan_has(const char *file, const char *sql, const char *text)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    char *explained = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql);
    bool has = false;
    if (sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, explained, -1, &statement, NULL) != SQLITE_OK)
        abort();
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(statement, 3);
        has |= strstr(step, text) != NULL;
    }
    sqlite3_finalize(statement);
    sqlite3_close(db);
    sqlite3_free(explained);
    return has;
}
