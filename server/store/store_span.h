/* SPDX-License-Identifier: Apache-2.0 */
/* store_span.h - conditions for statements that read sums in a span: of an issue, of an application or of all. For the
 * files of the store. ?1: the issue (NULL: all), ?2 and ?3: the days, ?4: the version, ?5: the application, ?6: the
 * application of the view. */
#ifndef SBX_STORE_SPAN_H
#define SBX_STORE_SPAN_H

#include "store_inside.h"
#include "store_issues.h"

#define IN_SPAN(table)                                                                                            \
    table ".day BETWEEN ?2 AND ?3 AND (?4 = '' OR " table ".build IN (SELECT b.num FROM build b WHERE (b.version" \
          " = ?4)))"
/* Without an issue (?1 NULL): the sums of an application, or of all. ?6: the application of the view. */
#define APPS_SEEN "app a WHERE ?1 IS NULL AND (?5 = '' OR a.name = ?5) AND (?6 = 0 OR a.tenant = ?6)"
#define OF_ISSUE(table)                                                                                          \
    table ".place IN (SELECT p.num FROM place p JOIN issue i ON i.num = p.issue WHERE i.id = ?1 AND (?6 = 0 OR " \
          "p.tenant = ?6) UNION ALL SELECT -a.num FROM " APPS_SEEN ")"                                           \
          " AND " IN_SPAN(table)

enum sbx_span_days {
    DAY_BY_DAY,
    TOGETHER, /* day -1, when the span has all days */
};

static inline void sbx_store_bind_span(const struct sbx_store_view *view, struct sbx_statement *statement,
                                       const uint8_t *issue, const struct sbx_issue_span *span, enum sbx_span_days days)
{
    bool is_any_day = days == TOGETHER && sbx_issue_span_has_all_days(span);
    if (issue)
        sbx_bind_blob(statement, 1, issue, SBX_ID_BYTES);
    sbx_bind_integer(statement, 2, is_any_day ? -1 : span->from_day);
    sbx_bind_integer(statement, 3, is_any_day ? -1 : span->to_day);
    sbx_bind_text(statement, 4, span->version);
    sbx_bind_text(statement, 5, span->app ? span->app : "");
    sbx_bind_integer(statement, 6, (int64_t)view->app);
}

/* Add a day before the later days that are there. */
void sbx_store_add_day(struct sbx_issue_sums *sums, const struct sbx_day_sum *day);

#endif
