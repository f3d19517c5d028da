/* SPDX-License-Identifier: Apache-2.0 */
/* ager.h - removes what is old enough, once an hour, while everything else goes on.
 *
 *   payload  | as received, and sealed ones that were never opened: after payload_days, with the reports made of it
 *            | (also reports of payloads that another server of the same store removed)
 *   snapshot | its verdict, and its part in an issue: after retention_days
 *   erased   | ids of machines that asked for erasure: kept as long as a payload with the id may still come, for
 *            | the longest time in a spool, and sealed in this server
 *   symbols  | that no stall asked for in 45 days (symbol_store.h)
 *
 * Times are by the server's clock. A transaction takes some 20 ms, and between two of them threads that wait for the
 * store get it. */
#ifndef SBX_AGER_H
#define SBX_AGER_H

#include <stdint.h>

#include "metrics.h"
#include "operator_log.h"
#include "renderings.h"
#include "sealed_store.h"
#include "store.h"

struct sbx_symbol_store;
struct sbx_ager;

struct sbx_ager_boxes { /* all borrowed until stop */
    struct sbx_store *store;
    struct sbx_sealed_store *sealed;
    struct sbx_renderings *renderings;
    struct sbx_metrics *metrics;
    struct sbx_symbol_store *symbols;
    const struct sbx_operator_log *log; /* NULL: silent */
};

/* Start. Arguments are in days; 0: for ever. The first pass begins at once. Returns 0 and an ager (given: stop), or
 * -errno. */
int sbx_ager_start(const struct sbx_ager_boxes *boxes, uint32_t payload_days, uint32_t retention_days,
                   struct sbx_ager **ager_out);
void sbx_ager_stop(struct sbx_ager *ager); /* NULL is fine; ends within one removal */

#endif
