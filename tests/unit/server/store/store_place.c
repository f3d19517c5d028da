/* SPDX-License-Identifier: Apache-2.0 */
/* store_place.c - reads a store through a connection of its own. */
#include "store_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sql_postgres.h"

static const char *database(void)
{
    return getenv("STALLBOX_TEST_DATABASE");
}

bool store_is_postgres(void)
{
    return database() != NULL;
}

static struct sbx_sql *look_at(const char *data_dir, const char *setup)
{
    struct sbx_sql *sql;
    char path[200], why[300] = "";
    snprintf(path, sizeof(path), "%s/store.db", data_dir);
    if ((database() ? sbx_sql_open_postgres(database(), setup, &sql, why, sizeof(why))
                    : sbx_sql_open_sqlite(path, "", &sql, why, sizeof(why))) < 0) {
        fprintf(stderr, "store_place: %s\n", why);
        abort();
    }
    return sql;
}

const char *store_place_of(const char *data_dir)
{
    if (!database())
        return data_dir;
    sbx_sql_close(look_at(data_dir, "SET client_min_messages = error; DROP SCHEMA IF EXISTS stallbox CASCADE"));
    return database();
}

int64_t store_number(const char *data_dir, const char *text)
{
    /* For PostgreSQL: each connection is a process, and one test asks a thousand times. */
    static struct sbx_sql *kept;
    struct sbx_sql *sql = kept ? kept : look_at(data_dir, "SET search_path = stallbox");
    struct sbx_statement *statement;
    if (sbx_sql_prepare(sql, text, &statement) < 0 || sbx_store_step(statement) <= 0) {
        fprintf(stderr, "store_place: %s: %s\n", text, sbx_sql_error(sql));
        abort();
    }
    int64_t number = sbx_column_integer(statement, 0);
    sbx_statement_finalize(statement);
    if (database())
        kept = sql;
    else
        sbx_sql_close(sql);
    return number;
}

void store_run(const char *data_dir, const char *text)
{
    struct sbx_sql *sql = look_at(data_dir, "SET search_path = stallbox; SET client_min_messages = warning");
    if (sbx_sql_execute(sql, text) < 0) {
        fprintf(stderr, "store_place: %s: %s\n", text, sbx_sql_error(sql));
        abort();
    }
    sbx_sql_close(sql);
}

void store_load(const char *data_dir, const char *sql_file)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    char path[200];
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = fopen(sql_file, "r");
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/store.db%s", data_dir, suffixes[i]);
        unlink(path);
    }
    store_place_of(data_dir);
    if (!file || getdelim(&text, &bytes, '\0', file) < 0) {
        fprintf(stderr, "store_place: %s\n", sql_file);
        abort();
    }
    fclose(file);
    store_run(data_dir, text);
    free(text);
}
