/* SPDX-License-Identifier: Apache-2.0 */
/* policy_trust.c - the verification steps: TUF's rules for roots and rollback (specification 5.3 and 5.4), and a kill
 * in addition. */
#include "policy_trust.h"

#include <string.h>

enum {
    DAY_S = 86400,
    HOUR_S = 3600
};
static const uint64_t clock_believed_s = UINT64_C(3653) * DAY_S; /* ten years */

bool sbx_clock_is_unknown(const struct sbx_policy_moment *moment)
{
    return moment->wall_s > moment->build_s + clock_believed_s;
}

uint64_t sbx_trusted_now(const struct sbx_policy_trust *trust, const struct sbx_policy_moment *moment)
{
    uint64_t now_s = moment->build_s;
    if (!sbx_clock_is_unknown(moment) && moment->wall_s > now_s) {
        now_s = moment->wall_s;
    }
    return trust->newest_issued_s > now_s ? trust->newest_issued_s : now_s;
}

/* Steps 3 to 6: did enough of these keys sign? SBX_POLICY_ACCEPTED, SIGNATURE or LATER. */
static enum sbx_policy_verdict check_signers(const struct sbx_signed_document *document,
                                             const uint8_t (*keys)[SBX_PUBLIC_KEY_BYTES], uint32_t key_count,
                                             uint32_t threshold, struct sbx_verified_signatures *verified,
                                             struct sbx_policy_report *report)
{
    int count = sbx_signed_document_signers(document, keys, key_count, verified, NULL);
    if (count < 0) {
        return sbx_policy_judge(report, SBX_POLICY_LATER, "no memory to check the signatures");
    }
    if (threshold == 0 || (uint32_t)count < threshold) {
        return sbx_policy_judge(report, SBX_POLICY_SIGNATURE, "a %s signed by %d of its keys, which needs %u",
                                sbx_signed_role_name(document->role), count, threshold);
    }
    return SBX_POLICY_ACCEPTED;
}

#define KEYS(list) ((const uint8_t(*)[SBX_PUBLIC_KEY_BYTES])(list))

enum sbx_policy_verdict sbx_policy_trust_begin(const uint8_t *keyset_document, size_t bytes,
                                               struct sbx_verified_signatures *verified,
                                               struct sbx_policy_trust *trust_out, struct sbx_policy_report *report)
{
    struct sbx_signed_document document;
    struct sbx_policy_trust trust = {.verified = verified};
    const char *wrong = sbx_signed_document_parse(keyset_document, bytes, &document);
    if (wrong != NULL) {
        return sbx_policy_judge(report, SBX_POLICY_FORMAT, "%s", wrong);
    }
    if (document.role != SBX_ROLE_KEYSET) {
        return sbx_policy_judge(report, SBX_POLICY_FORMAT, "a %s where a KEYSET has to be",
                                sbx_signed_role_name(document.role));
    }
    enum sbx_policy_verdict verdict =
        sbx_keyset_decode(document.payload, document.payload_bytes, &trust.keyset, report);
    if (verdict == SBX_POLICY_ACCEPTED) {
        verdict = check_signers(&document, KEYS(trust.keyset.root_keys), trust.keyset.root_key_count,
                                trust.keyset.root_threshold, verified, report);
    }
    if (verdict != SBX_POLICY_ACCEPTED) {
        return verdict;
    }
    if (sbx_signed_document_hash(&document, trust.keyset_hash) != 0) {
        return sbx_policy_judge(report, SBX_POLICY_LATER, "the digest could not be made");
    }
    *trust_out = trust;
    return sbx_policy_judge(report, SBX_POLICY_ACCEPTED, "KEYSET %u", trust.keyset.version);
}

/* Step 10, for documents of any role. */
static enum sbx_policy_verdict check_validity(uint64_t issued_at_s, uint64_t expires_at_s, uint32_t days_max,
                                              uint64_t now_s, struct sbx_policy_report *report)
{
    if (expires_at_s <= now_s) {
        return sbx_policy_judge(report, SBX_POLICY_EXPIRED, "expired %llu s ago",
                                (unsigned long long)(now_s - expires_at_s));
    }
    if (issued_at_s > now_s + SBX_POLICY_EARLY_H * HOUR_S) {
        return sbx_policy_judge(report, SBX_POLICY_FUTURE, "issued %llu s from now",
                                (unsigned long long)(issued_at_s - now_s));
    }
    if (expires_at_s <= issued_at_s || expires_at_s - issued_at_s > (uint64_t)days_max * DAY_S) {
        return sbx_policy_judge(report, SBX_POLICY_LIFETIME, "valid for longer than %u days, or for no time at all",
                                days_max);
    }
    return SBX_POLICY_ACCEPTED;
}

static enum sbx_policy_verdict take_keyset(struct sbx_policy_trust *trust, const struct sbx_signed_document *document,
                                           const struct sbx_policy_moment *moment, struct sbx_policy_report *report)
{
    struct sbx_keyset keyset;
    uint8_t hash[SBX_DIGEST_BYTES];
    if (sbx_signed_document_hash(document, hash) != 0) {
        return sbx_policy_judge(report, SBX_POLICY_LATER, "the digest could not be made");
    }
    if (memcmp(hash, trust->keyset_hash, sizeof hash) == 0) {
        return sbx_policy_judge(report, SBX_POLICY_SAME, "KEYSET %u is in force", trust->keyset.version);
    }
    enum sbx_policy_verdict verdict =
        check_signers(document, KEYS(trust->keyset.root_keys), trust->keyset.root_key_count,
                      trust->keyset.root_threshold, trust->verified, report);
    if (verdict != SBX_POLICY_ACCEPTED) {
        return verdict;
    }
    verdict = sbx_keyset_decode(document->payload, document->payload_bytes, &keyset, report);
    if (verdict != SBX_POLICY_ACCEPTED) {
        return verdict;
    }
    if (memcmp(keyset.app_id, trust->keyset.app_id, SBX_APP_ID_BYTES) != 0) {
        return sbx_policy_judge(report, SBX_POLICY_APP, "a KEYSET of another application");
    }
    if (keyset.version < trust->keyset.version) {
        return sbx_policy_judge(report, SBX_POLICY_SAME, "KEYSET %u is behind us", keyset.version);
    }
    if (keyset.version == trust->keyset.version) {
        return sbx_policy_judge(report, SBX_POLICY_EQUIVOCATION, "another KEYSET %u than the one in force",
                                keyset.version);
    }
    if (keyset.version != trust->keyset.version + 1) {
        return sbx_policy_judge(report, SBX_POLICY_CHAIN, "KEYSET %u cannot follow KEYSET %u", keyset.version,
                                trust->keyset.version);
    }
    if (keyset.epoch < trust->keyset.epoch) {
        return sbx_policy_judge(report, SBX_POLICY_EPOCH, "KEYSET %u goes back to epoch %u", keyset.version,
                                keyset.epoch);
    }
    if (check_signers(document, KEYS(keyset.root_keys), keyset.root_key_count, keyset.root_threshold, trust->verified,
                      report) != SBX_POLICY_ACCEPTED) {
        return report->verdict == SBX_POLICY_LATER
                   ? SBX_POLICY_LATER
                   : sbx_policy_judge(report, SBX_POLICY_CHAIN,
                                      "KEYSET %u is not signed by enough of its own root keys", keyset.version);
    }
    /* An expired KEYSET is still a step towards the next one (TUF 5.3.10): policies under it are refused later. */
    uint64_t now_s = sbx_trusted_now(trust, moment);
    uint64_t seen_from_s = keyset.expires_at_s > now_s ? now_s : keyset.issued_at_s;
    verdict = check_validity(keyset.issued_at_s, keyset.expires_at_s, SBX_KEYSET_DAYS_MAX, seen_from_s, report);
    if (verdict != SBX_POLICY_ACCEPTED) {
        return verdict;
    }
    trust->keyset = keyset;
    memcpy(trust->keyset_hash, hash, sizeof hash);
    if (keyset.issued_at_s > trust->newest_issued_s) {
        trust->newest_issued_s = keyset.issued_at_s;
    }
    return sbx_policy_judge(report, SBX_POLICY_ACCEPTED, "KEYSET %u", keyset.version);
}

/* Compares epoch, then seq: -1, 0, 1. */
static int compare_to_floor(const struct sbx_policy *policy, const struct sbx_policy_floor *floor)
{
    if (policy->epoch != floor->epoch) {
        return policy->epoch < floor->epoch ? -1 : 1;
    }
    return policy->seq < floor->seq ? -1 : policy->seq > floor->seq;
}

/* Step 9. ACCEPTED: the document is newer, or it is the one that has proved itself. */
static enum sbx_policy_verdict check_number(const struct sbx_policy_trust *trust, const struct sbx_policy *policy,
                                            bool is_kill, const uint8_t hash[SBX_DIGEST_BYTES],
                                            struct sbx_policy_report *report)
{
    static const uint8_t none[SBX_DIGEST_BYTES];
    const struct sbx_policy_floor *floor = &trust->floor;
    unsigned long long seq = policy->seq, floor_seq = floor->seq;
    if (!is_kill && memcmp(trust->safe_hash, none, sizeof none) != 0 &&
        memcmp(trust->safe_hash, hash, sizeof none) == 0 && memcmp(floor->hash, hash, sizeof none) != 0) {
        return SBX_POLICY_ACCEPTED;
    }
    int order = compare_to_floor(policy, floor);
    if (order > 0) {
        return SBX_POLICY_ACCEPTED;
    }
    if (order == 0 && memcmp(floor->hash, hash, SBX_DIGEST_BYTES) == 0) {
        return sbx_policy_judge(report, SBX_POLICY_SAME, "%u.%llu is known", policy->epoch, seq);
    }
    if (order == 0 && is_kill && floor->is_kill == 0) {
        return SBX_POLICY_ACCEPTED; /* the signer of a kill need not know the newest policy number */
    }
    if (order == 0 && (is_kill || floor->is_kill == 0)) {
        return sbx_policy_judge(report, SBX_POLICY_EQUIVOCATION, "another document has the number %u.%llu",
                                policy->epoch, seq);
    }
    return sbx_policy_judge(report, SBX_POLICY_ROLLBACK, "number %u.%llu, but %u.%llu%s was accepted before",
                            policy->epoch, seq, floor->epoch, floor_seq, floor->is_kill != 0 ? " (a kill)" : "");
}

/* The document has passed steps 11 to 13: remember its number. */
static void raise_floor(struct sbx_policy_trust *trust, const struct sbx_policy_document *document, bool is_kill,
                        const uint8_t hash[SBX_DIGEST_BYTES])
{
    if (compare_to_floor(&document->policy, &trust->floor) >= 0) {
        trust->floor.epoch = document->policy.epoch;
        trust->floor.seq = document->policy.seq;
        trust->floor.is_kill = is_kill;
        memcpy(trust->floor.hash, hash, SBX_DIGEST_BYTES);
        trust->is_killed = is_kill;
    }
    if (document->issued_at_s > trust->newest_issued_s) {
        trust->newest_issued_s = document->issued_at_s;
    }
}

/* Takes a POLICY or a KILL, from step 3 on. */
static enum sbx_policy_verdict take_numbered(struct sbx_policy_trust *trust, const struct sbx_signed_document *document,
                                             const struct sbx_policy_moment *moment,
                                             struct sbx_policy_document *document_out, struct sbx_policy_report *report)
{
    bool is_kill_role = document->role == SBX_ROLE_KILL;
    const struct sbx_keyset *keyset = &trust->keyset;
    uint64_t now_s = sbx_trusted_now(trust, moment);
    uint8_t hash[SBX_DIGEST_BYTES];
    enum sbx_policy_verdict verdict =
        is_kill_role
            ? check_signers(document, KEYS(keyset->kill_keys), keyset->kill_key_count, 1, trust->verified, report)
            : check_signers(document, KEYS(keyset->policy_keys), keyset->policy_key_count, keyset->policy_threshold,
                            trust->verified, report);
    if (verdict == SBX_POLICY_ACCEPTED) {
        verdict = sbx_policy_document_decode(document->payload, document->payload_bytes, document_out, report);
    }
    if (verdict != SBX_POLICY_ACCEPTED) {
        return verdict;
    }
    if (memcmp(document_out->app_id, keyset->app_id, SBX_APP_ID_BYTES) != 0) {
        return sbx_policy_judge(report, SBX_POLICY_APP, "of another application");
    }
    uint32_t agent = sbx_agent_number();
    bool is_kill = is_kill_role || document_out->kill;
    if (!is_kill_role && ((document_out->min_agent != 0 && agent < document_out->min_agent) ||
                          (document_out->max_agent != 0 && agent > document_out->max_agent))) {
        return sbx_policy_judge(report, SBX_POLICY_AGENT, "for agents %u to %u, and this is %u",
                                document_out->min_agent, document_out->max_agent, agent);
    }
    if (document_out->policy.epoch != keyset->epoch) {
        return sbx_policy_judge(report, SBX_POLICY_EPOCH, "of epoch %u, and the KEYSET's is %u",
                                document_out->policy.epoch, keyset->epoch);
    }
    if (sbx_signed_document_hash(document, hash) != 0) {
        return sbx_policy_judge(report, SBX_POLICY_LATER, "the digest could not be made");
    }
    bool is_same = false;
    verdict = check_number(trust, &document_out->policy, is_kill, hash, report);
    if (verdict == SBX_POLICY_SAME) {
        is_same = true;
    } else if (verdict != SBX_POLICY_ACCEPTED) {
        return verdict;
    }
    if (!is_kill_role) { /* a kill is valid however old it is */
        verdict =
            check_validity(document_out->issued_at_s, document_out->expires_at_s, SBX_POLICY_DAYS_MAX, now_s, report);
        if (verdict == SBX_POLICY_ACCEPTED && keyset->expires_at_s <= now_s) {
            verdict = sbx_policy_judge(report, SBX_POLICY_KEYS_EXPIRED, "KEYSET %u has expired", keyset->version);
        }
        if (verdict == SBX_POLICY_ACCEPTED && !is_kill) {
            verdict = sbx_policy_document_check(document_out, keyset, report);
        }
        if (verdict != SBX_POLICY_ACCEPTED) {
            return verdict;
        }
    }
    if (is_same) {
        return sbx_policy_judge(report, SBX_POLICY_SAME, "%u.%llu is known", document_out->policy.epoch,
                                (unsigned long long)document_out->policy.seq);
    }
    raise_floor(trust, document_out, is_kill, hash);
    return sbx_policy_judge(report, SBX_POLICY_ACCEPTED, "%s %u.%llu", sbx_signed_role_name(document->role),
                            document_out->policy.epoch, (unsigned long long)document_out->policy.seq);
}

enum sbx_policy_verdict sbx_policy_trust_take(struct sbx_policy_trust *trust,
                                              const struct sbx_signed_document *document,
                                              const struct sbx_policy_moment *moment,
                                              struct sbx_policy_document *document_out,
                                              struct sbx_policy_report *report)
{
    return document->role == SBX_ROLE_KEYSET ? take_keyset(trust, document, moment, report)
                                             : take_numbered(trust, document, moment, document_out, report);
}

static bool is_good(enum sbx_policy_verdict verdict)
{
    return verdict == SBX_POLICY_ACCEPTED || verdict == SBX_POLICY_SAME;
}

/* The bundle's first document to check: earlier KEYSETs than the one in force were signed by keys that may be unknown
 * by now, and are not needed any more. */
static uint32_t first_of_interest(const struct sbx_policy_trust *trust, const struct sbx_bundle *bundle)
{
    uint8_t hash[SBX_DIGEST_BYTES];
    for (uint32_t i = bundle->count; i-- > 0;) {
        if (bundle->documents[i].role == SBX_ROLE_KEYSET &&
            sbx_signed_document_hash(&bundle->documents[i], hash) == 0 &&
            memcmp(hash, trust->keyset_hash, sizeof hash) == 0) {
            return i;
        }
    }
    return 0;
}

/* Takes the bundle's documents of one role. */
static void take_role(struct sbx_policy_trust *trust, const struct sbx_bundle *bundle, enum sbx_signed_role role,
                      const struct sbx_policy_moment *moment, struct sbx_bundle_outcome *outcome)
{
    for (uint32_t i = role == SBX_ROLE_KEYSET ? first_of_interest(trust, bundle) : 0; i < bundle->count; i++) {
        const struct sbx_signed_document *document = &bundle->documents[i];
        struct sbx_policy_report report;
        struct sbx_policy_document taken;
        if (document->role != role) {
            continue;
        }
        enum sbx_policy_verdict verdict = sbx_policy_trust_take(trust, document, moment, &taken, &report);
        if (is_good(outcome->report.verdict)) {
            outcome->report = report;
        }
        bool is_new = verdict == SBX_POLICY_ACCEPTED;
        if (!is_good(verdict)) {
            continue;
        }
        outcome->new_documents |= (uint32_t)is_new << i;
        if (role == SBX_ROLE_KEYSET) {
            outcome->keyset_is_new |= is_new;
        } else if (role == SBX_ROLE_KILL || taken.kill) {
            outcome->kill_is_new |= is_new;
        } else if (sbx_signed_document_hash(document, outcome->policy_hash) == 0) {
            outcome->has_policy = true;
            outcome->policy_is_new = is_new;
            outcome->policy = taken;
            outcome->policy_bytes = *document;
        }
    }
}

enum sbx_policy_verdict sbx_policy_trust_take_bundle(struct sbx_policy_trust *trust, const uint8_t *bytes, size_t count,
                                                     const struct sbx_policy_moment *moment,
                                                     struct sbx_bundle_outcome *outcome_out)
{
    struct sbx_bundle bundle;
    memset(outcome_out, 0, sizeof *outcome_out);
    const char *wrong = sbx_bundle_parse(bytes, count, &bundle);
    if (wrong != NULL) {
        return sbx_policy_judge(&outcome_out->report, SBX_POLICY_FORMAT, "%s", wrong);
    }
    take_role(trust, &bundle, SBX_ROLE_KEYSET, moment, outcome_out);
    take_role(trust, &bundle, SBX_ROLE_KILL, moment, outcome_out);
    take_role(trust, &bundle, SBX_ROLE_POLICY, moment, outcome_out);
    return outcome_out->report.verdict;
}
