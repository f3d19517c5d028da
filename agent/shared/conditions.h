/* SPDX-License-Identifier: Apache-2.0 */
/* conditions.h - the application's conditions for sending payloads, as a file in the spool.
 *
 * SPOOL/conditions holds one line: "PID STARTTICKS" of the process that wrote it, and the words of the conditions that
 * are met ("unmetered charging idle"). It is valid while that process lives (uploader/delivery/upload_conditions.h
 * reads it). */
#ifndef SBX_CONDITIONS_H
#define SBX_CONDITIONS_H

#include <stdint.h>

#include "marks.h"

#define SBX_CONDITIONS_FILE "conditions"

/* Write the file, whole or not at all. It is not synced, because it is of no use after the process. `conditions` are
 * the bits of enum stallbox_condition. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_conditions_write(const char *spool_path, uint32_t pid, uint64_t start_ticks,
                                        uint32_t conditions);

#endif
