/* SPDX-License-Identifier: Apache-2.0 */
/* erasure_format.h - the rotating id of a machine in its payloads, and the request to delete what carries it.
 *
 *   period       days since 1970 / SBX_ROTATING_PERIOD_DAYS
 *   proof        HMAC-SHA-256(secret of the spool, "stallbox-erase-v1" NUL || period, 4 bytes little endian)
 *   rotating id  first 16 bytes of SHA-256("stallbox-rotating-v1" NUL || proof)
 *
 * A payload carries the rotating id of its period; nobody without the secret can tell that two periods' ids belong
 * together, nor make the proof of an id. POST /v1/erasures takes proofs, 64 hex digits each, one a line,
 * SBX_ERASURES_MAX at most: the server deletes what carries their ids and takes no more of it. The answer is 200 with
 * exactly SBX_ERASED_ANSWER, whether there was anything or not; or 202 with exactly SBX_ERASING_ANSWER while there is
 * more than is deleted at once: the server goes on by itself, and says 200 to who asks again when it is done.
 *
 * A layout only: agent side and server side each have their own code for it. */
#ifndef SBX_ERASURE_FORMAT_H
#define SBX_ERASURE_FORMAT_H

enum {
    SBX_ROTATING_PERIOD_DAYS = 90,
    SBX_ROTATING_ID_BYTES = 16,
    SBX_ERASURE_PROOF_BYTES = 32,
    SBX_ERASURES_MAX = 40, /* ten years of periods: more than anything here is kept */
};

#define SBX_ERASURE_LABEL  "stallbox-erase-v1"
#define SBX_ROTATING_LABEL "stallbox-rotating-v1"
#define SBX_ERASURES_PATH  "/v1/erasures"
#define SBX_ERASED_ANSWER  "STALLBOX-ERASED\n"
#define SBX_ERASING_ANSWER "STALLBOX-ERASING\n"

#endif
