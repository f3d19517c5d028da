/* SPDX-License-Identifier: Apache-2.0 */
/* machine_days.c - reports days for the agents that are steered. The spool knows the days that were reported
 * already. */
#include "machine_days.h"

#include "names.h"

static bool is_named(const struct sbx_steered_agent *agent)
{
    return agent->name[0] != '\0' && agent->app_name[0] != '\0';
}

bool sbx_machine_days_are_named(const struct sbx_steered_agents *agents)
{
    for (int i = 0; i < SBX_STEERED_MAX; i++) {
        if (is_named(&agents->places[i])) {
            return true;
        }
    }
    return false;
}

void sbx_machine_days_tell(struct sbx_spool *spool, const struct sbx_active_place *place,
                           const struct sbx_steered_agents *agents, uint64_t day, uint32_t timeout_ms)
{
    for (int i = 0; i < SBX_STEERED_MAX; i++) {
        const struct sbx_steered_agent *agent = &agents->places[i];
        if (is_named(agent) && sbx_active_day_tell(spool, place, sbx_app_what(agent->app_name), agent->app_version, day,
                                                   timeout_ms) == SBX_ACTIVE_LATER) {
            return;
        }
    }
}
