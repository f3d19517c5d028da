/* SPDX-License-Identifier: Apache-2.0 */
/* token_line.c - reads and prints words with values. */
#include "token_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

static const struct {
    const char *name;
    unsigned rights;
} roles[] = {
    {"send", SBX_RIGHT_SEND}, {"symbols", SBX_RIGHT_SYMBOLS}, {"read", SBX_RIGHT_READ}, {"admin", SBX_RIGHT_ALL}};

unsigned sbx_token_rights_read(const char *text)
{
    unsigned rights = 0;
    for (;;) {
        size_t bytes = strcspn(text, ","), i = 0;
        while (i < sizeof(roles) / sizeof(roles[0]) &&
               (strlen(roles[i].name) != bytes || memcmp(roles[i].name, text, bytes) != 0))
            i++;
        if (i == sizeof(roles) / sizeof(roles[0]))
            return 0;
        rights |= roles[i].rights;
        if (text[bytes] == '\0')
            return rights;
        text += bytes + 1;
    }
}

void sbx_token_rights_print(unsigned rights, char text_out[32])
{
    text_out[0] = '\0';
    if (rights == SBX_RIGHT_ALL) {
        snprintf(text_out, 32, "admin");
        return;
    }
    for (size_t i = 0, used = 0; i < 3; i++)
        if (rights & roles[i].rights)
            used += (size_t)snprintf(text_out + used, 32 - used, "%s%s", used ? "," : "", roles[i].name);
}

/* ---- values ---- */

static int hex_value(char digit)
{
    return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static bool read_hex(const char *text, uint8_t *out, size_t count)
{
    if (strlen(text) != 2 * count)
        return false;
    for (size_t i = 0; i < count; i++) {
        int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool read_text(const char *value, char *out, size_t room)
{
    size_t used = 0;
    for (; *value; value++) {
        int letter = (unsigned char)*value;
        if (letter == '%') {
            int high = hex_value(value[1]), low = high < 0 ? -1 : hex_value(value[2]);
            if (low < 0)
                return false;
            letter = high << 4 | low;
            value += 2;
        }
        if (letter < ' ' || letter == 0x7f || used + 1 == room)
            return false;
        out[used++] = (char)letter;
    }
    out[used] = '\0';
    return true;
}

static bool read_number(const char *value, int64_t max, int64_t *out)
{
    size_t digits = strspn(value, "0123456789");
    *out = digits > 0 && digits < 16 && value[digits] == '\0' ? strtoll(value, NULL, 10) : -1;
    return *out >= 0 && *out <= max;
}

/* ---- words ---- */

enum word {
    ID = 1,
    ROLES = 2,
    APP = 4,
    POLICY = 8,
    DIGEST = 16,
    MADE = 32,
    ENDS = 64,
    RATE = 128,
    NOTE = 256,
};
static const struct {
    const char *name;
    enum word word;
} words[] = {{"id", ID},     {"roles", ROLES}, {"app", APP},   {"policy", POLICY}, {"sha256", DIGEST},
             {"made", MADE}, {"ends", ENDS},   {"rate", RATE}, {"note", NOTE}};

static bool read_value(enum word word, const char *value, struct sbx_token *token)
{
    int64_t number = 0;
    uint8_t id[(SBX_TOKEN_ID_TEXT - 1) / 2];
    switch (word) {
    case ID:
        snprintf(token->id, sizeof(token->id), "%s", value);
        return read_hex(value, id, sizeof(id));
    case ROLES:
        return (token->rights = sbx_token_rights_read(value)) != 0;
    case APP:
        return read_text(value, token->app, sizeof(token->app)) && token->app[0] != '\0';
    case POLICY:
        return token->has_policy_id = read_hex(value, token->policy_id, SBX_TOKEN_POLICY_ID);
    case DIGEST:
        return read_hex(value, token->digest, SBX_TOKEN_DIGEST);
    case MADE:
        return read_number(value, INT64_MAX, &token->made_s);
    case ENDS:
        return read_number(value, INT64_MAX, &token->ends_s);
    case RATE:
        if (!read_number(value, UINT32_MAX, &number))
            return false;
        token->an_hour = (uint32_t)number;
        return true;
    default:
        return read_text(value, token->note, sizeof(token->note));
    }
}

const char *sbx_token_line_read(const char *line, size_t bytes, struct sbx_token *token_out)
{
    char text[SBX_TOKEN_LINE_BYTES], *rest = NULL;
    unsigned seen = 0;
    *token_out = (struct sbx_token){.rights = 0};
    if (bytes >= sizeof(text) || memchr(line, '\0', bytes))
        return "the line is too long, or has a zero byte";
    memcpy(text, line, bytes);
    text[bytes] = '\0';
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        size_t i = 0;
        if (!value)
            return "a word without a value";
        *value++ = '\0';
        while (i < sizeof(words) / sizeof(words[0]) && strcmp(words[i].name, word) != 0)
            i++;
        if (i == sizeof(words) / sizeof(words[0]))
            return "a word that this version does not know";
        if (seen & words[i].word)
            return "a word stands twice";
        seen |= words[i].word;
        if (!read_value(words[i].word, value, token_out))
            return "a value is none of its word";
    }
    if ((seen & (ID | ROLES | DIGEST)) != (ID | ROLES | DIGEST))
        return "id, roles or sha256 is missing";
    token_out->app_number = sbx_app_what(token_out->app);
    return NULL;
}

/* ---- printing ---- */

static size_t put(char *line, size_t used, const char *name, const char *value)
{
    return used + (size_t)snprintf(line + used, SBX_TOKEN_LINE_BYTES - used, "%s%s=%s", used ? " " : "", name, value);
}

static size_t put_hex(char *line, size_t used, const char *name, const uint8_t *bytes, size_t count)
{
    char text[2 * SBX_TOKEN_DIGEST + 1];
    for (size_t i = 0; i < count; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return put(line, used, name, text);
}

static size_t put_text(char *line, size_t used, const char *name, const char *value)
{
    char text[3 * SBX_TOKEN_APP_BYTES + 1] = "";
    for (size_t at = 0; *value; value++) {
        bool is_plain = (unsigned char)*value > ' ' && *value != '%' && *value != 0x7f;
        at += (size_t)snprintf(text + at, sizeof(text) - at, is_plain ? "%c" : "%%%02x", (unsigned char)*value);
    }
    return put(line, used, name, text);
}

void sbx_token_line_print(const struct sbx_token *token, char line_out[SBX_TOKEN_LINE_BYTES])
{
    char text[32];
    size_t used = put(line_out, 0, "id", token->id);
    sbx_token_rights_print(token->rights, text);
    used = put(line_out, used, "roles", text);
    if (token->app[0])
        used = put_text(line_out, used, "app", token->app);
    if (token->has_policy_id)
        used = put_hex(line_out, used, "policy", token->policy_id, SBX_TOKEN_POLICY_ID);
    used = put_hex(line_out, used, "sha256", token->digest, SBX_TOKEN_DIGEST);
    snprintf(text, sizeof(text), "%lld", (long long)token->made_s);
    used = put(line_out, used, "made", text);
    snprintf(text, sizeof(text), "%lld", (long long)token->ends_s);
    used = put(line_out, used, "ends", text);
    snprintf(text, sizeof(text), "%u", token->an_hour);
    used = put(line_out, used, "rate", text);
    if (token->note[0])
        put_text(line_out, used, "note", token->note);
}
