/* SPDX-License-Identifier: Apache-2.0 */
/* stall_scan.h - checks a protobuf body before a parser allocates anything for it. */
#ifndef SBX_STALL_SCAN_H
#define SBX_STALL_SCAN_H

#include <stddef.h>
#include <stdint.h>

/* Maximum rows of a payload's tables: as many as one snapshot of the largest recording can have, and a reserve. */
enum {
    SBX_STALL_MODULES_MAX = 2048,
    SBX_STALL_THREADS_MAX = 4096,
    SBX_STALL_FRAMES_MAX = 1 << 17,
    SBX_STALL_FUNCTIONS_MAX = 1 << 16,
    SBX_STALL_CALLSTACKS_MAX = 1 << 18,
    SBX_STALL_RECORDS_MAX = 1 << 18,
    SBX_STALL_WATCHES_MAX = 1024,
    SBX_STALL_UNKNOWN_MAX = 64, /* fields of a newer schema that are skipped */
};

/* Whether `body` has the form of a Payload: every known field once, with its wire type, columns packed and within the
 * limits above, no group, at most SBX_STALL_UNKNOWN_MAX unknown fields. Returns 0, or -EPROTO with the reason. */
int sbx_stall_scan(const uint8_t *body, size_t bytes, char *why, size_t why_bytes);

#endif
