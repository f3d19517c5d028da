/* SPDX-License-Identifier: Apache-2.0 */
/* ordered_start.c - joins the roster, starts, reports the result. */
#include "ordered_start.h"

#include <string.h>

#include "agent.h"
#include "attendance.h"
#include "consent.h"
#include "forked_child.h"
#include "the_agent.h"

void sbx_ordered_start_prepare(const struct sbx_preload_orders *orders)
{
    sbx_the_agent.companion_key = orders->companion_key;
    memcpy(sbx_the_agent.app_name, orders->app_name, sizeof sbx_the_agent.app_name - 1);
    memcpy(sbx_the_agent.app_version, orders->app_version, sizeof sbx_the_agent.app_version);
}

void sbx_ordered_start(const char *recordings_folder, const char *spool_path, const struct sbx_preload_orders *orders)
{
    if (sbx_agent_is_declined()) { /* set-user-id, perhaps: do not even open the paths from the environment */
        return;
    }
    sbx_ordered_start_prepare(orders);
    sbx_attendance_join(recordings_folder, orders->roster);
    int result = sbx_agent_start(recordings_folder, spool_path, &orders->settings, sbx_consent_read(spool_path), false);
    sbx_attendance_began(result);
    if (result == 0) {
        sbx_forked_child_look_out();
    }
}
