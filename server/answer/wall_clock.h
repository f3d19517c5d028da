/* SPDX-License-Identifier: Apache-2.0 */
/* wall_clock.h - the time of day. Any thread. */
#ifndef SBX_WALL_CLOCK_H
#define SBX_WALL_CLOCK_H

#include <stdint.h>

/* Milliseconds since 1970 (UTC), by CLOCK_REALTIME. */
int64_t sbx_wall_clock_ms(void);

#endif
