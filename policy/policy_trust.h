/* SPDX-License-Identifier: Apache-2.0 */
/* policy_trust.h - which documents are trusted: the steps from bytes to a policy, each with its own error.
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
 * Before step 6 is passed, nothing of the payload is read. The first KEYSET is the exception: it came with the
 * application, like the application's own code, and is trusted for that reason. It is checked all the same that its own
 * root keys signed it.
 *
 * Everything here is a function of values: no file, no clock, no network. A struct sbx_policy_trust is the caller's,
 * for one thread at a time. */
#ifndef SBX_POLICY_TRUST_H
#define SBX_POLICY_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keyset.h"
#include "policy_document.h"
#include "policy_verdict.h"
#include "signed_document.h"

/* The newest number of a trusted document. Stored durably: it never goes back. */
struct sbx_policy_floor {
    uint32_t epoch;
    uint32_t is_kill; /* it was a kill's number: only a higher number ends the kill */
    uint64_t seq;
    uint8_t hash[SBX_DIGEST_BYTES]; /* of the payload with that number */
};

struct sbx_policy_trust {
    struct sbx_verified_signatures *verified; /* borrowed; NULL: every signature is checked each time */
    struct sbx_keyset keyset;                 /* in force */
    uint8_t keyset_hash[SBX_DIGEST_BYTES];
    struct sbx_policy_floor floor;
    bool is_killed;
    uint64_t newest_issued_s;            /* the newest issued_at of any trusted document: the time is at least that */
    uint8_t safe_hash[SBX_DIGEST_BYTES]; /* a proven policy, which may be older than the floor; zeroes: none */
};

/* The inputs from which the present time is derived. */
struct sbx_policy_moment {
    uint64_t wall_s;  /* CLOCK_REALTIME */
    uint64_t build_s; /* build time of this program; a wall clock more than ten years later is not trusted */
};

/* The time for judging documents: the latest of the wall clock, the build time and the newest document. If the wall
 * clock is not trusted, the latest of the other two. Pure. */
uint64_t sbx_trusted_now(const struct sbx_policy_trust *trust, const struct sbx_policy_moment *moment);

/* Is the wall clock implausible? Then only uptime shows how old a policy is (freshness.h). Pure. */
bool sbx_clock_is_unknown(const struct sbx_policy_moment *moment);

/* Begin with the KEYSET that came with the application. `verified` (borrowed while the trust is used; may be NULL)
 * contains the signatures that need not be verified again. Everything else in *trust_out is zero: the caller sets
 * floor, newest_issued_s, is_killed and safe_hash to the stored values. */
enum sbx_policy_verdict sbx_policy_trust_begin(const uint8_t *keyset_document, size_t bytes,
                                               struct sbx_verified_signatures *verified,
                                               struct sbx_policy_trust *trust_out, struct sbx_policy_report *report);

/* Take one document. A KEYSET replaces the one in force. A KILL sets is_killed. A POLICY fills *document_out, which is
 * complete when ACCEPTED or SAME is returned, and undefined otherwise. A policy with kill set is ACCEPTED with
 * is_killed set, whatever its other fields are. A KEYSET of an earlier version than the one in force is SAME if our
 * root keys signed it: others need it, we do not. On any other verdict *trust is unchanged. */
enum sbx_policy_verdict sbx_policy_trust_take(struct sbx_policy_trust *trust,
                                              const struct sbx_signed_document *document,
                                              const struct sbx_policy_moment *moment,
                                              struct sbx_policy_document *document_out,
                                              struct sbx_policy_report *report);

/* The result of taking a bundle. */
struct sbx_bundle_outcome {
    bool has_policy; /* `policy` is the policy in force after this bundle */
    bool policy_is_new, keyset_is_new, kill_is_new;
    uint32_t new_documents; /* a bit for each document, by its index in the bundle, that was ACCEPTED */
    struct sbx_policy_document policy;
    struct sbx_signed_document policy_bytes; /* its position; borrowed from the bundle */
    uint8_t policy_hash[SBX_DIGEST_BYTES];
    struct sbx_policy_report report; /* of the first document that failed, else of the last */
};

/* Take a bundle: its KEYSETs, then its KILL, then its POLICY. A document that fails does not undo the earlier ones. A
 * POLICY is checked even if a KEYSET or KILL failed, with the keys in force. KEYSETs before the one in force are
 * skipped. Returns the report's verdict. */
enum sbx_policy_verdict sbx_policy_trust_take_bundle(struct sbx_policy_trust *trust, const uint8_t *bytes, size_t count,
                                                     const struct sbx_policy_moment *moment,
                                                     struct sbx_bundle_outcome *outcome_out);

#endif
