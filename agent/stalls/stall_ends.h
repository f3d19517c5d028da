/* SPDX-License-Identifier: Apache-2.0 */
/* stall_ends.h - when and how a told stall ended (told_stalls.h), and the snapshot that says so. Watch thread only. */
#ifndef SBX_STALL_ENDS_H
#define SBX_STALL_ENDS_H

#include <stdint.h>

#include "recording_format.h"

/* Look whether one has ended, and make its snapshot; again at the next look where that cannot be now. */
void sbx_stall_ends_look(uint64_t now_ns);

/* Nobody will see how they end: the process exits (SBX_END_DIED), or recording stops (SBX_END_UNSEEN). What has ended by now
 * is told as that. */
void sbx_stall_ends_close(enum sbx_stall_end how, uint64_t now_ns);

#endif
