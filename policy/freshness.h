/* SPDX-License-Identifier: Apache-2.0 */
/* freshness.h - how long ago a policy was last confirmed, in days of the wall clock and in days of uptime.
 *
 * Whoever can keep new policies from a machine, and turn its clock, could hold it to an old one for ever. Uptime cannot be
 * turned: after 30 days of either kind without word from the server a policy counts as expired. */
#ifndef SBX_FRESHNESS_H
#define SBX_FRESHNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "policy_trust.h"

struct sbx_freshness {
    uint64_t confirmed_wall_s; /* wall clock when the server last confirmed the policy; 0: never */
    uint64_t uptime_s;         /* of all boots since then */
    uint64_t seen_boottime_s;  /* CLOCK_BOOTTIME when uptime_s was last moved on */
    uint8_t boot_id[16];       /* of the boot that this was in */
};

/* Move uptime on to now. Any number of processes may do so in turn: what was counted is not counted again. Pure. */
void sbx_freshness_advance(struct sbx_freshness *freshness, const uint8_t boot_id[16], uint64_t boottime_s);

/* The server has spoken over a channel that nobody between could have spoken on. Pure. */
void sbx_freshness_renew(struct sbx_freshness *freshness, uint64_t wall_s);

/* More than 30 days? Pure. */
bool sbx_freshness_is_stale(const struct sbx_freshness *freshness, const struct sbx_policy_moment *moment);

#endif
