/* SPDX-License-Identifier: Apache-2.0 */
/* sql_translate.h - translates the store's statements for PostgreSQL. Pure.
 *
 *   ?7                                    $7
 *   INSERT OR IGNORE INTO t ...           INSERT INTO t ... ON CONFLICT DO NOTHING
 *   INSERT OR REPLACE INTO t(k, v) ...    INSERT INTO t(k, v) ... ON CONFLICT(k) DO UPDATE SET v = excluded.v, for the tables that have it
 *   SET n = n + excluded.n                SET n = t.n + excluded.n
 *   a IS NOT ?1                           a IS DISTINCT FROM $1
 *   TOTAL(n)                              COALESCE(SUM(n), 0)
 *   json_each(?6), a list of numbers      json_array_elements_text($6)
 *
 * and a few phrases that are translated literally. The functions instr() and max() of two values are created with the
 * tables. */
#ifndef SBX_SQL_TRANSLATE_H
#define SBX_SQL_TRANSLATE_H

#include <stdint.h>

/* Returns a text (given: free()), or NULL without memory. *parameters_out: the highest parameter number. *used_out: one
 * bit, 1 << number, for each parameter in the text. */
char *sbx_sql_translate(const char *text, int *parameters_out, uint32_t *used_out);

#endif
