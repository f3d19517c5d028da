/* SPDX-License-Identifier: Apache-2.0 */
/* stall_ends.h - when and how a reported stall ended (told_stalls.h), and the snapshot that reports it. Watch thread
 * only. */
#ifndef SBX_STALL_ENDS_H
#define SBX_STALL_ENDS_H

#include <stdint.h>

#include "recording_format.h"

/* Check whether a stall has ended, and make its snapshot. If this is impossible now, it is tried again at the next
 * look. */
void sbx_stall_ends_look(uint64_t now_ns);

/* Report the ends now, because they will not be seen later: the process exits (SBX_END_DIED), or recording stops
 * (SBX_END_UNSEEN). A stall that has ended by now is reported as ended. */
void sbx_stall_ends_close(enum sbx_stall_end how, uint64_t now_ns);

#endif
