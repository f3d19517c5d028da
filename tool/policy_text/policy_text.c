/* SPDX-License-Identifier: Apache-2.0 */
/* policy_text.c - reads text into documents. */
#include "policy_text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "options.h"
#include "policy_key_file.h"

enum {
    DAY_S = 86400
};

/* ---- a line ---- */

struct place {
    const struct sbx_policy_draft *draft;
    char *why;
    size_t why_bytes;
};

__attribute__((format(printf, 2, 3))) static bool refuse(const struct place *place, const char *format, ...)
{
    va_list arguments;
    int used = snprintf(place->why, place->why_bytes, "%s:%u: ", place->draft->path, place->draft->line);
    if (used > 0 && (size_t)used < place->why_bytes) {
        va_start(arguments, format);
        vsnprintf(place->why + used, place->why_bytes - (size_t)used, format, arguments);
        va_end(arguments);
    }
    return false;
}

/* The next word of a list; separators are spaces and commas. */
static char *next_word(char **rest)
{
    char *word;
    do {
        word = strsep(rest, " \t,");
    } while (word != NULL && *word == '\0');
    return word;
}

/* "all", "none", names, and "-NAME" to remove one. */
static bool read_points(const struct place *place, char *value, uint64_t *points_out)
{
    uint64_t points = 0;
    for (char *word = next_word(&value); word != NULL; word = next_word(&value)) {
        bool is_taken_away = *word == '-';
        const char *name = word + is_taken_away;
        uint32_t group = 0;
        if (strcmp(word, "all") == 0) {
            points = SBX_POINTS_KNOWN;
            continue;
        }
        if (strcmp(word, "none") == 0) {
            points = 0;
            continue;
        }
        while (group < SBX_GROUP_COUNT && strcmp(name, sbx_point_name(group)) != 0) {
            group++;
        }
        if (group == SBX_GROUP_COUNT) {
            return refuse(place, "'%s' is no capture point (see stallbox ctl --help)", name);
        }
        points = is_taken_away ? points & ~SBX_POINT_BIT(group) : points | SBX_POINT_BIT(group);
    }
    *points_out = points;
    return true;
}

static const char *const condition_names[] = {"unmetered", "charging", "idle"};

static bool read_conditions(const struct place *place, char *value, uint64_t *conditions_out)
{
    *conditions_out = 0;
    for (char *word = next_word(&value); word != NULL; word = next_word(&value)) {
        unsigned i = 0;
        while (i < 3 && strcmp(word, condition_names[i]) != 0) {
            i++;
        }
        if (i == 3 && strcmp(word, "none") != 0) {
            return refuse(place, "'%s' is no condition: unmetered, charging, idle or none", word);
        }
        *conditions_out |= i < 3 ? 1u << i : 0;
    }
    return true;
}

/* The value of a field of the table, within its limits. */
static bool read_field(const struct place *place, const struct sbx_policy_field *field, char *value,
                       uint64_t *number_out)
{
    uint64_t number;
    switch (field->form) {
    case SBX_FIELD_POINTS:
        return read_points(place, value, number_out);
    case SBX_FIELD_CONDITIONS:
        return read_conditions(place, value, number_out);
    case SBX_FIELD_SWITCH:
        if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0) {
            return refuse(place, "%s is yes or no, not '%s'", field->name, value);
        }
        *number_out = value[0] == 'y';
        return true;
    case SBX_FIELD_MODULES:
        if (strcmp(value, "app") != 0 && strcmp(value, "distribution") != 0) {
            return refuse(place, "%s is app or distribution, not '%s'", field->name, value);
        }
        *number_out = value[0] == 'd' ? SBX_MODULES_DISTRIBUTION : SBX_MODULES_APP_ONLY;
        return true;
    case SBX_FIELD_NUMBER:
        break;
    }
    if (!sbx_policy_number_read(value, &number) || number > UINT32_MAX || !sbx_policy_field_holds(field, number)) {
        return refuse(place, "%s is a whole number from %" PRIu64 " to %" PRIu64 "%s, not '%s'", field->name,
                      field->min, field->max, field->may_be_off ? ", or 0 for never" : "", value);
    }
    *number_out = number;
    return true;
}

static const struct sbx_policy_field *find_field(const char *name)
{
    size_t count;
    const struct sbx_policy_field *fields = sbx_policy_fields(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fields[i].name, name) == 0) {
            return &fields[i];
        }
    }
    return NULL;
}

static bool read_small(const struct place *place, const char *name, const char *value, uint32_t min, uint32_t *out)
{
    uint64_t number;
    if (!sbx_policy_number_read(value, &number) || number < min || number > UINT32_MAX) {
        return refuse(place, "%s is a whole number from %u on, not '%s'", name, min, value);
    }
    *out = (uint32_t)number;
    return true;
}

/* ---- what documents have in common ---- */

/* Read app, app_id, epoch, issued_at or expires_at. Returns 1: it was one of them; 0: it was not; -1: refused. */
static int read_shared(struct sbx_policy_draft *draft, const struct place *place, const char *name, const char *value)
{
    bool is_keyset = draft->role == SBX_ROLE_KEYSET;
    uint8_t *app_id = is_keyset ? draft->keyset.app_id : draft->policy.app_id;
    uint64_t *issued_at = is_keyset ? &draft->keyset.issued_at_s : &draft->policy.issued_at_s;
    uint64_t *expires_at = is_keyset ? &draft->keyset.expires_at_s : &draft->policy.expires_at_s;
    if (strcmp(name, "app") == 0) {
        draft->app_seen = true;
        return sbx_app_id_of_name(value, app_id) == 0 ? 1 : -1;
    }
    if (strcmp(name, "app_id") == 0) {
        draft->app_seen = true;
        return sbx_key_hex_read(value, app_id, SBX_APP_ID_BYTES) || refuse(place, "app_id is 32 hex digits") ? 1 : -1;
    }
    if (strcmp(name, "epoch") == 0) {
        uint32_t *epoch = is_keyset ? &draft->keyset.epoch : &draft->policy.policy.epoch;
        return read_small(place, name, value, 1, epoch) ? 1 : -1;
    }
    if (strcmp(name, "issued_at") == 0) {
        return sbx_policy_time_read(value, draft->now_s, issued_at) || refuse(place, "'%s' is no time", value) ? 1 : -1;
    }
    if (strcmp(name, "expires_at") == 0) {
        draft->expires_seen = true;
        draft->expires_is_relative = sbx_policy_distance_read(value, expires_at);
        return draft->expires_is_relative || sbx_policy_time_read(value, draft->now_s, expires_at) ||
                       refuse(place, "'%s' is no time", value)
                   ? 1
                   : -1;
    }
    return 0;
}

/* ---- POLICY and KILL ---- */

/* "point NAME = interval_us:N threshold_us:N" */
static bool read_point_limits(struct sbx_policy_draft *draft, const struct place *place, const char *name, char *value)
{
    uint32_t group = 0;
    while (group < SBX_GROUP_COUNT && strcmp(name, sbx_point_name(group)) != 0) {
        group++;
    }
    if (group == SBX_GROUP_COUNT) {
        return refuse(place, "'%s' is no capture point (see stallbox ctl --help)", name);
    }
    struct sbx_point_limits *limits = &draft->policy.policy.capture.limits[group];
    for (char *word = next_word(&value); word != NULL; word = next_word(&value)) {
        char *number = strchr(word, ':');
        if (number != NULL) {
            *number++ = '\0';
        }
        uint32_t *limit = strcmp(word, "interval_us") == 0    ? &limits->interval_us
                          : strcmp(word, "threshold_us") == 0 ? &limits->threshold_us
                                                              : NULL;
        if (limit == NULL || number == NULL) {
            return refuse(place, "a point has interval_us:N and threshold_us:N, not '%s'", word);
        }
        if (!read_small(place, word, number, 1, limit)) {
            return false;
        }
    }
    draft->policy.required_features |= SBX_FEATURE_POINT_LIMITS;
    return true;
}

static bool read_percent(const struct place *place, const char *text, uint32_t *threshold_out)
{
    char *end;
    double percent = strtod(text, &end);
    double threshold = percent * 100 + 0.5;
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || !(percent >= 0 && percent <= 100) ||
        threshold - 0.5 - (double)(uint32_t)threshold > 1e-6 || (double)(uint32_t)threshold - threshold + 0.5 > 1e-6) {
        return refuse(place, "percent is 0 to 100 with two decimals at most, not '%s'", text);
    }
    *threshold_out = (uint32_t)threshold;
    return true;
}

/* "rollout ID = salt:TEXT percent:N withholds:recording,sending points:NAME,NAME" */
static bool read_rollout(struct sbx_policy_draft *draft, const struct place *place, const char *id, char *value)
{
    if (draft->policy.rollout_count == SBX_ROLLOUTS_MAX) {
        return refuse(place, "a policy has %d rollouts at most", SBX_ROLLOUTS_MAX);
    }
    struct sbx_rollout *rollout = &draft->policy.rollouts[draft->policy.rollout_count++];
    bool has_percent = false;
    if (!read_small(place, "rollout", id, 0, &rollout->id)) {
        return false;
    }
    for (char *word = strsep(&value, " \t"); word != NULL; word = strsep(&value, " \t")) {
        char *rest = strchr(word, ':');
        if (*word == '\0') {
            continue;
        }
        if (rest == NULL) {
            return refuse(place, "a rollout has salt:, percent:, withholds: and points:, not '%s'", word);
        }
        *rest++ = '\0';
        if (strcmp(word, "salt") == 0) {
            size_t length = strlen(rest);
            if (length < 1 || length > SBX_ROLLOUT_SALT_MAX) {
                return refuse(place, "a salt has 1 to %d letters", SBX_ROLLOUT_SALT_MAX);
            }
            rollout->salt_bytes = (uint32_t)length;
            memcpy(rollout->salt, rest, length);
        } else if (strcmp(word, "percent") == 0) {
            has_percent = read_percent(place, rest, &rollout->threshold);
            if (!has_percent) {
                return false;
            }
        } else if (strcmp(word, "points") == 0) {
            if (!read_points(place, rest, &rollout->points)) {
                return false;
            }
        } else if (strcmp(word, "withholds") == 0) {
            for (char *effect = next_word(&rest); effect != NULL; effect = next_word(&rest)) {
                bool is_recording = strcmp(effect, "recording") == 0;
                if (!is_recording && strcmp(effect, "sending") != 0) {
                    return refuse(place, "a rollout withholds recording or sending, not '%s'", effect);
                }
                rollout->effects |= is_recording ? SBX_ROLLOUT_COLLECT : SBX_ROLLOUT_UPLOAD;
            }
        } else {
            return refuse(place, "a rollout has salt:, percent:, withholds: and points:, not '%s'", word);
        }
    }
    if (rollout->salt_bytes == 0 || !has_percent || (rollout->effects == 0 && rollout->points == 0)) {
        return refuse(place, "a rollout needs a salt, a percentage, and something that it withholds");
    }
    draft->policy.required_features |= SBX_FEATURE_ROLLOUTS;
    return true;
}

/* "1.2.3" */
static bool read_agent(const struct place *place, const char *name, const char *value, uint32_t *number_out)
{
    unsigned major, minor, patch;
    int used = 0;
    if (strcmp(value, "any") == 0) {
        *number_out = 0;
        return true;
    }
    if (value[strspn(value, "0123456789.")] != '\0' || /* %u would accept a sign and spaces */
        sscanf(value, "%3u.%3u.%3u%n", &major, &minor, &patch, &used) != 3 || value[used] != '\0') {
        return refuse(place, "%s is a version like 1.2.3, or any, not '%s'", name, value);
    }
    *number_out = major * 1000000 + minor * 1000 + patch;
    return true;
}

static bool read_policy_line(struct sbx_policy_draft *draft, const struct place *place, char *name, char *value)
{
    struct sbx_policy_document *policy = &draft->policy;
    uint64_t seq, number;
    if (strcmp(name, "seq") == 0) {
        if (!sbx_policy_number_read(value, &seq) || seq == 0) {
            return refuse(place, "seq is a whole number from 1 on, not '%s'", value);
        }
        policy->policy.seq = seq;
        return true;
    }
    if (draft->role == SBX_ROLE_KILL) {
        return refuse(place, "a kill has app, epoch, seq, issued_at and expires_at, not '%s'", name);
    }
    if (strcmp(name, "kill") == 0) {
        if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0) {
            return refuse(place, "kill is yes or no, not '%s'", value);
        }
        policy->kill = value[0] == 'y';
        return true;
    }
    if (strcmp(name, "min_agent") == 0 || strcmp(name, "max_agent") == 0) {
        return read_agent(place, name, value, name[1] == 'i' ? &policy->min_agent : &policy->max_agent);
    }
    if (strncmp(name, "point ", 6) == 0) {
        return read_point_limits(draft, place, name + 6, value);
    }
    if (strncmp(name, "rollout ", 8) == 0) {
        return read_rollout(draft, place, name + 8, value);
    }
    const struct sbx_policy_field *field = find_field(name);
    if (field != NULL) {
        if (!read_field(place, field, value, &number)) {
            return false;
        }
        sbx_policy_set(&policy->policy, field, number);
        policy->required_features |= field->number >= 24 ? SBX_FEATURE_BUDGETS : 0;
        return true;
    }
    size_t count;
    const struct sbx_policy_field *fields = sbx_policy_fields(&count);
    for (size_t i = 0; i < count; i++) {
        if (sbx_word_distance(name, fields[i].name) <= 2) {
            return refuse(place, "a policy has no '%s'; did you mean '%s'?", name, fields[i].name);
        }
    }
    return refuse(place, "a policy has no '%s'", name);
}

/* ---- KEYSET ---- */

static bool read_key(const struct place *place, const char *value, void *keys, uint32_t *count, uint32_t max)
{
    uint8_t *key = (uint8_t *)keys + (size_t)*count * SBX_PUBLIC_KEY_BYTES;
    char path[PATH_MAX], why[PATH_MAX + 128];
    if (*count == max) {
        return refuse(place, "more than %u keys of this kind", max);
    }
    if (!sbx_key_hex_read(value, key, SBX_PUBLIC_KEY_BYTES)) {
        snprintf(path, sizeof path, "%s%s", value[0] == '/' ? "" : place->draft->folder, value);
        if (sbx_public_key_read(path, key, why, sizeof why) != 0) {
            return refuse(place, "%s", why);
        }
    } else if (sbx_key_check(key) != 0) {
        return refuse(place, "the key is no point of P-256");
    }
    ++*count;
    return true;
}

/* 64 hex digits, or the file of a public key. */
static bool read_seal_bytes(const struct place *place, const char *value, uint8_t key_out[SBX_SEAL_KEY_BYTES])
{
    char path[PATH_MAX], why[PATH_MAX + 128];
    if (sbx_key_hex_read(value, key_out, SBX_SEAL_KEY_BYTES)) {
        return true;
    }
    snprintf(path, sizeof path, "%s%s", value[0] == '/' ? "" : place->draft->folder, value);
    return sbx_seal_public_read(path, key_out, why, sizeof why) == 0;
}

/* "seal_key = key:HEX-OR-FILE from:TIME until:TIME" */
static bool read_seal_key(struct sbx_policy_draft *draft, const struct place *place, char *value)
{
    if (draft->keyset.seal_key_count == SBX_SEAL_KEYS_MAX) {
        return refuse(place, "more than %d seal keys", SBX_SEAL_KEYS_MAX);
    }
    struct sbx_seal_key *key = &draft->keyset.seal_keys[draft->keyset.seal_key_count++];
    bool has_key = false;
    for (char *word = next_word(&value); word != NULL; word = next_word(&value)) {
        bool fits = false;
        if (strncmp(word, "key:", 4) == 0) {
            fits = has_key = read_seal_bytes(place, word + 4, key->key);
        } else if (strncmp(word, "from:", 5) == 0) {
            fits = sbx_policy_time_read(word + 5, draft->now_s, &key->not_before_s);
        } else if (strncmp(word, "until:", 6) == 0) {
            fits = sbx_policy_time_read(word + 6, draft->now_s, &key->not_after_s);
        }
        if (!fits) {
            return refuse(place,
                          "a seal key is key:HEX from:TIME until:TIME, with 64 hex digits or a file of "
                          "stallbox seal keygen, not '%s'",
                          word);
        }
    }
    return (has_key && key->not_before_s < key->not_after_s) ||
           refuse(place, "a seal key needs a key and a time from which until which it holds");
}

/* "cap FIELD = MIN..MAX", or names of points or conditions */
static bool read_cap(struct sbx_policy_draft *draft, const struct place *place, const char *name, char *value)
{
    const struct sbx_policy_field *field = find_field(name);
    uint64_t min = 0, max = UINT32_MAX;
    if (field == NULL) {
        return refuse(place, "a policy has no '%s' to cap", name);
    }
    if (draft->keyset.cap_count == SBX_CAPS_MAX) {
        return refuse(place, "more than %d caps", SBX_CAPS_MAX);
    }
    if (field->form == SBX_FIELD_POINTS || field->form == SBX_FIELD_CONDITIONS) {
        if (!read_field(place, field, value, &max)) {
            return false;
        }
    } else {
        char *dots = strstr(value, "..");
        if (dots == NULL) {
            return refuse(place, "a cap is MIN..MAX, not '%s'", value);
        }
        *dots = '\0';
        if ((*value != '\0' && !sbx_policy_number_read(value, &min)) ||
            (dots[2] != '\0' && !sbx_policy_number_read(dots + 2, &max)) || min > max || max > UINT32_MAX) {
            return refuse(place, "a cap is MIN..MAX, and either may be missing");
        }
    }
    draft->keyset.caps[draft->keyset.cap_count++] = (struct sbx_field_cap){field->number, min, max};
    return true;
}

static bool read_keyset_line(struct sbx_policy_draft *draft, const struct place *place, char *name, char *value)
{
    struct sbx_keyset *keyset = &draft->keyset;
    if (strcmp(name, "version") == 0) {
        return read_small(place, name, value, 1, &keyset->version);
    }
    if (strcmp(name, "root_threshold") == 0) {
        return read_small(place, name, value, 1, &keyset->root_threshold);
    }
    if (strcmp(name, "policy_threshold") == 0) {
        return read_small(place, name, value, 1, &keyset->policy_threshold);
    }
    if (strcmp(name, "root_key") == 0) {
        return read_key(place, value, keyset->root_keys, &keyset->root_key_count, SBX_ROOT_KEYS_MAX);
    }
    if (strcmp(name, "policy_key") == 0) {
        return read_key(place, value, keyset->policy_keys, &keyset->policy_key_count, SBX_POLICY_KEYS_MAX);
    }
    if (strcmp(name, "kill_key") == 0) {
        return read_key(place, value, keyset->kill_keys, &keyset->kill_key_count, SBX_KILL_KEYS_MAX);
    }
    if (strcmp(name, "seal_key") == 0) {
        return read_seal_key(draft, place, value);
    }
    if (strcmp(name, "pin") == 0) {
        if (keyset->pin_count == SBX_PINS_MAX || !sbx_key_hex_read(value, keyset->pins[keyset->pin_count], 32)) {
            return refuse(place, "a pin is 64 hex digits (SHA-256 of the server's public key), up to %d of them",
                          SBX_PINS_MAX);
        }
        keyset->pin_count++;
        return true;
    }
    if (strncmp(name, "cap ", 4) == 0) {
        return read_cap(draft, place, name + 4, value);
    }
    return refuse(place, "a keyset has no '%s'", name);
}

/* ---- the whole ---- */

static char *trim(char *text)
{
    while (isspace((unsigned char)*text)) {
        text++;
    }
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        text[--length] = '\0';
    }
    return text;
}

/* "document = ROLE" must come first, because it decides which other lines are allowed. */
static bool read_role(struct sbx_policy_draft *draft, const struct place *place, const char *name, const char *value)
{
    static const char *const roles[] = {NULL, "keyset", "policy", "kill"};
    for (unsigned role = SBX_ROLE_KEYSET; role <= SBX_ROLE_KILL && strcmp(name, "document") == 0; role++) {
        if (strcmp(value, roles[role]) == 0) {
            draft->role = (enum sbx_signed_role)role;
            if (role == SBX_ROLE_KEYSET) {
                draft->keyset = (struct sbx_keyset){.policy_threshold = 1, .issued_at_s = draft->now_s};
            } else {
                draft->policy = (struct sbx_policy_document){.issued_at_s = draft->now_s};
                draft->policy.policy = *sbx_policy_default();
                draft->policy.policy.epoch = 0;
            }
            return true;
        }
    }
    return refuse(place, "the first line is document = keyset, policy or kill");
}

/* Check what a single line cannot show. */
static bool check_whole(struct sbx_policy_draft *draft, const struct place *place)
{
    struct sbx_policy_report report;
    uint8_t payload[SBX_SIGNED_PAYLOAD_MAX];
    bool is_keyset = draft->role == SBX_ROLE_KEYSET;
    uint64_t issued_s = is_keyset ? draft->keyset.issued_at_s : draft->policy.issued_at_s;
    uint64_t *expires_s = is_keyset ? &draft->keyset.expires_at_s : &draft->policy.expires_at_s;
    unsigned days_max = is_keyset ? SBX_KEYSET_DAYS_MAX : SBX_POLICY_DAYS_MAX;
    if (!draft->app_seen) {
        return refuse(place, "'app = NAME' or 'app_id = HEX' is missing");
    }
    if ((is_keyset ? draft->keyset.epoch : draft->policy.policy.epoch) == 0) {
        return refuse(place, "'epoch = N' is missing");
    }
    if (draft->expires_is_relative) {
        *expires_s += issued_s;
    }
    if (!draft->expires_seen && draft->role == SBX_ROLE_KILL) {
        *expires_s = issued_s + 1; /* a kill does not expire */
    } else if (!draft->expires_seen) {
        return refuse(place, "'expires_at = TIME' is missing");
    }
    if (draft->role != SBX_ROLE_KILL &&
        (*expires_s <= issued_s || *expires_s - issued_s > (uint64_t)days_max * DAY_S)) {
        return refuse(place, "it must expire after it is issued, within %u days", days_max);
    }
    if (!is_keyset && draft->policy.policy.seq == 0) {
        return refuse(place, "'seq = N' is missing");
    }
    enum sbx_policy_verdict verdict =
        is_keyset ? sbx_keyset_decode(payload, sbx_policy_draft_encode(draft, payload, sizeof payload),
                                      &(struct sbx_keyset){.version = 0}, &report)
                  : sbx_policy_document_check(&draft->policy, NULL, &report);
    return verdict == SBX_POLICY_ACCEPTED || refuse(place, "%s", report.why);
}

int sbx_policy_text_read(char *text, const char *path, const char *folder, uint64_t now_s,
                         struct sbx_policy_draft *draft_out, char *why, size_t why_bytes)
{
    memset(draft_out, 0, sizeof *draft_out);
    draft_out->path = path;
    draft_out->folder = folder;
    draft_out->now_s = now_s;
    const struct place place = {draft_out, why, why_bytes};
    for (char *line = strsep(&text, "\n"); line != NULL; line = strsep(&text, "\n")) {
        draft_out->line++;
        char *comment = strchr(line, '#');
        if (comment != NULL) {
            *comment = '\0';
        }
        char *name = trim(line);
        if (*name == '\0') {
            continue;
        }
        char *value = strchr(name, '=');
        if (value == NULL) {
            refuse(&place, "a line is 'name = value', not '%s'", name);
            return -EINVAL;
        }
        *value++ = '\0';
        name = trim(name);
        value = trim(value);
        int shared = 0;
        bool is_good;
        if (draft_out->role == 0) {
            is_good = read_role(draft_out, &place, name, value);
        } else {
            shared = read_shared(draft_out, &place, name, value);
            is_good = shared == 1 || (shared == 0 && (draft_out->role == SBX_ROLE_KEYSET
                                                          ? read_keyset_line(draft_out, &place, name, value)
                                                          : read_policy_line(draft_out, &place, name, value)));
        }
        if (!is_good) {
            return -EINVAL;
        }
    }
    if (draft_out->role == 0) {
        read_role(draft_out, &place, "", "");
        return -EINVAL;
    }
    return check_whole(draft_out, &place) ? 0 : -EINVAL;
}

size_t sbx_policy_draft_encode(const struct sbx_policy_draft *draft, uint8_t *bytes_out, size_t room)
{
    return draft->role == SBX_ROLE_KEYSET
               ? sbx_keyset_encode(&draft->keyset, bytes_out, room)
               : sbx_policy_document_encode(&draft->policy, draft->role == SBX_ROLE_KILL, bytes_out, room);
}
