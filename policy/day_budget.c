/* SPDX-License-Identifier: Apache-2.0 */
/* day_budget.c - counts and comparisons. */
#include "day_budget.h"

#include <string.h>

void sbx_day_budget_turn(struct sbx_day_budget *budget, uint64_t wall_s)
{
    uint64_t days = wall_s / 86400;
    uint32_t day = days > UINT32_MAX ? UINT32_MAX : (uint32_t)days;
    if (day == budget->day || (day < budget->day && budget->day - day <= 2)) {
        return; /* the same day, or a clock that was set back a little: wait until it has caught up */
    }
    bool went_far_back = day < budget->day;
    memset(budget, 0, sizeof *budget);
    budget->day = day;
    budget->is_spent = went_far_back;
}

bool sbx_day_budget_take_snapshot(struct sbx_day_budget *budget, const struct sbx_delivery_terms *terms, uint32_t kind)
{
    if (budget->is_spent != 0 || budget->snapshots >= terms->snapshots_day || kind >= SBX_TRIGGER_KINDS) {
        return false;
    }
    if (kind != SBX_TRIGGER_MANUAL) {
        if (budget->snapshots_kind[kind] >= terms->snapshots_kind_day) {
            return false;
        }
        budget->snapshots_kind[kind]++;
    }
    budget->snapshots++;
    return true;
}

bool sbx_day_budget_allows_bytes(const struct sbx_day_budget *budget, const struct sbx_delivery_terms *terms,
                                 uint64_t bytes, uint32_t conditions)
{
    if (budget->is_spent != 0 || (terms->upload_conditions & ~conditions) != 0 || bytes > terms->bytes_day ||
        budget->bytes > terms->bytes_day - bytes) {
        return false;
    }
    return (conditions & SBX_UPLOAD_UNMETERED) != 0 ||
           (bytes <= terms->bytes_day_metered && budget->bytes_metered <= terms->bytes_day_metered - bytes);
}

void sbx_day_budget_take_bytes(struct sbx_day_budget *budget, uint64_t bytes, uint32_t conditions)
{
    budget->bytes += bytes;
    if ((conditions & SBX_UPLOAD_UNMETERED) == 0) {
        budget->bytes_metered += bytes;
    }
}
