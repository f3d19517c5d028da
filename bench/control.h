/* SPDX-License-Identifier: Apache-2.0 */
/* control.h - the recording of a running process, and other settings for it, as `stallbox ctl` would give them. */
#ifndef SBX_BENCH_CONTROL_H
#define SBX_BENCH_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "recording_format.h"

/* Map the recording of process `pid` that lies in `folder`; NULL: the default folder. Returns NULL when there is none
 * that is live and of this build. It stays mapped. */
struct sbx_recording_header *bench_control_open(const char *folder, uint32_t pid);

/* Have the agent take over `wanted`, and wait until it has, hooks and all. Returns false after ten seconds. */
bool bench_control_order(struct sbx_recording_header *header, const struct sbx_capture_settings *wanted);

#endif
