/* SPDX-License-Identifier: Apache-2.0 */
/* store_active.h - machine-days that were told without a stall: what the machines that had one are a share of.
 *
 * A machine-day is a number of an application, a version and a day, and nothing else: no machine can be told from another. It is
 * added to, and goes by age. Any thread but where said; 0 or -errno. */
#ifndef SBX_STORE_ACTIVE_H
#define SBX_STORE_ACTIVE_H

#include "store_issues.h"

enum {
    SBX_ACTIVE_VERSION_BYTES = 24,  /* "999999.999999.999999" */
    SBX_ACTIVE_ROWS_OF_DAY = 10000, /* applications and versions of a day; what is beyond is not counted */
};

struct sbx_active_row {
    uint64_t app;                           /* sbx_app_what(): as in payloads */
    int64_t day;                            /* since 1970 */
    char version[SBX_ACTIVE_VERSION_BYTES]; /* "" not told */
    int64_t machines;
};

/* Add them in one transaction. Returns how many were left out for want of room, or -errno; then none was added. */
int sbx_store_add_active(struct sbx_store *store, const struct sbx_active_row *rows, size_t count);

/* Take those before a day away. */
int sbx_store_forget_active(struct sbx_store *store, int64_t before_day);

/* ---- for the files of the store; the reader's lock is held ---- */

/* Of an issue, an application or all: the whole, and that of each of the versions, which may be none. */
int sbx_store_read_penetration(const struct sbx_store_view *view, const uint8_t *issue,
                               const struct sbx_issue_span *span, struct sbx_penetration *whole_out,
                               struct sbx_version_sum *versions, size_t version_count);
/* Of several issues together; `issues`: the store's numbers of them, "[1,2,3]". Those of which there is nothing to tell are not told. */
int sbx_store_each_penetration(const struct sbx_store_view *view, const char *issues, const struct sbx_issue_span *span,
                               void (*each)(void *context, int64_t issue, const struct sbx_penetration *penetration),
                               void *context);
/* Of applications, by their names. */
int sbx_store_read_app_penetration(const struct sbx_store_view *view, const struct sbx_issue_span *span,
                                   struct sbx_app_sum *rows, size_t count);

#endif
