/* SPDX-License-Identifier: Apache-2.0 */
/* policy_verdict.h - the result of checking a signed document: one number and one sentence for each way to fail.
 *
 * Numbers are appended, never moved: a machine reports them about its policy. */
#ifndef SBX_POLICY_VERDICT_H
#define SBX_POLICY_VERDICT_H

#include <stdint.h>

enum sbx_policy_verdict {
    SBX_POLICY_ACCEPTED = 0,
    SBX_POLICY_SAME = 1,          /* the known document: nothing to do */
    SBX_POLICY_FORMAT = 2,        /* not a container, or its lengths do not fit */
    SBX_POLICY_SIGNATURE = 3,     /* fewer valid signatures of the role's keys than its threshold */
    SBX_POLICY_LATER = 4,         /* no memory to check: says nothing about the document */
    SBX_POLICY_PARSE = 5,         /* signed, but its payload is no message of its role */
    SBX_POLICY_UNSUPPORTED = 6,   /* needs a feature this build does not have */
    SBX_POLICY_APP = 7,           /* of another application */
    SBX_POLICY_AGENT = 8,         /* for older or newer agents */
    SBX_POLICY_EPOCH = 9,         /* of another epoch than the KEYSET in force */
    SBX_POLICY_ROLLBACK = 10,     /* older than one that was accepted */
    SBX_POLICY_EQUIVOCATION = 11, /* two documents under one number: the key may be stolen */
    SBX_POLICY_EXPIRED = 12,
    SBX_POLICY_FUTURE = 13,   /* issued more than 48 h in the future */
    SBX_POLICY_LIFETIME = 14, /* valid for longer than a document may be */
    SBX_POLICY_RANGE = 15,    /* a field is out of the compiled limits or the KEYSET's caps */
    SBX_POLICY_CHAIN = 16,    /* a KEYSET that is not the next one, or not signed by both the old and the new keys */
    SBX_POLICY_KEYS_EXPIRED = 17, /* the KEYSET in force has expired */
    SBX_POLICY_STORE = 18,        /* accepted, but could not be kept */
    SBX_POLICY_VERDICTS = 19
};

/* A verdict and its reason, for people. `why` is a sentence fragment. It contains nothing that an attacker could have
 * written, except numbers. */
struct sbx_policy_report {
    enum sbx_policy_verdict verdict;
    char why[200];
};

/* "E_ROLLBACK"; "OK" and "SAME" for the first two. Never NULL. */
const char *sbx_policy_verdict_name(uint32_t verdict);

/* Fill a report; returns its verdict. */
enum sbx_policy_verdict sbx_policy_judge(struct sbx_policy_report *report, enum sbx_policy_verdict verdict,
                                         const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
