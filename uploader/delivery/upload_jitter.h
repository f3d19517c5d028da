/* SPDX-License-Identifier: Apache-2.0 */
/* upload_jitter.h - how long a payload waits before it is first sent, so that what many machines met at one moment does
 * not arrive at one moment.
 *
 * Nothing is remembered: a payload's wait follows from its id, which is random, and counts from when its file was written.
 * So a program that runs shortly and often sends it in a later run, and a restart draws no new lot. */
#ifndef SBX_UPLOAD_JITTER_H
#define SBX_UPLOAD_JITTER_H

#include <stdint.h>

/* What is left of it for the payload `id` in `folder` (the spool's root): at most jitter_s seconds since it was written,
 * 0 when it may go, or is not there. A file of the future was written by another clock: it may go. */
uint64_t sbx_upload_jitter_left_ms(int folder, const uint8_t id[16], uint32_t jitter_s);

/* Pure: the same of a file written at `written_ms`, at `now_ms` of the same clock. */
uint64_t sbx_upload_jitter_of(const uint8_t id[16], uint32_t jitter_s, uint64_t written_ms, uint64_t now_ms);

#endif
