/* SPDX-License-Identifier: Apache-2.0 */
/* freshness.c - sums and comparisons. */
#include "freshness.h"

#include <string.h>

static const uint64_t stale_s = UINT64_C(86400) * SBX_POLICY_DAYS_MAX;

void sbx_freshness_advance(struct sbx_freshness *freshness, const uint8_t boot_id[16], uint64_t boottime_s)
{
    bool is_same_boot = memcmp(freshness->boot_id, boot_id, sizeof freshness->boot_id) == 0;
    uint64_t from_s = is_same_boot ? freshness->seen_boottime_s : 0;
    if (boottime_s > from_s) {
        freshness->uptime_s += boottime_s - from_s;
        freshness->seen_boottime_s = boottime_s;
    }
    memcpy(freshness->boot_id, boot_id, sizeof freshness->boot_id);
}

void sbx_freshness_renew(struct sbx_freshness *freshness, uint64_t wall_s)
{
    freshness->confirmed_wall_s = wall_s;
    freshness->uptime_s = 0;
}

bool sbx_freshness_is_stale(const struct sbx_freshness *freshness, const struct sbx_policy_moment *moment)
{
    if (freshness->uptime_s > stale_s) {
        return true;
    }
    return freshness->confirmed_wall_s != 0 && !sbx_clock_is_unknown(moment) &&
           moment->wall_s > freshness->confirmed_wall_s && moment->wall_s - freshness->confirmed_wall_s > stale_s;
}
