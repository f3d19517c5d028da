/* SPDX-License-Identifier: Apache-2.0 */
/* upload_jitter.h - how long a payload waits before it is first sent. So payloads that many machines made at the same
 * moment do not arrive at the same moment.
 *
 * Nothing is stored. A payload's wait is computed from its id, which is random, and begins when its file was written.
 * So a program that runs for a short time, but often, sends the payload in a later run, and a restart does not choose
 * another wait. */
#ifndef SBX_UPLOAD_JITTER_H
#define SBX_UPLOAD_JITTER_H

#include <stdint.h>

/* Returns the rest of the wait of the payload `id` in `folder` (the spool's root). The wait is at most jitter_s seconds
 * from the time it was written. 0: it may be sent, or does not exist. A file with a time in the future was written with
 * another clock, and may be sent. */
uint64_t sbx_upload_jitter_left_ms(int folder, const uint8_t id[16], uint32_t jitter_s);

/* The same for a file written at `written_ms`, at `now_ms` of the same clock. Pure. */
uint64_t sbx_upload_jitter_of(const uint8_t id[16], uint32_t jitter_s, uint64_t written_ms, uint64_t now_ms);

#endif
