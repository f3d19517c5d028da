/* SPDX-License-Identifier: Apache-2.0 */
/* sql.h - a connection to a database and its statements, independent of the engine.
 *
 * The SQL in files above this one uses what the engines share; the file of each engine tells how it treats the rest. A
 * connection is for one thread at a time. Bound texts and bytes are borrowed until the last step of the statement.
 * Those of a column are valid until the next step, reset or use of the statement. Parameters are numbered from 1,
 * columns from 0. */
#ifndef SBX_SQL_H
#define SBX_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_sql_engine;

/* The common head of every engine's connection and statement. */
struct sbx_sql {
    const struct sbx_sql_engine *engine;
};
struct sbx_statement {
    const struct sbx_sql_engine *engine;
};

/* Which other transactions may write at the same time, when several servers share a database. On one machine there is
 * one writer. */
enum sbx_sql_turn {
    /* changes sums of one application, in many statements; other applications go on. Application 0: all others wait */
    SBX_TURN_SUMS,
    SBX_TURN_ALONE,  /* changes sums of any application; no payload is stored meanwhile */
    SBX_TURN_INTAKE, /* stores payloads of one application; others go on, and so does SBX_TURN_SUMS */
};

struct sbx_sql_engine {
    void (*close)(struct sbx_sql *sql);
    int (*execute)(struct sbx_sql *sql, const char *text);
    int (*begin)(struct sbx_sql *sql, enum sbx_sql_turn turn, uint64_t app, bool is_unhurried);
    int (*commit)(struct sbx_sql *sql);
    void (*roll_back)(struct sbx_sql *sql);
    int64_t (*last_id)(struct sbx_sql *sql);
    int64_t (*changes)(struct sbx_sql *sql);
    void (*checkpoint)(struct sbx_sql *sql, bool is_truncating);
    const char *(*error)(struct sbx_sql *sql);
    int (*prepare)(struct sbx_sql *sql, const char *text, struct sbx_statement **statement_out);
    void (*finalize)(struct sbx_statement *statement);
    int (*step)(struct sbx_statement *statement);
    void (*reset)(struct sbx_statement *statement);
    void (*clear)(struct sbx_statement *statement);
    int (*parameters)(struct sbx_statement *statement);
    void (*bind_integer)(struct sbx_statement *statement, int index, int64_t value);
    void (*bind_real)(struct sbx_statement *statement, int index, double value);
    void (*bind_text)(struct sbx_statement *statement, int index, const char *text);
    void (*bind_blob)(struct sbx_statement *statement, int index, const void *bytes, size_t count);
    bool (*is_null)(struct sbx_statement *statement, int column);
    int64_t (*integer)(struct sbx_statement *statement, int column);
    double (*real)(struct sbx_statement *statement, int column);
    const char *(*text)(struct sbx_statement *statement, int column);
    const void *(*blob)(struct sbx_statement *statement, int column, size_t *count_out);
};

/* ---- connections ---- */

/* Must come before any other call of SQLite in this process. sbx_sql_open_sqlite() calls it. */
void sbx_sql_begin_sqlite(void);

/* SQLite: `path` is made when it is missing; `setup` (pragmas and tables) must be repeatable, because it runs at every
 * open. Returns 0, or -errno with the path and the reason. */
int sbx_sql_open_sqlite(const char *path, const char *setup, struct sbx_sql **sql_out, char *why, size_t why_bytes);

static inline void sbx_sql_close(struct sbx_sql *sql) /* NULL is fine */
{
    if (sql)
        sql->engine->close(sql);
}
/* Run statements without parameters and rows, separated by semicolons. Returns 0 or -errno. */
static inline int sbx_sql_execute(struct sbx_sql *sql, const char *text)
{
    return sql->engine->execute(sql, text);
}
/* The row number of the last insert. */
static inline int64_t sbx_sql_last_id(struct sbx_sql *sql)
{
    return sql->engine->last_id(sql);
}
/* The number of rows that the last statement changed. */
static inline int64_t sbx_sql_changes(struct sbx_sql *sql)
{
    return sql->engine->changes(sql);
}
/* Write overwritten data to the file now, so that no journal still has it. `is_truncating`: also wait for other
 * connections. */
static inline void sbx_sql_checkpoint(struct sbx_sql *sql, bool is_truncating)
{
    sql->engine->checkpoint(sql, is_truncating);
}
/* The message of the last failure. */
static inline const char *sbx_sql_error(struct sbx_sql *sql)
{
    return sql->engine->error(sql);
}

/* ---- statements ---- */

/* Returns 0 and a statement (given: finalize), or -errno. The text is borrowed until then. A mistake in the text may be
 * reported by the first step only. */
static inline int sbx_sql_prepare(struct sbx_sql *sql, const char *text, struct sbx_statement **statement_out)
{
    return sql->engine->prepare(sql, text, statement_out);
}
static inline void sbx_statement_finalize(struct sbx_statement *statement) /* NULL is fine */
{
    if (statement)
        statement->engine->finalize(statement);
}
/* Returns 1 for a row, 0 when done, or -errno (-ENOSPC, -ENOMEM, -EBUSY, -EIO). A done or failed statement is reset, so
 * that it holds no lock. */
static inline int sbx_store_step(struct sbx_statement *statement)
{
    return statement->engine->step(statement);
}
static inline void sbx_statement_reset(struct sbx_statement *statement)
{
    statement->engine->reset(statement);
}
static inline void sbx_statement_clear(struct sbx_statement *statement) /* set all parameters to NULL */
{
    statement->engine->clear(statement);
}
static inline int sbx_statement_parameters(struct sbx_statement *statement)
{
    return statement->engine->parameters(statement);
}
static inline void sbx_bind_integer(struct sbx_statement *statement, int index, int64_t value)
{
    statement->engine->bind_integer(statement, index, value);
}
static inline void sbx_bind_real(struct sbx_statement *statement, int index, double value)
{
    statement->engine->bind_real(statement, index, value);
}
static inline void sbx_bind_text(struct sbx_statement *statement, int index, const char *text) /* NULL: NULL */
{
    statement->engine->bind_text(statement, index, text);
}
static inline void sbx_bind_blob(struct sbx_statement *statement, int index, const void *bytes, size_t count)
{
    statement->engine->bind_blob(statement, index, bytes, count);
}
static inline bool sbx_column_is_null(struct sbx_statement *statement, int column)
{
    return statement->engine->is_null(statement, column);
}
static inline int64_t sbx_column_integer(struct sbx_statement *statement,
                                         int column) /* 0 for NULL; 1 or 0 for a boolean */
{
    return statement->engine->integer(statement, column);
}
static inline double sbx_column_real(struct sbx_statement *statement, int column)
{
    return statement->engine->real(statement, column);
}
/* NULL for NULL or an empty blob */
static inline const void *sbx_column_blob(struct sbx_statement *statement, int column)
{
    size_t count;
    return statement->engine->blob(statement, column, &count);
}
static inline size_t sbx_column_bytes(struct sbx_statement *statement, int column)
{
    size_t count = 0;
    (void)statement->engine->blob(statement, column, &count);
    return count;
}
/* Copy the text of a column, cut to the size of the array; "" for NULL. */
void sbx_store_column_text(struct sbx_statement *statement, int column, char *text_out, size_t text_bytes);

#endif
