/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sql_translate.h"

static void test_statements_say_the_same_in_the_other_language(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        int parameters;
        uint32_t used;
    } pairs[] = {
        {"SELECT 1", "SELECT 1", 0, 0},
        {"SELECT a FROM t WHERE b = ?1 AND c < ?12", "SELECT a FROM t WHERE b = $1 AND c < $12", 12, 1 << 1 | 1 << 12},
        {"INSERT OR IGNORE INTO t(a) VALUES(?1)", "INSERT INTO t(a) VALUES($1) ON CONFLICT DO NOTHING", 1, 2},
        {"INSERT OR REPLACE INTO alias(id, issue) VALUES(?1, ?2)",
         "INSERT INTO alias(id, issue) VALUES($1, $2) ON CONFLICT(id) DO UPDATE SET issue = excluded.issue", 2, 6},
        {"INSERT INTO fact(n, m) SELECT 1, 2 ON CONFLICT(n) DO UPDATE SET n = n + excluded.n, m = m + excluded.m",
         "INSERT INTO fact(n, m) SELECT 1, 2 ON CONFLICT(n) DO UPDATE SET n = fact.n + excluded.n, m = fact.m +"
         " excluded.m",
         0, 0},
        {"UPDATE t SET a = 0 WHERE b IS NOT ?1", "UPDATE t SET a = 0 WHERE b IS DISTINCT FROM $1", 1, 2},
        {"DELETE FROM met INDEXED BY met_gone WHERE count <= 0", "DELETE FROM met WHERE count <= 0", 0, 0},
        {"DELETE FROM fact WHERE hits <= 0 AND +day IN (-1, ?2)",
         "DELETE FROM fact WHERE hits <= 0 AND day IN (-1, $2)", 2, 4},
        {"a IN (SELECT CAST(j.value AS bigint) FROM json_each(?6) j)",
         "a IN (SELECT CAST(j.value AS bigint) FROM json_array_elements_text($6) j)", 6, 64},
        {"f.build IN (SELECT b.num FROM build b WHERE (b.version = ?4)) AND +m.day BETWEEN ?2 AND ?3",
         "f.build = ANY(ARRAY(SELECT b.num FROM build b WHERE b.version = $4)) AND m.day BETWEEN $2 AND $3", 4,
         4 + 8 + 16},
        {"SELECT COUNT(*), TOTAL(unnamed) FROM gap", "SELECT COUNT(*), COALESCE(SUM(unnamed), 0) FROM gap", 0, 0},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        int parameters;
        uint32_t used;
        char *text = sbx_sql_translate(pairs[i].from, &parameters, &used);
        assert_string_equal(text, pairs[i].to);
        assert_int_equal(parameters, pairs[i].parameters);
        assert_int_equal(used, pairs[i].used);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statements_say_the_same_in_the_other_language),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
