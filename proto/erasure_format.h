/* SPDX-License-Identifier: Apache-2.0 */
/* erasure_format.h - the rotating id of a machine in its payloads, and the request to delete the data with such ids.
 *
 *   period       days since 1970 / SBX_ROTATING_PERIOD_DAYS
 *   proof        HMAC-SHA-256(secret of the spool, "stallbox-erase-v1" NUL || period, 4 bytes little endian)
 *   rotating id  first 16 bytes of SHA-256("stallbox-rotating-v1" NUL || proof)
 *
 * A payload carries the rotating id of its period. Without the secret, nobody can tell that the ids of two periods
 * belong together, or make the proof for an id. POST /v1/erasures takes proofs of 64 hex digits, one per line, at most
 * SBX_ERASURES_MAX. The server deletes the data with their ids, and accepts no more of it. The answer is 200 with
 * exactly SBX_ERASED_ANSWER, whether there was any data or not. If there is more data than is deleted at once, the
 * answer is 202 with exactly SBX_ERASING_ANSWER. Then the server continues by itself, and when it has finished, it
 * answers a repeated request with 200.
 *
 * This is only a layout. Agent side and server side each have their own code for it. */
#ifndef SBX_ERASURE_FORMAT_H
#define SBX_ERASURE_FORMAT_H

enum {
    SBX_ROTATING_PERIOD_DAYS = 90,
    SBX_ROTATING_ID_BYTES = 16,
    SBX_ERASURE_PROOF_BYTES = 32,
    SBX_ERASURES_MAX = 40, /* ten years of periods: longer than any data here is kept */
};

#define SBX_ERASURE_LABEL  "stallbox-erase-v1"
#define SBX_ROTATING_LABEL "stallbox-rotating-v1"
#define SBX_ERASURES_PATH  "/v1/erasures"
#define SBX_ERASED_ANSWER  "STALLBOX-ERASED\n"
#define SBX_ERASING_ANSWER "STALLBOX-ERASING\n"

#endif
