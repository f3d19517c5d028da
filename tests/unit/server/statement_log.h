/* SPDX-License-Identifier: Apache-2.0 */
/* statement_log.h - which statements SQLite ran in this process, and how many steps they took. The cost of a page is
 * measured by these counts and not by a clock. */
#ifndef SBX_TEST_STATEMENT_LOG_H
#define SBX_TEST_STATEMENT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Watch connections that are opened from now on. */
void statement_log_watch(void);

/* Forget all counts and notes. */
void statement_log_clear(void);

/* Steps of SQLite's virtual machine since then. */
int64_t statement_log_steps(void);

/* The number of statements that have ended since then. */
int64_t statement_log_count(void);

/* Pass each statement text that was run, once for each file, with its steps. */
void statement_log_each(void (*each)(void *context, const char *file, const char *sql, int64_t sql_steps),
                        void *context);

/* How often a statement scans from the beginning or the end of `table`, or of one of its indexes, to any place: 0 if it
 * always looks up keys. Indexes of rows that wait or have failed are short and do not count. `file`: the database file.
 * `setup`: the first statements of a connection; NULL: none. */
int statement_log_scans(const char *file, const char *setup, const char *sql, const char *table);

/* Does a step of the statement's plan (EXPLAIN QUERY PLAN) contain this text? */
bool statement_log_plan_has(const char *file, const char *sql, const char *text);

#endif
