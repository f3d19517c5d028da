/* SPDX-License-Identifier: Apache-2.0 */
/* conditions.h - what the application says about when payloads may be sent, as a file in the spool.
 *
 * SPOOL/conditions holds one line: "PID STARTTICKS" of the process that said it, and the words that hold ("unmetered charging
 * idle"). It counts as long as that process lives (uploader/delivery/upload_conditions.h reads it). */
#ifndef SBX_CONDITIONS_H
#define SBX_CONDITIONS_H

#include <stdint.h>

#include "marks.h"

#define SBX_CONDITIONS_FILE "conditions"

/* Write it down: a whole file or none, not synced, since it outlives no process. `conditions` are the bits of enum
 * stallbox_condition. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_conditions_write(const char *spool_path, uint32_t pid, uint64_t start_ticks,
                                        uint32_t conditions);

#endif
