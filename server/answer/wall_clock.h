/* SPDX-License-Identifier: Apache-2.0 */
/* wall_clock.h - the time of day. Any thread. */
#ifndef SBX_WALL_CLOCK_H
#define SBX_WALL_CLOCK_H

#include <stdint.h>

#define SBX_WALL_CLOCK_BYTES 32

/* Milliseconds since 1970 (UTC), by CLOCK_REALTIME. */
int64_t sbx_wall_clock_ms(void);

/* "2026-11-26T20:14:05Z" (RFC 3339); empty for a year that this form cannot express. */
void sbx_wall_clock_print(int64_t ms, char text[SBX_WALL_CLOCK_BYTES]);

#endif
