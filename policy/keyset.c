/* SPDX-License-Identifier: Apache-2.0 */
/* keyset.c - converts a KEYSET payload to a value and back. */
#include "keyset.h"

#include <errno.h>
#include <string.h>

#include "policy_wire.h"

/* Fields of message KeySet and its parts in policy.proto. */
enum {
    FIELD_APP_ID = 1,
    FIELD_VERSION = 2,
    FIELD_EPOCH = 3,
    FIELD_ISSUED_AT = 4,
    FIELD_EXPIRES_AT = 5,
    FIELD_ROOT_KEY = 6,
    FIELD_ROOT_THRESHOLD = 7,
    FIELD_POLICY_KEY = 8,
    FIELD_POLICY_THRESHOLD = 9,
    FIELD_KILL_KEY = 10,
    FIELD_SEAL_KEY = 11,
    FIELD_PIN = 12,
    FIELD_CAP = 13,
};
enum {
    SEAL_KEY = 1,
    SEAL_NOT_BEFORE = 2,
    SEAL_NOT_AFTER = 3
};
enum {
    CAP_FIELD = 1,
    CAP_MIN = 2,
    CAP_MAX = 3
};

/* Copies bytes of a fixed length into the next place of a list. */
static bool take_bytes(const struct sbx_wire_field *field, void *list, uint32_t *count, uint32_t max, size_t size)
{
    if (field->type != SBX_WIRE_BYTES || field->count != size || *count == max) {
        return false;
    }
    memcpy((uint8_t *)list + (size_t)(*count)++ * size, field->bytes, size);
    return true;
}

static bool take_seal_key(const struct sbx_wire_field *field, struct sbx_keyset *keyset)
{
    struct sbx_wire_reader reader = {field->bytes, field->bytes + field->count};
    struct sbx_wire_field part;
    if (field->type != SBX_WIRE_BYTES || keyset->seal_key_count == SBX_SEAL_KEYS_MAX) {
        return false;
    }
    struct sbx_seal_key *key = &keyset->seal_keys[keyset->seal_key_count++];
    uint32_t keys = 0;
    uint64_t seen = 0;
    int more;
    while ((more = sbx_wire_next(&reader, &part)) == 1) {
        if (sbx_wire_repeats(&seen, part.number, SEAL_NOT_AFTER)) {
            return false;
        }
        if (part.number == SEAL_KEY) {
            if (!take_bytes(&part, key->key, &keys, 1, sizeof key->key)) {
                return false;
            }
        } else if (part.number == SEAL_NOT_BEFORE && part.type == SBX_WIRE_NUMBER) {
            key->not_before_s = part.value;
        } else if (part.number == SEAL_NOT_AFTER && part.type == SBX_WIRE_NUMBER) {
            key->not_after_s = part.value;
        }
    }
    return more == 0 && keys == 1 && key->not_before_s < key->not_after_s;
}

static bool take_cap(const struct sbx_wire_field *field, struct sbx_keyset *keyset)
{
    struct sbx_wire_reader reader = {field->bytes, field->bytes + field->count};
    struct sbx_wire_field part;
    uint64_t number = 0, min = 0, max = UINT32_MAX, seen = 0;
    int more;
    if (field->type != SBX_WIRE_BYTES || keyset->cap_count == SBX_CAPS_MAX) {
        return false;
    }
    while ((more = sbx_wire_next(&reader, &part)) == 1) {
        if (sbx_wire_repeats(&seen, part.number, CAP_MAX) ||
            (part.number >= CAP_FIELD && part.number <= CAP_MAX && part.type != SBX_WIRE_NUMBER)) {
            return false;
        }
        if (part.number == CAP_FIELD) {
            number = part.value;
        } else if (part.number == CAP_MIN) {
            min = part.value;
        } else if (part.number == CAP_MAX) {
            max = part.value;
        }
    }
    /* A cap on a field that this build does not know has no effect here: a policy that sets the field is not understood
     * either. */
    if (more != 0 || number == 0 || number > UINT32_MAX || min > max) {
        return false;
    }
    keyset->caps[keyset->cap_count++] = (struct sbx_field_cap){(uint32_t)number, min, max};
    return true;
}

static bool take_number(const struct sbx_wire_field *field, uint64_t max, uint64_t *value_out)
{
    if (field->type != SBX_WIRE_NUMBER || field->value > max) {
        return false;
    }
    *value_out = field->value;
    return true;
}

/* Reads one field. Returns false when the field is invalid for the message. */
static bool take_field(const struct sbx_wire_field *field, struct sbx_keyset *keyset, uint64_t numbers[10])
{
    uint32_t ids = 0;
    switch (field->number) {
    case FIELD_APP_ID:
        return take_bytes(field, keyset->app_id, &ids, 1, SBX_APP_ID_BYTES);
    case FIELD_VERSION:
    case FIELD_EPOCH:
    case FIELD_ROOT_THRESHOLD:
    case FIELD_POLICY_THRESHOLD:
        return take_number(field, UINT32_MAX, &numbers[field->number]);
    case FIELD_ISSUED_AT:
    case FIELD_EXPIRES_AT:
        return take_number(field, INT64_MAX, &numbers[field->number]);
    case FIELD_ROOT_KEY:
        return take_bytes(field, keyset->root_keys, &keyset->root_key_count, SBX_ROOT_KEYS_MAX, SBX_PUBLIC_KEY_BYTES);
    case FIELD_POLICY_KEY:
        return take_bytes(field, keyset->policy_keys, &keyset->policy_key_count, SBX_POLICY_KEYS_MAX,
                          SBX_PUBLIC_KEY_BYTES);
    case FIELD_KILL_KEY:
        return take_bytes(field, keyset->kill_keys, &keyset->kill_key_count, SBX_KILL_KEYS_MAX, SBX_PUBLIC_KEY_BYTES);
    case FIELD_SEAL_KEY:
        return take_seal_key(field, keyset);
    case FIELD_PIN:
        return take_bytes(field, keyset->pins, &keyset->pin_count, SBX_PINS_MAX, sizeof keyset->pins[0]);
    case FIELD_CAP:
        return take_cap(field, keyset);
    default:
        return true; /* a field of a later version */
    }
}

static bool may_repeat(uint32_t number)
{
    return number == FIELD_ROOT_KEY || number == FIELD_POLICY_KEY || number == FIELD_KILL_KEY ||
           number == FIELD_SEAL_KEY || number == FIELD_PIN || number == FIELD_CAP;
}

static int check_keys(const uint8_t (*keys)[SBX_PUBLIC_KEY_BYTES], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        int result = sbx_key_check(keys[i]);
        if (result != 0) {
            return result;
        }
        for (uint32_t k = 0; k < i; k++) {
            if (memcmp(keys[i], keys[k], SBX_PUBLIC_KEY_BYTES) == 0) {
                return -EINVAL; /* with a key listed twice, one signer could reach a threshold of two */
            }
        }
    }
    return 0;
}

enum sbx_policy_verdict sbx_keyset_decode(const uint8_t *payload, size_t bytes, struct sbx_keyset *keyset_out,
                                          struct sbx_policy_report *report)
{
    struct sbx_wire_reader reader = {payload, payload + bytes};
    struct sbx_wire_field field;
    uint64_t numbers[10] = {[FIELD_POLICY_THRESHOLD] = 1};
    uint64_t seen = 0;
    int more;
    memset(keyset_out, 0, sizeof *keyset_out);
    while ((more = sbx_wire_next(&reader, &field)) == 1) {
        if (sbx_wire_repeats(&seen, field.number, FIELD_CAP) && !may_repeat(field.number)) {
            return sbx_policy_judge(report, SBX_POLICY_PARSE, "field %u stands twice", field.number);
        }
        if (!take_field(&field, keyset_out, numbers)) {
            return sbx_policy_judge(report, SBX_POLICY_PARSE, "field %u is not what a KEYSET has there", field.number);
        }
    }
    if (more < 0) {
        return sbx_policy_judge(report, SBX_POLICY_PARSE, "the payload is no message");
    }
    const uint64_t needed = 1u << FIELD_APP_ID | 1u << FIELD_VERSION | 1u << FIELD_EPOCH | 1u << FIELD_ISSUED_AT |
                            1u << FIELD_EXPIRES_AT | 1u << FIELD_ROOT_KEY | 1u << FIELD_ROOT_THRESHOLD |
                            1u << FIELD_POLICY_KEY;
    if ((seen & needed) != needed) {
        return sbx_policy_judge(report, SBX_POLICY_PARSE, "a field that every KEYSET has is missing");
    }
    keyset_out->version = (uint32_t)numbers[FIELD_VERSION];
    keyset_out->epoch = (uint32_t)numbers[FIELD_EPOCH];
    keyset_out->issued_at_s = numbers[FIELD_ISSUED_AT];
    keyset_out->expires_at_s = numbers[FIELD_EXPIRES_AT];
    keyset_out->root_threshold = (uint32_t)numbers[FIELD_ROOT_THRESHOLD];
    keyset_out->policy_threshold = (uint32_t)numbers[FIELD_POLICY_THRESHOLD];
    if (keyset_out->version == 0 || keyset_out->epoch == 0) {
        return sbx_policy_judge(report, SBX_POLICY_RANGE, "version and epoch begin at 1");
    }
    if (keyset_out->root_threshold < 1 || keyset_out->root_threshold > keyset_out->root_key_count) {
        return sbx_policy_judge(report, SBX_POLICY_RANGE, "root_threshold is not 1 to the number of root keys");
    }
    if (keyset_out->policy_threshold < 1 || keyset_out->policy_threshold > keyset_out->policy_key_count) {
        return sbx_policy_judge(report, SBX_POLICY_RANGE, "policy_threshold is not 1 to the number of policy keys");
    }
    int result = check_keys((const uint8_t(*)[SBX_PUBLIC_KEY_BYTES])keyset_out->root_keys, keyset_out->root_key_count);
    if (result == 0) {
        result =
            check_keys((const uint8_t(*)[SBX_PUBLIC_KEY_BYTES])keyset_out->policy_keys, keyset_out->policy_key_count);
    }
    if (result == 0) {
        result = check_keys((const uint8_t(*)[SBX_PUBLIC_KEY_BYTES])keyset_out->kill_keys, keyset_out->kill_key_count);
    }
    if (result == -EINVAL) {
        return sbx_policy_judge(report, SBX_POLICY_RANGE, "a key is no point of P-256, or stands twice");
    }
    if (result != 0) {
        return sbx_policy_judge(report, SBX_POLICY_LATER, "no memory to check the keys");
    }
    report->why[0] = '\0';
    return report->verdict = SBX_POLICY_ACCEPTED;
}

static void put_keys(struct sbx_wire_writer *writer, uint32_t number, const uint8_t (*keys)[SBX_PUBLIC_KEY_BYTES],
                     uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sbx_wire_put_bytes(writer, number, keys[i], SBX_PUBLIC_KEY_BYTES);
    }
}

size_t sbx_keyset_encode(const struct sbx_keyset *keyset, uint8_t *bytes_out, size_t room)
{
    struct sbx_wire_writer writer = {.bytes = bytes_out, .room = room};
    sbx_wire_put_bytes(&writer, FIELD_APP_ID, keyset->app_id, SBX_APP_ID_BYTES);
    sbx_wire_put_number(&writer, FIELD_VERSION, keyset->version);
    sbx_wire_put_number(&writer, FIELD_EPOCH, keyset->epoch);
    sbx_wire_put_number(&writer, FIELD_ISSUED_AT, keyset->issued_at_s);
    sbx_wire_put_number(&writer, FIELD_EXPIRES_AT, keyset->expires_at_s);
    put_keys(&writer, FIELD_ROOT_KEY, (const uint8_t(*)[SBX_PUBLIC_KEY_BYTES])keyset->root_keys,
             keyset->root_key_count);
    sbx_wire_put_number(&writer, FIELD_ROOT_THRESHOLD, keyset->root_threshold);
    put_keys(&writer, FIELD_POLICY_KEY, (const uint8_t(*)[SBX_PUBLIC_KEY_BYTES])keyset->policy_keys,
             keyset->policy_key_count);
    sbx_wire_put_number(&writer, FIELD_POLICY_THRESHOLD, keyset->policy_threshold);
    put_keys(&writer, FIELD_KILL_KEY, (const uint8_t(*)[SBX_PUBLIC_KEY_BYTES])keyset->kill_keys,
             keyset->kill_key_count);
    for (uint32_t i = 0; i < keyset->seal_key_count; i++) {
        uint8_t part[64];
        struct sbx_wire_writer inner = {.bytes = part, .room = sizeof part};
        sbx_wire_put_bytes(&inner, SEAL_KEY, keyset->seal_keys[i].key, sizeof keyset->seal_keys[i].key);
        sbx_wire_put_number(&inner, SEAL_NOT_BEFORE, keyset->seal_keys[i].not_before_s);
        sbx_wire_put_number(&inner, SEAL_NOT_AFTER, keyset->seal_keys[i].not_after_s);
        sbx_wire_put_bytes(&writer, FIELD_SEAL_KEY, part, inner.used);
    }
    for (uint32_t i = 0; i < keyset->pin_count; i++) {
        sbx_wire_put_bytes(&writer, FIELD_PIN, keyset->pins[i], sizeof keyset->pins[i]);
    }
    for (uint32_t i = 0; i < keyset->cap_count; i++) {
        uint8_t part[32];
        struct sbx_wire_writer inner = {.bytes = part, .room = sizeof part};
        sbx_wire_put_number(&inner, CAP_FIELD, keyset->caps[i].field);
        sbx_wire_put_number(&inner, CAP_MIN, keyset->caps[i].min);
        sbx_wire_put_number(&inner, CAP_MAX, keyset->caps[i].max);
        sbx_wire_put_bytes(&writer, FIELD_CAP, part, inner.used);
    }
    return writer.is_full ? 0 : writer.used;
}

bool sbx_keyset_allows(const struct sbx_keyset *keyset, uint32_t field_number, uint64_t value, bool is_mask)
{
    for (uint32_t i = 0; i < keyset->cap_count; i++) {
        const struct sbx_field_cap *cap = &keyset->caps[i];
        if (cap->field == field_number && (is_mask ? (value & ~cap->max) != 0 : value < cap->min || value > cap->max)) {
            return false;
        }
    }
    return true;
}
