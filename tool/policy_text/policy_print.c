/* SPDX-License-Identifier: Apache-2.0 */
/* policy_print.c - prints documents as text (policy_text.h); apart, because reading them needs none of it. */
#include "policy_text.h"

#include <errno.h>
#include <inttypes.h>

#include "names.h"

static void print_mask(FILE *out, uint64_t mask, const char *(*name_of)(uint32_t), uint32_t count, char separator)
{
    bool is_first = true;
    for (uint32_t i = 0; i < count; i++) {
        if ((mask & UINT64_C(1) << i) != 0) {
            fprintf(out, "%s%s", is_first ? "" : (const char[]){separator, 0}, name_of(i));
            is_first = false;
        }
    }
    if (is_first) {
        fputs("none", out);
    }
}

static const char *condition_name(uint32_t bit)
{
    static const char *const names[] = {"unmetered", "charging", "idle"};
    return bit < 3 ? names[bit] : "unknown";
}

static void print_points(FILE *out, uint64_t points, char separator)
{
    if (points == SBX_POINTS_KNOWN) {
        fputs("all", out);
    } else {
        print_mask(out, points, sbx_point_name, SBX_GROUP_COUNT, separator);
    }
}

static void print_value(FILE *out, const struct sbx_policy_field *field, uint64_t value)
{
    switch (field->form) {
    case SBX_FIELD_SWITCH:
        fputs(value != 0 ? "yes" : "no", out);
        break;
    case SBX_FIELD_POINTS:
        print_points(out, value, ' ');
        break;
    case SBX_FIELD_CONDITIONS:
        print_mask(out, value, condition_name, 3, ' ');
        break;
    case SBX_FIELD_MODULES:
        fputs(value == SBX_MODULES_APP_ONLY ? "app" : "distribution", out);
        break;
    case SBX_FIELD_NUMBER:
        fprintf(out, "%" PRIu64, value);
        break;
    }
}

static void print_hex(FILE *out, const char *name, const uint8_t *bytes, size_t count)
{
    char hex[2 * SBX_PUBLIC_KEY_BYTES + 1];
    sbx_key_hex_print(bytes, count, hex);
    fprintf(out, "%s = %s\n", name, hex);
}

static void print_time(FILE *out, const char *name, uint64_t time_s)
{
    char text[32];
    sbx_policy_time_print(time_s, text);
    fprintf(out, "%s = %s\n", name, text);
}

static void print_keys(FILE *out, const char *name, const uint8_t (*keys)[SBX_PUBLIC_KEY_BYTES], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        print_hex(out, name, keys[i], SBX_PUBLIC_KEY_BYTES);
    }
}

static void print_cap(FILE *out, const struct sbx_field_cap *cap)
{
    const struct sbx_policy_field *field = sbx_policy_field_of_number(cap->field);
    if (field == NULL) {
        fprintf(out, "# a cap on field %u, which this version does not know: %" PRIu64 "..%" PRIu64 "\n", cap->field,
                cap->min, cap->max);
    } else if (field->form == SBX_FIELD_POINTS || field->form == SBX_FIELD_CONDITIONS) {
        fprintf(out, "cap %s = ", field->name);
        print_value(out, field, cap->max);
        fputc('\n', out);
    } else {
        fprintf(out, "cap %s = %" PRIu64 "..%" PRIu64 "\n", field->name, cap->min, cap->max);
    }
}

static void print_keyset(const struct sbx_keyset *keyset, FILE *out)
{
    print_hex(out, "app_id", keyset->app_id, SBX_APP_ID_BYTES);
    fprintf(out, "version = %u\nepoch = %u\n", keyset->version, keyset->epoch);
    print_time(out, "issued_at", keyset->issued_at_s);
    print_time(out, "expires_at", keyset->expires_at_s);
    fprintf(out, "root_threshold = %u\n", keyset->root_threshold);
    print_keys(out, "root_key", (const uint8_t(*)[SBX_PUBLIC_KEY_BYTES])keyset->root_keys, keyset->root_key_count);
    fprintf(out, "policy_threshold = %u\n", keyset->policy_threshold);
    print_keys(out, "policy_key", (const uint8_t(*)[SBX_PUBLIC_KEY_BYTES])keyset->policy_keys,
               keyset->policy_key_count);
    print_keys(out, "kill_key", (const uint8_t(*)[SBX_PUBLIC_KEY_BYTES])keyset->kill_keys, keyset->kill_key_count);
    for (uint32_t i = 0; i < keyset->seal_key_count; i++) {
        char hex[65], from[32], until[32];
        sbx_key_hex_print(keyset->seal_keys[i].key, 32, hex);
        sbx_policy_time_print(keyset->seal_keys[i].not_before_s, from);
        sbx_policy_time_print(keyset->seal_keys[i].not_after_s, until);
        fprintf(out, "seal_key = key:%s from:%s until:%s\n", hex, from, until);
    }
    for (uint32_t i = 0; i < keyset->pin_count; i++) {
        print_hex(out, "pin", keyset->pins[i], sizeof keyset->pins[i]);
    }
    for (uint32_t i = 0; i < keyset->cap_count; i++) {
        print_cap(out, &keyset->caps[i]);
    }
}

static void print_agent(FILE *out, const char *name, uint32_t number)
{
    if (number != 0) {
        fprintf(out, "%s = %u.%u.%u\n", name, number / 1000000, number / 1000 % 1000, number % 1000);
    }
}

static void print_rollout(FILE *out, const struct sbx_rollout *rollout)
{
    fprintf(out, "rollout %u = salt:", rollout->id);
    for (uint32_t i = 0; i < rollout->salt_bytes; i++) { /* bytes that are no text are not printed as text */
        bool is_plain = rollout->salt[i] > ' ' && rollout->salt[i] < 0x7f && rollout->salt[i] != '#';
        fputc(is_plain ? rollout->salt[i] : '?', out);
    }
    fprintf(out, " percent:%u.%02u", rollout->threshold / 100, rollout->threshold % 100);
    if (rollout->effects != 0) {
        fprintf(out, " withholds:%s%s%s", (rollout->effects & SBX_ROLLOUT_COLLECT) != 0 ? "recording" : "",
                (rollout->effects & SBX_ROLLOUT_EFFECTS_ALL) == SBX_ROLLOUT_EFFECTS_ALL ? "," : "",
                (rollout->effects & SBX_ROLLOUT_UPLOAD) != 0 ? "sending" : "");
    }
    if (rollout->points != 0) {
        fputs(" points:", out);
        print_points(out, rollout->points, ',');
    }
    fputc('\n', out);
}

static void print_policy(const struct sbx_policy_document *document, bool is_kill_role, FILE *out)
{
    size_t count;
    const struct sbx_policy_field *fields = sbx_policy_fields(&count);
    print_hex(out, "app_id", document->app_id, SBX_APP_ID_BYTES);
    fprintf(out, "epoch = %u\nseq = %llu\n", document->policy.epoch, (unsigned long long)document->policy.seq);
    print_time(out, "issued_at", document->issued_at_s);
    print_time(out, "expires_at", document->expires_at_s);
    if (is_kill_role) {
        return;
    }
    print_agent(out, "min_agent", document->min_agent);
    print_agent(out, "max_agent", document->max_agent);
    fprintf(out, "kill = %s\n", document->kill ? "yes" : "no");
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s = ", fields[i].name);
        print_value(out, &fields[i], sbx_policy_get(&document->policy, &fields[i]));
        fputc('\n', out);
    }
    for (uint32_t group = 0; group < SBX_GROUP_COUNT; group++) {
        const struct sbx_point_limits *limits = &document->policy.capture.limits[group];
        if (limits->interval_us != 0 || limits->threshold_us != 0) {
            fprintf(out, "point %s =", sbx_point_name(group));
            if (limits->interval_us != 0) {
                fprintf(out, " interval_us:%u", limits->interval_us);
            }
            if (limits->threshold_us != 0) {
                fprintf(out, " threshold_us:%u", limits->threshold_us);
            }
            fputc('\n', out);
        }
    }
    for (uint32_t i = 0; i < document->rollout_count; i++) {
        print_rollout(out, &document->rollouts[i]);
    }
}

int sbx_policy_text_print(const struct sbx_signed_document *document, FILE *out)
{
    static const char *const roles[] = {"", "keyset", "policy", "kill"};
    struct sbx_policy_report report;
    struct sbx_keyset keyset;
    struct sbx_policy_document policy;
    fprintf(out, "# %s of %zu bytes, signed by", sbx_signed_role_name(document->role), document->byte_count);
    for (uint32_t i = 0; i < document->signature_count; i++) {
        char id[2 * SBX_KEY_ID_BYTES + 1];
        sbx_key_hex_print(document->signatures + (size_t)i * SBX_SIGNED_SLOT_BYTES, SBX_KEY_ID_BYTES, id);
        fprintf(out, " %s", id);
    }
    fputs(" (not verified here)\n", out);
    enum sbx_policy_verdict verdict =
        document->role == SBX_ROLE_KEYSET
            ? sbx_keyset_decode(document->payload, document->payload_bytes, &keyset, &report)
            : sbx_policy_document_decode(document->payload, document->payload_bytes, &policy, &report);
    if (verdict != SBX_POLICY_ACCEPTED) {
        fprintf(out, "# unreadable: %s: %s\n", sbx_policy_verdict_name(verdict), report.why);
        return -EINVAL;
    }
    fprintf(out, "document = %s\n", roles[document->role]);
    if (document->role == SBX_ROLE_KEYSET) {
        print_keyset(&keyset, out);
    } else {
        print_policy(&policy, document->role == SBX_ROLE_KILL, out);
    }
    return 0;
}
