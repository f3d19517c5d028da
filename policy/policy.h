/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - one immutable value that says what may be recorded and sent; numbers only.
 *
 * The embedded default is one; a signed document makes others (policy_document.h). The agent knows this header alone:
 * nothing here verifies, parses or allocates. */
#ifndef SBX_POLICY_H
#define SBX_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture_settings.h"
#include "redaction.h"
#include "sampling.h"

/* When payloads may be sent. What the host does not say does not hold: an unknown network is a metered one. */
enum sbx_upload_condition {
    SBX_UPLOAD_UNMETERED = 1, /* the network costs nothing by the byte */
    SBX_UPLOAD_CHARGING = 2,  /* not running down a battery */
    SBX_UPLOAD_IDLE = 4,      /* nobody uses the machine now */
    SBX_UPLOAD_CONDITIONS_ALL = 7,
};

/* What the companion holds to; the application knows nothing of it. */
struct sbx_delivery_terms {
    uint32_t snapshots_day;      /* snapshots that become payloads in a UTC day; 0: none */
    uint32_t snapshots_kind_day; /* of one trigger kind */
    uint32_t bytes_day;          /* payload bytes sent in a UTC day; 0: none */
    uint32_t bytes_day_metered;  /* of those over a network that is not known to be unmetered */
    uint32_t upload_conditions;  /* enum sbx_upload_condition: all of these must hold; 0: any time */
    uint32_t poll_s;             /* how often the server is asked for a policy, give or take a quarter */
    uint32_t spool_kib;          /* payloads that wait, at most; the oldest goes first */
    uint32_t spool_files;
    uint32_t spool_hours;     /* anything in the spool goes when it has been there for so long, sent or not */
    uint32_t upload_jitter_s; /* a payload waits for up to this long before it is first sent */
    struct sbx_sampling_terms sampling;
};

struct sbx_policy {
    uint32_t epoch;
    uint64_t seq; /* 0, 0: the embedded default */
    struct sbx_capture_settings capture;
    enum sbx_module_rule module_rule;
    struct sbx_delivery_terms delivery;
};

/* How a field is written by a person. */
enum sbx_policy_field_form {
    SBX_FIELD_NUMBER = 0,
    SBX_FIELD_SWITCH = 1,     /* yes or no */
    SBX_FIELD_POINTS = 2,     /* names of capture points */
    SBX_FIELD_CONDITIONS = 3, /* names of upload conditions */
    SBX_FIELD_MODULES = 4,    /* app or distribution */
};

/* A number of a policy: its name in texts, its number in documents, and the limits that hold whoever signed. Of a mask,
 * `max` has every bit that may be set. */
struct sbx_policy_field {
    const char *name;
    uint32_t number; /* in policy.proto: appended, never moved or reused */
    enum sbx_policy_field_form form;
    size_t offset; /* in struct sbx_policy: of a uint64_t where the form is POINTS, of a uint32_t else */
    uint64_t min, max;
    bool may_be_off; /* 0 is allowed besides: it switches the thing off */
};

/* All of them, in the order of their numbers. */
const struct sbx_policy_field *sbx_policy_fields(size_t *count_out);

/* The one of that number in policy.proto; NULL when this version does not know it. */
const struct sbx_policy_field *sbx_policy_field_of_number(uint32_t number);

uint64_t sbx_policy_get(const struct sbx_policy *policy, const struct sbx_policy_field *field);
/* `value` fits the field: one of more than 32 bits is for a mask of points only. */
void sbx_policy_set(struct sbx_policy *policy, const struct sbx_policy_field *field, uint64_t value);

/* Does the value keep the field's compiled limits? */
bool sbx_policy_field_holds(const struct sbx_policy_field *field, uint64_t value);

/* The compiled-in default: conservative, and what runs when nothing else was ever heard. */
const struct sbx_policy *sbx_policy_default(void);

/* What runs when the last policy has expired or cannot be known to be fresh: less than the default, so that holding
 * back a policy gains nobody anything, but not nothing, so that a forgotten signature blinds nobody. */
void sbx_policy_reduced(struct sbx_policy *policy_out);

/* Nothing is recorded and nothing is sent: after a kill, or when nothing else kept the application alive. */
void sbx_policy_off(struct sbx_policy *policy_out);

/* Check every field against the compiled limits. Returns NULL when all hold, else the name of the first that does not
 * ("interval_us"): a document with one bad field is refused whole. */
const char *sbx_policy_check(const struct sbx_policy *policy);

/* Policy -> the numbers capture takes. The only way from one to the other. */
void sbx_policy_settings(const struct sbx_policy *policy, struct sbx_capture_settings *settings_out);
void sbx_policy_redaction(const struct sbx_policy *policy, struct sbx_redaction *redaction_out);

#endif
