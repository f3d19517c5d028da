/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - one immutable value that says what may be recorded and sent; numbers only.
 *
 * One such value is the embedded default; signed documents make others (policy_document.h). The agent uses only this
 * header: nothing here verifies, parses or allocates. */
#ifndef SBX_POLICY_H
#define SBX_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture_settings.h"
#include "redaction.h"
#include "sampling.h"

/* When payloads may be sent. A condition that the host does not report is not met: an unknown network counts as
 * metered. */
enum sbx_upload_condition {
    SBX_UPLOAD_UNMETERED = 1, /* the network does not charge by the byte */
    SBX_UPLOAD_CHARGING = 2,  /* the machine does not run on its battery */
    SBX_UPLOAD_IDLE = 4,      /* no person uses the machine now */
    SBX_UPLOAD_CONDITIONS_ALL = 7,
};

/* Terms for the companion; the application does not use them. */
struct sbx_delivery_terms {
    uint32_t snapshots_day;      /* snapshots that become payloads in a UTC day; 0: none */
    uint32_t snapshots_kind_day; /* of one trigger kind */
    uint32_t bytes_day;          /* payload bytes sent in a UTC day; 0: none */
    uint32_t bytes_day_metered;  /* of those over a network that is not known to be unmetered */
    uint32_t upload_conditions;  /* enum sbx_upload_condition: all of these must be met; 0: any time */
    uint32_t poll_s;             /* how often the server is asked for a policy, plus or minus a quarter */
    uint32_t spool_kib;          /* limit of waiting payloads; the oldest is deleted first */
    uint32_t spool_files;
    uint32_t spool_hours;     /* anything in the spool is deleted after this time, sent or not */
    uint32_t upload_jitter_s; /* a payload waits for a random time up to this before it is first sent */
    struct sbx_sampling_terms sampling;
};

struct sbx_policy {
    uint32_t epoch;
    uint64_t seq; /* 0, 0: the embedded default */
    struct sbx_capture_settings capture;
    enum sbx_module_rule module_rule;
    struct sbx_delivery_terms delivery;
};

/* How people write a field. */
enum sbx_policy_field_form {
    SBX_FIELD_NUMBER = 0,
    SBX_FIELD_SWITCH = 1,     /* yes or no */
    SBX_FIELD_POINTS = 2,     /* names of capture points */
    SBX_FIELD_CONDITIONS = 3, /* names of upload conditions */
    SBX_FIELD_MODULES = 4,    /* app or distribution */
};

/* A number of a policy: its name in texts, its number in documents, and the compiled limits, which hold whoever has
 * signed. For a mask, `max` has every bit that may be set. */
struct sbx_policy_field {
    const char *name;
    uint32_t number; /* in policy.proto: new ones are appended, never moved or reused */
    enum sbx_policy_field_form form;
    size_t offset; /* in struct sbx_policy: of a uint64_t if the form is POINTS, else of a uint32_t */
    uint64_t min, max;
    bool may_be_off; /* 0 is allowed as well, and switches the thing off */
};

/* All fields, in the order of their numbers. */
const struct sbx_policy_field *sbx_policy_fields(size_t *count_out);

/* The field of that number in policy.proto; NULL when this version does not know it. */
const struct sbx_policy_field *sbx_policy_field_of_number(uint32_t number);

uint64_t sbx_policy_get(const struct sbx_policy *policy, const struct sbx_policy_field *field);
/* `value` must fit the field: only a mask of points may have more than 32 bits. */
void sbx_policy_set(struct sbx_policy *policy, const struct sbx_policy_field *field, uint64_t value);

/* Is the value within the field's compiled limits? */
bool sbx_policy_field_holds(const struct sbx_policy_field *field, uint64_t value);

/* The compiled-in default: conservative, and used when no other policy was ever received. */
const struct sbx_policy *sbx_policy_default(void);

/* The policy that is used when the last one has expired or may be too old. It records less than the default, so that
 * nobody gains by holding back a policy; but it still records, so that a forgotten signature does not blind anybody. */
void sbx_policy_reduced(struct sbx_policy *policy_out);

/* Nothing is recorded and nothing is sent: after a kill, or when the application crashed with every other policy. */
void sbx_policy_off(struct sbx_policy *policy_out);

/* Check every field against the compiled limits. Returns NULL when all hold, else the name of the first invalid field
 * ("interval_us"): a document with one bad field is refused as a whole. */
const char *sbx_policy_check(const struct sbx_policy *policy);

/* Convert a policy to the numbers for capture. This is the only way from one to the other. */
void sbx_policy_settings(const struct sbx_policy *policy, struct sbx_capture_settings *settings_out);
void sbx_policy_redaction(const struct sbx_policy *policy, struct sbx_redaction *redaction_out);

#endif
