/* SPDX-License-Identifier: Apache-2.0 */
/* day_budget.h - counts what a machine makes and sends in a UTC day. Pure: the caller stores the counts durably and
 * passes the time. If the clock goes back by up to two days, the counts are kept. If it goes back further, or if the
 * counts were lost, nothing more is made or sent on that day (Perfetto's guardrail: on bad state, clear and do not
 * trace). */
#ifndef SBX_DAY_BUDGET_H
#define SBX_DAY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "payload_numbers.h"
#include "policy.h"

struct sbx_day_budget {
    uint32_t day;       /* since 1970, UTC */
    uint32_t is_spent;  /* nothing more today: the counts are unknown */
    uint32_t snapshots; /* snapshots that became payloads */
    uint32_t snapshots_kind[SBX_TRIGGER_KINDS];
    uint64_t bytes;         /* sent */
    uint64_t bytes_metered; /* part of `bytes`, over a network not known to be unmetered */
};

/* Begin the day of `wall_s`, if it is a new one. */
void sbx_day_budget_turn(struct sbx_day_budget *budget, uint64_t wall_s);

/* Count a snapshot of `kind` if the limits allow it. A snapshot requested by hand (SBX_TRIGGER_MANUAL) counts towards
 * the total only, not towards its kind. Returns whether it may become a payload. */
bool sbx_day_budget_take_snapshot(struct sbx_day_budget *budget, const struct sbx_delivery_terms *terms, uint32_t kind);

/* May `bytes` more be sent? `conditions` are the conditions that are met now (enum sbx_upload_condition). Counts
 * nothing. */
bool sbx_day_budget_allows_bytes(const struct sbx_day_budget *budget, const struct sbx_delivery_terms *terms,
                                 uint64_t bytes, uint32_t conditions);

/* Count bytes that were sent. */
void sbx_day_budget_take_bytes(struct sbx_day_budget *budget, uint64_t bytes, uint32_t conditions);

#endif
