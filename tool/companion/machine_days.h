/* SPDX-License-Identifier: Apache-2.0 */
/* machine_days.h - machine-days of applications that give their own name (stallbox_options), one for each name and
 * version. */
#ifndef SBX_MACHINE_DAYS_H
#define SBX_MACHINE_DAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "active_day.h"
#include "steered_agents.h"

/* Does one of the running applications give its name? */
bool sbx_machine_days_are_named(const struct sbx_steered_agents *agents);

/* Report the day of each application; stop when one gets no answer. Blocks at most `timeout_ms` for each that was not
 * reported today. */
void sbx_machine_days_tell(struct sbx_spool *spool, const struct sbx_active_place *place,
                           const struct sbx_steered_agents *agents, uint64_t day, uint32_t timeout_ms);

#endif
