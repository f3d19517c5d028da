/* SPDX-License-Identifier: Apache-2.0 */
/* policy_trust.h - which documents are believed: the steps from bytes to a policy, each with its own way to fail.
 *
 *    1 size, magic, format, role, lengths           E_FORMAT
 *    2 the time, fixed once                         (sbx_trusted_now)
 *    3 digest                                       E_LATER
 *    4 the role's keys, each counted once           E_SIGNATURE, E_LATER
 *    5 raw r and s, s at most n/2                   E_SIGNATURE
 *    6 as many as the threshold                     E_SIGNATURE
 *    7 the payload is a message of the role         E_PARSE, E_UNSUPPORTED
 *    8 of this application, for this agent          E_APP, E_AGENT
 *    9 epoch, rollback, equivocation                E_EPOCH, E_ROLLBACK, E_EQUIVOCATION, SAME
 *   10 validity                                     E_EXPIRED, E_FUTURE, E_LIFETIME, E_KEYS_EXPIRED
 *   11 a kill is obeyed here
 *   12 every field within its limits                E_RANGE
 *   13 kept durably                                 E_STORE     (uploader/delivery/policy_store.h)
 *   14 activated, on probation                                  (crash_loop.h)
 *
 * Until step 6 nothing of the payload is looked at. The first KEYSET is the exception: it came with the application, as
 * the application's own code did, and is trusted for that; that its own root keys signed it is checked all the same.
 *
 * Everything here is a function of values: no file, no clock, no network. A struct sbx_policy_trust is the caller's, for one
 * thread at a time. */
#ifndef SBX_POLICY_TRUST_H
#define SBX_POLICY_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keyset.h"
#include "policy_document.h"
#include "policy_verdict.h"
#include "signed_document.h"

/* The newest number that was believed. Written down durably: it never goes back. */
struct sbx_policy_floor {
    uint32_t epoch;
    uint32_t is_kill; /* it was a kill's: only a higher one ends it */
    uint64_t seq;
    uint8_t hash[SBX_DIGEST_BYTES]; /* of the payload with that number */
};

struct sbx_policy_trust {
    struct sbx_verified_signatures *verified; /* borrowed; NULL: every signature is checked each time */
    struct sbx_keyset keyset;                 /* in force */
    uint8_t keyset_hash[SBX_DIGEST_BYTES];
    struct sbx_policy_floor floor;
    bool is_killed;
    uint64_t newest_issued_s; /* the newest issued_at of any document believed: time has come at least that far */
    uint8_t
        safe_hash[SBX_DIGEST_BYTES]; /* a policy that may be older than the floor: it has proved itself; zeroes: none */
};

/* When "now" is, as far as anybody here knows. */
struct sbx_policy_moment {
    uint64_t wall_s;  /* CLOCK_REALTIME */
    uint64_t build_s; /* when this program was built; a wall clock more than ten years from it is not believed */
};

/* The time that documents are judged by: the latest of the wall clock, the build and the newest document. With a clock that
 * is not believed, the latest of the other two. Pure. */
uint64_t sbx_trusted_now(const struct sbx_policy_trust *trust, const struct sbx_policy_moment *moment);

/* Is the wall clock out of its mind? Then only uptime tells how old a policy is (freshness.h). Pure. */
bool sbx_clock_is_unknown(const struct sbx_policy_moment *moment);

/* Begin with the KEYSET that came with the application. `verified` (borrowed as long as the trust is used; may be NULL) is what
 * needs no second look. Everything else in *trust_out is zero: the caller sets floor,
 * newest_issued_s, is_killed and safe_hash to what was written down. */
enum sbx_policy_verdict sbx_policy_trust_begin(const uint8_t *keyset_document, size_t bytes,
                                               struct sbx_verified_signatures *verified,
                                               struct sbx_policy_trust *trust_out, struct sbx_policy_report *report);

/* Take one document. A KEYSET replaces the one in force; a KILL sets is_killed; a POLICY fills *document_out, which is whole
 * when ACCEPTED or SAME is returned and undefined otherwise. A policy with kill set is ACCEPTED with is_killed set, whatever
 * its other fields say. A KEYSET of an earlier version than the one in force is SAME, if our roots signed it:
 * others need it, we do not. On any other verdict *trust is unchanged. */
enum sbx_policy_verdict sbx_policy_trust_take(struct sbx_policy_trust *trust,
                                              const struct sbx_signed_document *document,
                                              const struct sbx_policy_moment *moment,
                                              struct sbx_policy_document *document_out,
                                              struct sbx_policy_report *report);

/* What came of a bundle. */
struct sbx_bundle_outcome {
    bool has_policy; /* `policy` is a policy that is in force by this bundle */
    bool policy_is_new, keyset_is_new, kill_is_new;
    uint32_t new_documents; /* a bit for each document, by its index in the bundle, that was ACCEPTED */
    struct sbx_policy_document policy;
    struct sbx_signed_document policy_bytes; /* where it lies; borrowed from the bundle */
    uint8_t policy_hash[SBX_DIGEST_BYTES];
    struct sbx_policy_report report; /* of the first document that failed, else of the last */
};

/* Take a bundle: its KEYSETs, then its KILL, then its POLICY. A document that fails does not undo those before it, and a
 * POLICY is looked at even when a KEYSET or KILL failed (with the keys there are). KEYSETs that stand before the one in
 * force are passed over. Returns the report's verdict. */
enum sbx_policy_verdict sbx_policy_trust_take_bundle(struct sbx_policy_trust *trust, const uint8_t *bytes, size_t count,
                                                     const struct sbx_policy_moment *moment,
                                                     struct sbx_bundle_outcome *outcome_out);

#endif
