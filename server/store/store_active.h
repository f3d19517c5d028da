/* SPDX-License-Identifier: Apache-2.0 */
/* store_active.h - reported machine-days. Machine-days with a stall are given as a share of these.
 *
 * A machine-day is a count of an application, a version and a day, and nothing else, so machines cannot be told apart.
 * Counts only grow, and are removed by age. Any thread, unless noted otherwise; functions return 0 or -errno. */
#ifndef SBX_STORE_ACTIVE_H
#define SBX_STORE_ACTIVE_H

#include "store_issues.h"

enum {
    SBX_ACTIVE_VERSION_BYTES = 24,  /* "999999.999999.999999" */
    SBX_ACTIVE_ROWS_OF_DAY = 10000, /* applications and versions per day; more are not counted */
};

struct sbx_active_row {
    uint64_t app;                           /* sbx_app_what(), as in payloads */
    int64_t day;                            /* since 1970 */
    char version[SBX_ACTIVE_VERSION_BYTES]; /* "": not reported */
    int64_t machines;
};

/* Add them in one transaction. Returns the number of rows that had no room, or -errno; then none was added. */
int sbx_store_add_active(struct sbx_store *store, const struct sbx_active_row *rows, size_t count);

/* Remove those before a day. */
int sbx_store_forget_active(struct sbx_store *store, int64_t before_day);

/* ---- for the files of the store; the reader's lock is held ---- */

/* Read it for an issue, an application or all: the whole, and each of the versions (there may be none). */
int sbx_store_read_penetration(const struct sbx_store_view *view, const uint8_t *issue,
                               const struct sbx_issue_span *span, struct sbx_penetration *whole_out,
                               struct sbx_version_sum *versions, size_t version_count);
/* Read it for several issues. `issues`: their numbers in the store, "[1,2,3]". `each` is not called for an issue
 * without data. */
int sbx_store_each_penetration(const struct sbx_store_view *view, const char *issues, const struct sbx_issue_span *span,
                               void (*each)(void *context, int64_t issue, const struct sbx_penetration *penetration),
                               void *context);
/* Read it for applications, by their names. */
int sbx_store_read_app_penetration(const struct sbx_store_view *view, const struct sbx_issue_span *span,
                                   struct sbx_app_sum *rows, size_t count);

#endif
