/* SPDX-License-Identifier: Apache-2.0 */
/* freshness.h - how long ago a policy was last confirmed, in days of the wall clock and in days of uptime.
 *
 * An attacker who can keep new policies from a machine and set its clock could make it use an old policy for ever.
 * Uptime cannot be set back. So after 30 days of either clock without contact to the server, a policy counts as
 * expired. */
#ifndef SBX_FRESHNESS_H
#define SBX_FRESHNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "policy_trust.h"

struct sbx_freshness {
    uint64_t confirmed_wall_s; /* wall clock when the server last confirmed the policy; 0: never */
    uint64_t uptime_s;         /* of all boots since then */
    uint64_t seen_boottime_s;  /* CLOCK_BOOTTIME when uptime_s was last updated */
    uint8_t boot_id[16];       /* of the boot at that time */
};

/* Update the uptime to now. Any number of processes may do so in turn: no time is counted twice. Pure. */
void sbx_freshness_advance(struct sbx_freshness *freshness, const uint8_t boot_id[16], uint64_t boottime_s);

/* The server has answered over an authenticated channel. Pure. */
void sbx_freshness_renew(struct sbx_freshness *freshness, uint64_t wall_s);

/* Is the policy older than 30 days? Pure. */
bool sbx_freshness_is_stale(const struct sbx_freshness *freshness, const struct sbx_policy_moment *moment);

#endif
