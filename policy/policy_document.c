/* SPDX-License-Identifier: Apache-2.0 */
/* policy_document.c - converts POLICY and KILL payloads to values and back, by the table of fields in policy.c. */
#include "policy_document.h"

#include <stdio.h>
#include <string.h>

#include "policy_wire.h"

/* Fields of message Policy in policy.proto that are not in the table. */
enum {
    FIELD_APP_ID = 1,
    FIELD_EPOCH = 2,
    FIELD_SEQ = 3,
    FIELD_ISSUED_AT = 4,
    FIELD_EXPIRES_AT = 5,
    FIELD_MIN_AGENT = 6,
    FIELD_MAX_AGENT = 7,
    FIELD_REQUIRED_FEATURES = 8,
    FIELD_KILL = 9,
    FIELD_POINT_LIMITS = 40,
    FIELD_ROLLOUT = 41,
    FIELD_LAST = 49, /* the last one of the table; larger numbers are unknown */
};
enum {
    LIMITS_GROUP = 1,
    LIMITS_INTERVAL = 2,
    LIMITS_THRESHOLD = 3
};
enum {
    ROLLOUT_ID = 1,
    ROLLOUT_SALT = 2,
    ROLLOUT_THRESHOLD = 3,
    ROLLOUT_EFFECTS = 4,
    ROLLOUT_POINTS = 5
};

/* Numbers of the caps that also apply to a group's own values. */
enum {
    NUMBER_POINTS = 12,
    NUMBER_INTERVAL = 13,
    NUMBER_WAIT_MIN = 16
};

uint32_t sbx_agent_number(void)
{
    unsigned major = 0, minor = 0, patch = 0;
    sscanf(STALLBOX_POLICY_AGENT_VERSION, "%u.%u.%u", &major, &minor, &patch);
    return major * 1000000u + minor * 1000u + patch;
}

/* Reads a 32-bit number; a larger value is noted as out of range, and not cut. */
static bool take_u32(const struct sbx_wire_field *field, const char *name, struct sbx_policy_document *document,
                     uint32_t *value_out)
{
    if (field->type != SBX_WIRE_NUMBER) {
        return false;
    }
    if (field->value > UINT32_MAX && document->overflown == NULL) {
        document->overflown = name;
    }
    *value_out = field->value > UINT32_MAX ? UINT32_MAX : (uint32_t)field->value;
    return true;
}

static bool take_time(const struct sbx_wire_field *field, uint64_t *value_out)
{
    *value_out = field->value;
    return field->type == SBX_WIRE_NUMBER && field->value <= INT64_MAX;
}

static bool take_limits(const struct sbx_wire_field *field, struct sbx_policy_document *document)
{
    struct sbx_wire_reader reader = {field->bytes, field->bytes + field->count};
    struct sbx_wire_field part;
    uint32_t group = UINT32_MAX;
    struct sbx_point_limits limits = {0, 0};
    uint64_t seen = 0;
    int more;
    if (field->type != SBX_WIRE_BYTES) {
        return false;
    }
    while ((more = sbx_wire_next(&reader, &part)) == 1) {
        bool fits = true;
        if (sbx_wire_repeats(&seen, part.number, LIMITS_THRESHOLD)) {
            return false;
        }
        if (part.number == LIMITS_GROUP) {
            fits = take_u32(&part, "point.group", document, &group);
        } else if (part.number == LIMITS_INTERVAL) {
            fits = take_u32(&part, "point.interval_us", document, &limits.interval_us);
        } else if (part.number == LIMITS_THRESHOLD) {
            fits = take_u32(&part, "point.threshold_us", document, &limits.threshold_us);
        }
        if (!fits) {
            return false;
        }
    }
    if (more != 0 || group == UINT32_MAX) {
        return false;
    }
    if (group >= SBX_POINT_GROUPS_MAX) {
        document->overflown = document->overflown != NULL ? document->overflown : "point.group";
        return true;
    }
    document->policy.capture.limits[group] = limits;
    return true;
}

static bool take_rollout(const struct sbx_wire_field *field, struct sbx_policy_document *document)
{
    struct sbx_wire_reader reader = {field->bytes, field->bytes + field->count};
    struct sbx_wire_field part;
    uint64_t seen = 0;
    int more;
    if (field->type != SBX_WIRE_BYTES || document->rollout_count == SBX_ROLLOUTS_MAX) {
        return false;
    }
    struct sbx_rollout *rollout = &document->rollouts[document->rollout_count++];
    rollout->threshold = UINT32_MAX; /* the field is required */
    while ((more = sbx_wire_next(&reader, &part)) == 1) {
        bool fits = !sbx_wire_repeats(&seen, part.number, ROLLOUT_POINTS);
        switch (fits ? part.number : UINT32_MAX) {
        case ROLLOUT_ID:
            fits = take_u32(&part, "rollout.id", document, &rollout->id);
            break;
        case ROLLOUT_SALT:
            fits = part.type == SBX_WIRE_BYTES && part.count >= 1 && part.count <= SBX_ROLLOUT_SALT_MAX;
            if (fits) {
                memcpy(rollout->salt, part.bytes, part.count);
                rollout->salt_bytes = (uint32_t)part.count;
            }
            break;
        case ROLLOUT_THRESHOLD:
            fits = take_u32(&part, "rollout.threshold", document, &rollout->threshold);
            break;
        case ROLLOUT_EFFECTS:
            fits = take_u32(&part, "rollout.effects", document, &rollout->effects);
            break;
        case ROLLOUT_POINTS:
            fits = part.type == SBX_WIRE_NUMBER;
            rollout->points = part.value;
            break;
        default:
            break;
        }
        if (!fits) {
            return false;
        }
    }
    return more == 0 && rollout->salt_bytes != 0;
}

/* Reads one field. Returns false when the field is invalid for the message. */
static bool take_field(const struct sbx_wire_field *field, struct sbx_policy_document *document)
{
    uint32_t value = 0;
    switch (field->number) {
    case FIELD_APP_ID:
        if (field->type != SBX_WIRE_BYTES || field->count != SBX_APP_ID_BYTES) {
            return false;
        }
        memcpy(document->app_id, field->bytes, SBX_APP_ID_BYTES);
        return true;
    case FIELD_EPOCH:
        return take_u32(field, "epoch", document, &document->policy.epoch);
    case FIELD_SEQ:
        document->policy.seq = field->value;
        return field->type == SBX_WIRE_NUMBER;
    case FIELD_ISSUED_AT:
        return take_time(field, &document->issued_at_s);
    case FIELD_EXPIRES_AT:
        return take_time(field, &document->expires_at_s);
    case FIELD_MIN_AGENT:
        return take_u32(field, "min_agent", document, &document->min_agent);
    case FIELD_MAX_AGENT:
        return take_u32(field, "max_agent", document, &document->max_agent);
    case FIELD_REQUIRED_FEATURES:
        document->required_features = field->value;
        return field->type == SBX_WIRE_NUMBER;
    case FIELD_KILL:
        document->kill = field->value != 0;
        return field->type == SBX_WIRE_NUMBER;
    case FIELD_POINT_LIMITS:
        return take_limits(field, document);
    case FIELD_ROLLOUT:
        return take_rollout(field, document);
    default:
        break;
    }
    const struct sbx_policy_field *known = sbx_policy_field_of_number(field->number);
    if (known == NULL) {
        return true; /* a field of a later version; required_features says when it must not be ignored */
    }
    if (known->form == SBX_FIELD_POINTS) {
        sbx_policy_set(&document->policy, known, field->value);
        return field->type == SBX_WIRE_NUMBER;
    }
    if (!take_u32(field, known->name, document, &value)) {
        return false;
    }
    sbx_policy_set(&document->policy, known, value);
    return true;
}

enum sbx_policy_verdict sbx_policy_document_decode(const uint8_t *payload, size_t bytes,
                                                   struct sbx_policy_document *document_out,
                                                   struct sbx_policy_report *report)
{
    struct sbx_wire_reader reader = {payload, payload + bytes};
    struct sbx_wire_field field;
    uint64_t seen = 0;
    int more;
    memset(document_out, 0, sizeof *document_out);
    document_out->policy = *sbx_policy_default();
    while ((more = sbx_wire_next(&reader, &field)) == 1) {
        bool may_repeat = field.number == FIELD_POINT_LIMITS || field.number == FIELD_ROLLOUT;
        if (sbx_wire_repeats(&seen, field.number, FIELD_LAST) && !may_repeat) {
            return sbx_policy_judge(report, SBX_POLICY_PARSE, "field %u stands twice", field.number);
        }
        if (!take_field(&field, document_out)) {
            return sbx_policy_judge(report, SBX_POLICY_PARSE, "field %u is not what a policy has there", field.number);
        }
    }
    if (more < 0) {
        return sbx_policy_judge(report, SBX_POLICY_PARSE, "the payload is no message");
    }
    const uint64_t needed =
        1u << FIELD_APP_ID | 1u << FIELD_EPOCH | 1u << FIELD_SEQ | 1u << FIELD_ISSUED_AT | 1u << FIELD_EXPIRES_AT;
    if ((seen & needed) != needed) {
        return sbx_policy_judge(report, SBX_POLICY_PARSE, "a field that every policy has is missing");
    }
    if ((document_out->required_features & ~(uint64_t)SBX_FEATURES_ALL) != 0) {
        return sbx_policy_judge(report, SBX_POLICY_UNSUPPORTED, "needs features 0x%llx that this version does not have",
                                (unsigned long long)(document_out->required_features & ~(uint64_t)SBX_FEATURES_ALL));
    }
    report->why[0] = '\0';
    return report->verdict = SBX_POLICY_ACCEPTED;
}

static bool keeps_cap(const struct sbx_keyset *keyset, uint32_t number, uint32_t value)
{
    return keyset == NULL || value == 0 || sbx_keyset_allows(keyset, number, value, false);
}

enum sbx_policy_verdict sbx_policy_document_check(const struct sbx_policy_document *document,
                                                  const struct sbx_keyset *keyset, struct sbx_policy_report *report)
{
    size_t count;
    const struct sbx_policy_field *fields = sbx_policy_fields(&count);
    const char *wrong = document->overflown != NULL ? document->overflown : sbx_policy_check(&document->policy);
    if (wrong != NULL) {
        return sbx_policy_judge(report, SBX_POLICY_RANGE, "%s is outside of what this version allows", wrong);
    }
    for (size_t i = 0; i < count && keyset != NULL; i++) {
        uint64_t value = sbx_policy_get(&document->policy, &fields[i]);
        bool is_mask = fields[i].form == SBX_FIELD_POINTS || fields[i].form == SBX_FIELD_CONDITIONS;
        if (!(fields[i].may_be_off && value == 0) && !sbx_keyset_allows(keyset, fields[i].number, value, is_mask)) {
            return sbx_policy_judge(report, SBX_POLICY_RANGE, "%s is outside of what the KEYSET allows",
                                    fields[i].name);
        }
    }
    for (uint32_t group = 0; group < SBX_POINT_GROUPS_MAX; group++) {
        const struct sbx_point_limits *limits = &document->policy.capture.limits[group];
        if (!keeps_cap(keyset, NUMBER_INTERVAL, limits->interval_us) ||
            !keeps_cap(keyset, NUMBER_WAIT_MIN, limits->threshold_us)) {
            return sbx_policy_judge(report, SBX_POLICY_RANGE,
                                    "a limit of point %u is outside of what the KEYSET allows", group);
        }
    }
    for (uint32_t i = 0; i < document->rollout_count; i++) {
        const struct sbx_rollout *rollout = &document->rollouts[i];
        if (rollout->threshold > SBX_ROLLOUT_BUCKETS || (rollout->effects & ~(uint32_t)SBX_ROLLOUT_EFFECTS_ALL) != 0 ||
            (rollout->points & ~SBX_POINTS_KNOWN) != 0) {
            return sbx_policy_judge(report, SBX_POLICY_RANGE, "rollout %u is outside of what this version allows",
                                    rollout->id);
        }
    }
    report->why[0] = '\0';
    return report->verdict = SBX_POLICY_ACCEPTED;
}

static void put_limits(struct sbx_wire_writer *writer, const struct sbx_policy *policy)
{
    for (uint32_t group = 0; group < SBX_POINT_GROUPS_MAX; group++) {
        const struct sbx_point_limits *limits = &policy->capture.limits[group];
        uint8_t part[24];
        struct sbx_wire_writer inner = {.bytes = part, .room = sizeof part};
        if (limits->interval_us == 0 && limits->threshold_us == 0) {
            continue;
        }
        sbx_wire_put_number(&inner, LIMITS_GROUP, group);
        sbx_wire_put_number(&inner, LIMITS_INTERVAL, limits->interval_us);
        sbx_wire_put_number(&inner, LIMITS_THRESHOLD, limits->threshold_us);
        sbx_wire_put_bytes(writer, FIELD_POINT_LIMITS, part, inner.used);
    }
}

static void put_rollouts(struct sbx_wire_writer *writer, const struct sbx_policy_document *document)
{
    for (uint32_t i = 0; i < document->rollout_count; i++) {
        const struct sbx_rollout *rollout = &document->rollouts[i];
        uint8_t part[SBX_ROLLOUT_SALT_MAX + 40];
        struct sbx_wire_writer inner = {.bytes = part, .room = sizeof part};
        sbx_wire_put_number(&inner, ROLLOUT_ID, rollout->id);
        sbx_wire_put_bytes(&inner, ROLLOUT_SALT, rollout->salt, rollout->salt_bytes);
        sbx_wire_put_number(&inner, ROLLOUT_THRESHOLD, rollout->threshold);
        sbx_wire_put_number(&inner, ROLLOUT_EFFECTS, rollout->effects);
        sbx_wire_put_number(&inner, ROLLOUT_POINTS, rollout->points);
        sbx_wire_put_bytes(writer, FIELD_ROLLOUT, part, inner.used);
    }
}

size_t sbx_policy_document_encode(const struct sbx_policy_document *document, bool is_kill_role, uint8_t *bytes_out,
                                  size_t room)
{
    size_t count;
    const struct sbx_policy_field *fields = sbx_policy_fields(&count);
    struct sbx_wire_writer writer = {.bytes = bytes_out, .room = room};
    sbx_wire_put_bytes(&writer, FIELD_APP_ID, document->app_id, SBX_APP_ID_BYTES);
    sbx_wire_put_number(&writer, FIELD_EPOCH, document->policy.epoch);
    sbx_wire_put_number(&writer, FIELD_SEQ, document->policy.seq);
    sbx_wire_put_number(&writer, FIELD_ISSUED_AT, document->issued_at_s);
    sbx_wire_put_number(&writer, FIELD_EXPIRES_AT, document->expires_at_s);
    if (!is_kill_role) {
        sbx_wire_put_number(&writer, FIELD_MIN_AGENT, document->min_agent);
        sbx_wire_put_number(&writer, FIELD_MAX_AGENT, document->max_agent);
        sbx_wire_put_number(&writer, FIELD_REQUIRED_FEATURES, document->required_features);
        sbx_wire_put_number(&writer, FIELD_KILL, document->kill);
        for (size_t i = 0; i < count; i++) {
            sbx_wire_put_number(&writer, fields[i].number, sbx_policy_get(&document->policy, &fields[i]));
        }
        put_limits(&writer, &document->policy);
        put_rollouts(&writer, document);
    }
    return writer.is_full ? 0 : writer.used;
}

int sbx_policy_document_apply(const struct sbx_policy_document *document,
                              const uint8_t rollout_key[SBX_ROLLOUT_KEY_BYTES], struct sbx_policy *policy_out)
{
    struct sbx_policy policy = document->policy;
    for (uint32_t i = 0; i < document->rollout_count; i++) {
        const struct sbx_rollout *rollout = &document->rollouts[i];
        uint32_t bucket;
        int result = sbx_rollout_bucket(rollout_key, rollout->salt, rollout->salt_bytes, &bucket);
        if (result != 0) {
            return result;
        }
        if (bucket < rollout->threshold) {
            continue;
        }
        policy.capture.points &= ~rollout->points;
        if ((rollout->effects & SBX_ROLLOUT_COLLECT) != 0) {
            policy.capture.enabled = 0;
        }
        if ((rollout->effects & SBX_ROLLOUT_UPLOAD) != 0) {
            policy.delivery.bytes_day = 0;
            policy.delivery.bytes_day_metered = 0;
        }
    }
    *policy_out = policy;
    return 0;
}
