/* SPDX-License-Identifier: Apache-2.0 */
/* machine_days.h - machine-days of applications that say themselves what they are (stallbox_options), one for each name and version. */
#ifndef SBX_MACHINE_DAYS_H
#define SBX_MACHINE_DAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "active_day.h"
#include "steered_agents.h"

/* Is there such an application among those that run? */
bool sbx_machine_days_are_named(const struct sbx_steered_agents *agents);

/* Tell the day of each of them; no further, where one gets no answer. Blocks for `timeout_ms` at most for each that was not told today. */
void sbx_machine_days_tell(struct sbx_spool *spool, const struct sbx_active_place *place,
                           const struct sbx_steered_agents *agents, uint64_t day, uint32_t timeout_ms);

#endif
