/* SPDX-License-Identifier: Apache-2.0 */
/* sql.h - a connection to a database and statements on it, whatever the database is. What is written in SQL above this file is the part
 * of the language that the engines share; each engine's file says what it does about the rest.
 *
 * A connection is for one thread at a time. Texts and bytes that are bound are borrowed until the statement has been stepped for the last
 * time; those of a column are valid until the next step, reset or use of the statement. Indexes of parameters begin at 1, of
 * columns at 0. */
#ifndef SBX_SQL_H
#define SBX_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_sql_engine;

/* What every engine's connection and statement begin with. */
struct sbx_sql {
    const struct sbx_sql_engine *engine;
};
struct sbx_statement {
    const struct sbx_sql_engine *engine;
};

/* Whose turn a transaction that writes is, where several servers share a database. On one machine there is one writer. */
enum sbx_sql_turn {
    SBX_TURN_SUMS, /* of who changes what is summed of an application, in many statements: beside those of others. Application 0: beside nobody's */
    SBX_TURN_ALONE,  /* of who changes sums of any, and no payload comes meanwhile */
    SBX_TURN_INTAKE, /* of the payloads of one application: beside those of others, and beside SBX_TURN_SUMS */
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

/* Before the first other call of SQLite's in this process: sbx_sql_open_sqlite() sees to it itself. */
void sbx_sql_begin_sqlite(void);

/* SQLite: `path` is created when missing; `setup` (pragmas and tables) may be run on every opening. 0, or -errno with the path and the
 * reason. */
int sbx_sql_open_sqlite(const char *path, const char *setup, struct sbx_sql **sql_out, char *why, size_t why_bytes);

static inline void sbx_sql_close(struct sbx_sql *sql) /* NULL is fine */
{
    if (sql)
        sql->engine->close(sql);
}
/* Statements without parameters and rows, separated by semicolons. 0 or -errno. */
static inline int sbx_sql_execute(struct sbx_sql *sql, const char *text)
{
    return sql->engine->execute(sql, text);
}
/* The number that the row got that was inserted last. */
static inline int64_t sbx_sql_last_id(struct sbx_sql *sql)
{
    return sql->engine->last_id(sql);
}
/* How many rows the statement changed that ran last. */
static inline int64_t sbx_sql_changes(struct sbx_sql *sql)
{
    return sql->engine->changes(sql);
}
/* What was overwritten goes into the file now, so that no journal has it; where `is_truncating`, others are waited for. */
static inline void sbx_sql_checkpoint(struct sbx_sql *sql, bool is_truncating)
{
    sql->engine->checkpoint(sql, is_truncating);
}
/* Of what failed last. */
static inline const char *sbx_sql_error(struct sbx_sql *sql)
{
    return sql->engine->error(sql);
}

/* ---- statements ---- */

/* 0 and one (given: finalize), or -errno. The text is borrowed until then. That the database does not understand it may be told by its first step. */
static inline int sbx_sql_prepare(struct sbx_sql *sql, const char *text, struct sbx_statement **statement_out)
{
    return sql->engine->prepare(sql, text, statement_out);
}
static inline void sbx_statement_finalize(struct sbx_statement *statement) /* NULL is fine */
{
    if (statement)
        statement->engine->finalize(statement);
}
/* 1 there is a row, 0 done, or -errno (-ENOSPC, -ENOMEM, -EBUSY, -EIO). A done or failed statement is reset, so that it holds no lock. */
static inline int sbx_store_step(struct sbx_statement *statement)
{
    return statement->engine->step(statement);
}
static inline void sbx_statement_reset(struct sbx_statement *statement)
{
    statement->engine->reset(statement);
}
static inline void sbx_statement_clear(struct sbx_statement *statement) /* its parameters are NULL again */
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
                                         int column) /* 0 for NULL; of a truth 1 or 0 */
{
    return statement->engine->integer(statement, column);
}
static inline double sbx_column_real(struct sbx_statement *statement, int column)
{
    return statement->engine->real(statement, column);
}
static inline const void *sbx_column_blob(struct sbx_statement *statement, int column) /* NULL for NULL or none */
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
/* The text of a column cut to the array, "" for NULL. */
void sbx_store_column_text(struct sbx_statement *statement, int column, char *text_out, size_t text_bytes);

#endif
