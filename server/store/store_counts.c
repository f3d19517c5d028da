/* SPDX-License-Identifier: Apache-2.0 */
/* store_counts.c - how many rows there are, and how many bytes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "sql_postgres.h"
#include "store_inside.h"

/* Bytes of the tables in a database server. */
static int64_t bytes_in_postgres(struct sbx_store *store)
{
    struct sbx_statement *statement;
    int64_t bytes = 0;
    if (sbx_sql_prepare(sbx_store_handle_db(&store->reader),
                        "SELECT SUM(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace ="
                        " 'stallbox'::regnamespace",
                        &statement) < 0)
        return 0;
    if (sbx_store_step(statement) > 0)
        bytes = sbx_column_integer(statement, 0);
    sbx_statement_finalize(statement);
    return bytes;
}

/* Bytes of the database and its journals; a missing file counts 0. */
static int64_t bytes_on_disk(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    int64_t bytes = 0;
    for (size_t i = 0; i < 3; i++) {
        char *file;
        struct stat status;
        if (asprintf(&file, "%s%s", path, suffixes[i]) < 0)
            continue;
        if (stat(file, &status) == 0)
            bytes += status.st_size;
        free(file);
    }
    return bytes;
}

static int count_rows(const struct sbx_store_view *view, enum sbx_reader_statement index,
                      struct sbx_store_counts *counts_out)
{
    sbx_store_handle_lock(&view->store->reader);
    struct sbx_statement *statement = sbx_store_use_to_show(view, index);
    int result = sbx_store_step(statement);
    if (result > 0) {
        *counts_out = (struct sbx_store_counts){
            .snapshots = sbx_column_integer(statement, 0),
            .pending = sbx_column_integer(statement, 1),
            .failed = sbx_column_integer(statement, 2),
            .issues = sbx_column_integer(statement, 3),
            .erasing = view->app ? 0 : sbx_column_integer(statement, 4),
            .bytes = view->app                                ? 0
                     : sbx_sql_is_postgres(view->store->path) ? bytes_in_postgres(view->store)
                                                              : bytes_on_disk(view->store->path),
        };
        sbx_statement_reset(statement);
    }
    sbx_store_handle_unlock(&view->store->reader);
    return result > 0 ? 0 : result < 0 ? result : -EIO;
}

int sbx_store_look(struct sbx_store *store)
{
    sbx_store_handle_lock(&store->reader);
    struct sbx_statement *statement = sbx_store_handle_use(&store->reader, SBX_READER_LOOK);
    int result = sbx_store_step(statement);
    sbx_statement_reset(statement);
    sbx_store_handle_unlock(&store->reader);
    return result > 0 ? 0 : result < 0 ? result : -EIO;
}

int sbx_store_has_payload(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES])
{
    sbx_store_handle_lock(&store->reader);
    struct sbx_statement *statement = sbx_store_handle_use(&store->reader, SBX_READER_HAS_PAYLOAD);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    int result = sbx_store_step(statement);
    sbx_statement_reset(statement);
    sbx_statement_clear(statement);
    sbx_store_handle_unlock(&store->reader);
    return result;
}

int sbx_store_count(const struct sbx_store_view *view, struct sbx_store_counts *counts_out)
{
    return count_rows(view, view->app ? SBX_READER_COUNT_OF_APP : SBX_READER_COUNT_ROWS, counts_out);
}

int sbx_store_count_shown(const struct sbx_store_view *view, struct sbx_store_counts *counts_out)
{
    return sbx_store_min_machines(view->store) > 1 ? count_rows(view, SBX_READER_COUNT_COMMON, counts_out)
                                                   : sbx_store_count(view, counts_out);
}
