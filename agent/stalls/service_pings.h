/* SPDX-License-Identifier: Apache-2.0 */
/* service_pings.h - the pings by which a service keeps its manager's watchdog quiet (sd_notify(3), WATCHDOG=1) are a watch.
 *
 * systemd kills a service that has not pinged for WatchdogSec= (WATCHDOG_USEC in its environment), and advises to ping twice in
 * that time. When 70 % of it have passed without one, that is a stall of kind `watchdog` of the thread that pinged last:
 * a healthy ping comes at 50 %, and 30 % are left to keep the stall before the kill. A program that is seen to ping less often
 * (an interval above 60 %) is given 90 %, and so is every program until its second ping. */
#ifndef SBX_SERVICE_PINGS_H
#define SBX_SERVICE_PINGS_H

#include <stdbool.h>
#include <stdint.h>

/* How long a silence may last, for a watchdog of `watchdog_us` and the interval between the last two pings (0: there was one only).
 * In milliseconds; 0: it is not to be watched. */
uint32_t sbx_service_ping_timeout_ms(uint64_t watchdog_us, uint64_t interval_ns);

/* Look for NOTIFY_SOCKET and WATCHDOG_USEC. With the rest of the environment, before there are hooks. */
void sbx_service_pings_look_at_environment(void);

/* Does this process ping, or may it begin to? Then the governor leaves SBX_POINTS_OF_PINGS in. */
bool sbx_service_pings_are_awaited(void);

/* These groups are in force now. Where pings cannot be seen any more (somebody took a group out) the watch ends: a silence of ours is
 * none of the service's. The next ping that is seen begins it again. The watch thread's. */
void sbx_service_pings_follow(uint64_t points);

/* In a forked child, before its start: the watch is its parent's. */
void sbx_service_pings_forget_parent(void);

#endif
