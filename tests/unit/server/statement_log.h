/* SPDX-License-Identifier: Apache-2.0 */
/* statement_log.h - which statements SQLite ran in this process, and how many of its steps they took: what a page reads is counted by these,
 * and not by a clock. */
#ifndef SBX_TEST_STATEMENT_LOG_H
#define SBX_TEST_STATEMENT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of connections that are opened from now on. */
void statement_log_watch(void);

/* Forget what was counted and noted. */
void statement_log_clear(void);

/* Steps of SQLite's machine since then. */
int64_t statement_log_steps(void);

/* How many statements ended since then. */
int64_t statement_log_count(void);

/* Each text that was run, on which file, once, with its steps. */
void statement_log_each(void (*each)(void *context, const char *file, const char *sql, int64_t sql_steps),
                        void *context);

/* How often a statement walks from the beginning of `table`, or of one of its indexes, or from the end, to wherever it stops: 0 where it always
 * looks for something. Indexes of what waits or has failed are short, and not looked at. `file`: of the database. `setup`: what a connection begins
 * with; NULL: nothing. */
int statement_log_scans(const char *file, const char *setup, const char *sql, const char *table);

/* Is a step of the statement's plan (EXPLAIN QUERY PLAN) one with this text in it? */
bool statement_log_plan_has(const char *file, const char *sql, const char *text);

#endif
