/* SPDX-License-Identifier: Apache-2.0 */
/* service_pings.h - turns the pings of a service to its manager's watchdog (sd_notify(3), WATCHDOG=1) into a watch.
 *
 * systemd kills a service that has not pinged for WatchdogSec= (WATCHDOG_USEC in its environment), and advises a ping
 * at half of that time. When 70 % of the time have passed without a ping, this is a stall of kind `watchdog` of the
 * thread that pinged last: a healthy ping comes at 50 %, and 30 % are left to save the stall before the kill. A program
 * that usually pings less often (an interval above 60 %) gets 90 %, and so does every program until its second ping. */
#ifndef SBX_SERVICE_PINGS_H
#define SBX_SERVICE_PINGS_H

#include <stdbool.h>
#include <stdint.h>

/* How long a silence may last, in milliseconds, for a watchdog of `watchdog_us` and the interval between the last two
 * pings (0: there was only one). 0: the service is not to be watched. */
uint32_t sbx_service_ping_timeout_ms(uint64_t watchdog_us, uint64_t interval_ns);

/* Read NOTIFY_SOCKET and WATCHDOG_USEC. Called with the rest of the environment, before there are hooks. */
void sbx_service_pings_look_at_environment(void);

/* Does this process ping, or may it begin to? Then the governor does not shed SBX_POINTS_OF_PINGS. */
bool sbx_service_pings_are_awaited(void);

/* `points` are the groups in force now. If pings cannot be seen any more, because a group was taken out, the watch
 * ends: the service is not silent then, we are blind. The next ping that is seen begins the watch again. Watch
 * thread. */
void sbx_service_pings_follow(uint64_t points);

/* In a forked child, before its start: the watch belongs to the parent. */
void sbx_service_pings_forget_parent(void);

#endif
