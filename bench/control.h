/* SPDX-License-Identifier: Apache-2.0 */
/* control.h - the recording of a running process, and new settings for it, as `stallbox ctl` would give them. */
#ifndef SBX_BENCH_CONTROL_H
#define SBX_BENCH_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_format.h"

/* Map the recording of process `pid` in `folder`; NULL: the default folder. It must be live and of this build. Returns
 * NULL if there is none. It stays mapped. */
struct sbx_recording_header *bench_control_open(const char *folder, uint32_t pid);

/* Make the agent use the settings `wanted`, and wait until it does, including its hooks. Returns false after ten
 * seconds. */
bool bench_control_order(struct sbx_recording_header *header, const struct sbx_capture_settings *wanted);

#endif
