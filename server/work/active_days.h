/* SPDX-License-Identifier: Apache-2.0 */
/* active_days.h - machine-days as machines report them, collected for a second and stored together.
 *
 * A fleet reports one per machine and day. A transaction for each would cost as much as a payload. A kill of the
 * process loses the rows that are collected; a stop stores them. Any thread. */
#ifndef SBX_ACTIVE_DAYS_H
#define SBX_ACTIVE_DAYS_H

#include <stdint.h>

#include "operator_log.h"
#include "store.h"

struct sbx_active_days;

/* Start the thread that stores. `store` and `log` (NULL: silent) are borrowed. Returns 0 and an object (given: stop),
 * or -errno. */
int sbx_active_days_start(struct sbx_store *store, const struct sbx_operator_log *log,
                          struct sbx_active_days **days_out);
void sbx_active_days_stop(struct sbx_active_days *days); /* NULL is fine */

/* Count one more machine-day of an application (sbx_app_what(), not 0) and a version ("": not reported; digits and
 * dots, fewer than SBX_ACTIVE_VERSION_BYTES), for the day of `now_ms`. Returns 0, or -EAGAIN when there is no room for
 * it. */
int sbx_active_days_count(struct sbx_active_days *days, uint64_t app, const char *version, int64_t now_ms);

#endif
