/* SPDX-License-Identifier: Apache-2.0 */
/* day_budget.h - what a machine may make and send in a UTC day, counted. Pure: the caller keeps it durably and tells the
 * time. A clock that goes back within two days keeps the counts; one that goes further has the day's rest forfeited, as a
 * count that was lost has (Perfetto's guardrail: on bad state, clear and do not trace). */
#ifndef SBX_DAY_BUDGET_H
#define SBX_DAY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "payload_numbers.h"
#include "policy.h"

struct sbx_day_budget {
    uint32_t day;       /* since 1970, UTC */
    uint32_t is_spent;  /* nothing more today: the counts are not known */
    uint32_t snapshots; /* made payloads of */
    uint32_t snapshots_kind[SBX_TRIGGER_KINDS];
    uint64_t bytes;         /* sent */
    uint64_t bytes_metered; /* of those, over a network not known to be unmetered */
};

/* Turn to the day of `wall_s`. */
void sbx_day_budget_turn(struct sbx_day_budget *budget, uint64_t wall_s);

/* Count a snapshot of `kind` if there is room for it. A snapshot that a person asked for (SBX_TRIGGER_MANUAL) is counted
 * among all, not among its kind. Returns whether it may become a payload. */
bool sbx_day_budget_take_snapshot(struct sbx_day_budget *budget, const struct sbx_delivery_terms *terms, uint32_t kind);

/* May `bytes` more be sent? `conditions` are those that hold now (enum sbx_upload_condition). Counts nothing. */
bool sbx_day_budget_allows_bytes(const struct sbx_day_budget *budget, const struct sbx_delivery_terms *terms,
                                 uint64_t bytes, uint32_t conditions);

/* They were sent. */
void sbx_day_budget_take_bytes(struct sbx_day_budget *budget, uint64_t bytes, uint32_t conditions);

#endif
