/* SPDX-License-Identifier: Apache-2.0 */
/* ager.h - what is old enough goes, once an hour, while everything else goes on.
 *
 *   payload  | as it came, and sealed ones that nobody opened: after payload_days; reports made of it with it
 *            | (and reports of payloads that another server of the same store took away)
 *   snapshot | what was said of it, its part of an issue: after retention_days
 *   erased   | the ids of machines that wanted to be forgotten: as long as anything of them could still come, which is
 *            | the longest that a spool keeps it and this server keeps it sealed
 *   symbols  | that no stall asked for in 45 days (symbol_store.h)
 *
 * By the server's clock. Some 20 ms of removals a transaction, and who waits for the store has it between them. */
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

/* Days; 0: for ever. The first pass begins at once. Returns 0 and an ager (given: stop), or -errno. */
int sbx_ager_start(const struct sbx_ager_boxes *boxes, uint32_t payload_days, uint32_t retention_days,
                   struct sbx_ager **ager_out);
void sbx_ager_stop(struct sbx_ager *ager); /* NULL is fine; ends within one removal */

#endif
