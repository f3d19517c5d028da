/* SPDX-License-Identifier: Apache-2.0 */
/* store_durations.c - durations and days of the stalls of a list of issues, in two statements for the whole list. */
#include <errno.h>
#include <stdlib.h>

#include "duration_sketch.h"
#include "number_list.h"
#include "store_inside.h"
#include "store_issues.h"
#include "store_span.h"

enum {
    BUCKETS_MAX = 4096
};

#define OF_LIST(table)                                                  \
    "place p JOIN " table                                               \
    " f ON f.place = p.num WHERE p.issue IN " SBX_LISTED("?1") " AND (" \
                                                               "?6 = 0 OR p.tenant = ?6) AND " IN_SPAN("f")

/* The sums of the issue with that number; NULL: it is not in the list. */
static struct sbx_issue_sums *sums_of(const struct sbx_issue_row *rows, struct sbx_issue_sums *sums, size_t count,
                                      int64_t num)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].num == num)
            return &sums[i];
    return NULL;
}

static int ask(const struct sbx_store_view *view, const char *sql, const char *nums, const struct sbx_issue_span *span,
               enum sbx_span_days days, struct sbx_statement **statement_out)
{
    int result = sbx_sql_prepare(sbx_store_handle_db(&view->store->reader), sql, statement_out);
    if (result < 0)
        return result;
    sbx_store_bind_span(view, *statement_out, NULL, span, days);
    sbx_bind_text(*statement_out, 1, nums);
    return 0;
}

static void set_quantiles(struct sbx_issue_sums *sums, const struct sbx_bucket_count *counts, size_t count)
{
    if (!sums)
        return;
    sums->p50_ns = sbx_duration_quantile(counts, count, 0.5);
    sums->p90_ns = sbx_duration_quantile(counts, count, 0.9);
    sums->p99_ns = sbx_duration_quantile(counts, count, 0.99);
}

/* The rows of one issue are adjacent, and its buckets are in order. */
static int read_quantiles(const struct sbx_store_view *view, const struct sbx_issue_row *rows, size_t count,
                          const char *nums, const struct sbx_issue_span *span, struct sbx_issue_sums *sums)
{
    struct sbx_bucket_count *counts = calloc(BUCKETS_MAX, sizeof(*counts));
    struct sbx_statement *statement = NULL;
    size_t used = 0;
    int64_t issue = 0;
    int result =
        !counts ? -ENOMEM
                : ask(view,
                      "SELECT p.issue, f.bucket, SUM(f.weight) FROM " OF_LIST("spread") " GROUP BY 1, 2 ORDER BY 1, 2",
                      nums, span, TOGETHER, &statement);
    while (statement && (result = sbx_store_step(statement)) > 0) {
        if (sbx_column_integer(statement, 0) != issue) {
            set_quantiles(sums_of(rows, sums, count, issue), counts, used);
            issue = sbx_column_integer(statement, 0);
            used = 0;
        }
        if (used < BUCKETS_MAX)
            counts[used++] =
                (struct sbx_bucket_count){(int)sbx_column_integer(statement, 1), sbx_column_integer(statement, 2)};
    }
    if (result == 0)
        set_quantiles(sums_of(rows, sums, count, issue), counts, used);
    sbx_statement_finalize(statement);
    free(counts);
    return result;
}

/* The latest SBX_SUM_DAYS days of each issue, earliest first. */
static int read_days(const struct sbx_store_view *view, const struct sbx_issue_row *rows, size_t count,
                     const char *nums, const struct sbx_issue_span *span, struct sbx_issue_sums *sums)
{
    struct sbx_statement *statement = NULL;
    int result = ask(view,
                     "SELECT p.issue, f.day, SUM(f.hits), SUM(f.weight), SUM(f.machines) FROM " OF_LIST(
                         "fact") " GROUP BY 1, 2 ORDER BY 1, 2 DESC",
                     nums, span, DAY_BY_DAY, &statement);
    while (statement && (result = sbx_store_step(statement)) > 0) {
        struct sbx_issue_sums *own = sums_of(rows, sums, count, sbx_column_integer(statement, 0));
        if (own)
            sbx_store_add_day(own, &(struct sbx_day_sum){.day = sbx_column_integer(statement, 1),
                                                         .hits = sbx_column_integer(statement, 2),
                                                         .weight = sbx_column_integer(statement, 3),
                                                         .machines = sbx_column_integer(statement, 4)});
    }
    sbx_statement_finalize(statement);
    return result;
}

int sbx_store_sum_durations_of(const struct sbx_store_view *view, const struct sbx_issue_row *rows, size_t count,
                               const struct sbx_issue_span *span, struct sbx_issue_sums *sums_out)
{
    struct sbx_byte_buffer nums = {0};
    bool is_withheld = sbx_store_min_machines(view->store) > 1;
    for (size_t i = 0; i < count; i++) {
        sums_out[i] = (struct sbx_issue_sums){.is_withheld = is_withheld};
        sbx_number_list_add(&nums, rows[i].num);
    }
    if (is_withheld || count == 0) {
        sbx_byte_buffer_finish(&nums);
        return 0;
    }
    sbx_number_list_end(&nums);
    sbx_store_handle_lock(&view->store->reader);
    int result = nums.failed ? -ENOMEM : read_quantiles(view, rows, count, nums.data, span, sums_out);
    if (result == 0)
        result = read_days(view, rows, count, nums.data, span, sums_out);
    sbx_store_handle_unlock(&view->store->reader);
    sbx_byte_buffer_finish(&nums);
    return result;
}
