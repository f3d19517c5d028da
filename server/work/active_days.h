/* SPDX-License-Identifier: Apache-2.0 */
/* active_days.h - machine-days as machines tell them, gathered for a second and stored together.
 *
 * A fleet tells one for each machine and day: a transaction for each would cost as much as a payload. What is gathered is lost when the
 * process is killed; a stop stores it. Any thread. */
#ifndef SBX_ACTIVE_DAYS_H
#define SBX_ACTIVE_DAYS_H

#include <stdint.h>

#include "operator_log.h"
#include "store.h"

struct sbx_active_days;

/* Start the thread that stores. `store` and `log` (NULL: silent) are borrowed. 0 and one (given: stop), or -errno. */
int sbx_active_days_start(struct sbx_store *store, const struct sbx_operator_log *log,
                          struct sbx_active_days **days_out);
void sbx_active_days_stop(struct sbx_active_days *days); /* NULL is fine */

/* One more machine-day of an application (sbx_app_what(), not 0) and version ("" not told; digits and dots, fewer than
 * SBX_ACTIVE_VERSION_BYTES), of the day of `now_ms`. 0, or -EAGAIN: more are waiting than are held. */
int sbx_active_days_count(struct sbx_active_days *days, uint64_t app, const char *version, int64_t now_ms);

#endif
