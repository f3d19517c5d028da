/* SPDX-License-Identifier: Apache-2.0 */
/* script_tokens.c - units, names, brackets, and which slash begins a regular expression. */
#include "script_tokens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 64 << 20,
    REPLACEMENT = 0xfffd,
};

struct reader {
    struct sbx_script *script;
    uint32_t at;
    uint32_t token_room;
    uint32_t *open; /* brackets whose partner was not read yet */
    uint32_t open_count, open_room;
    int result;
};

/* ---- units ---- */

/* Read the next character of UTF-8. Invalid bytes give one U+FFFD for each longest part of a character, as in web
 * browsers. */
static uint32_t next_character(const uint8_t **at, const uint8_t *end)
{
    uint8_t first = *(*at)++;
    if (first < 0x80) {
        return first;
    }
    unsigned more = first >= 0xc2 && first < 0xe0   ? 1
                    : first >= 0xe0 && first < 0xf0 ? 2
                    : first >= 0xf0 && first < 0xf5 ? 3
                                                    : 0;
    uint32_t c = more == 1 ? first & 0x1fu : more == 2 ? first & 0xfu : first & 7u;
    uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    for (unsigned i = 0; i < more; i++, low = 0x80, high = 0xbf) {
        if (*at >= end || **at < low || **at > high) {
            return REPLACEMENT;
        }
        c = c << 6 | (*(*at)++ & 0x3fu);
    }
    return more == 0 ? REPLACEMENT : c;
}

static int read_units(struct sbx_script *script, struct sbx_name_text text)
{
    const uint8_t *at = (const uint8_t *)text.at, *end = at + text.bytes;
    script->units = malloc((text.bytes + 1) * sizeof *script->units); /* each unit comes from at least one byte */
    if (script->units == NULL) {
        return -ENOMEM;
    }
    if (text.bytes >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) {
        at += 3;
    }
    while (at < end) {
        uint32_t c = next_character(&at, end);
        if (c >= 0x10000) {
            script->units[script->unit_count++] = (uint16_t)(0xd800 + ((c - 0x10000) >> 10));
            c = 0xdc00 + ((c - 0x10000) & 0x3ff);
        }
        script->units[script->unit_count++] = (uint16_t)c;
    }
    return 0;
}

size_t sbx_script_text(const struct sbx_script *script, uint32_t begin, uint32_t end, char *to, size_t room)
{
    static const uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};
    size_t bytes = 0;
    for (uint32_t i = begin; i < end && i < script->unit_count; i++) {
        uint32_t c = script->units[i];
        if (c >= 0xd800 && c < 0xe000) {
            uint32_t low = c < 0xdc00 && i + 1 < end && i + 1 < script->unit_count ? script->units[i + 1] : 0;
            bool is_pair = low >= 0xdc00 && low < 0xe000;
            c = is_pair ? 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00) : REPLACEMENT;
            i += is_pair;
        }
        unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        if (room - bytes <= more) {
            break;
        }
        to[bytes++] = (char)(more == 0 ? (c < 0x20 || c == 0x7f ? '?' : c) : heads[more] | c >> (6 * more));
        while (more-- > 0) {
            to[bytes++] = (char)(0x80 | (c >> (6 * more) & 0x3f));
        }
    }
    return bytes;
}

/* ---- words ---- */

static uint32_t peek(const struct reader *reader, uint32_t ahead)
{
    const struct sbx_script *script = reader->script;
    return ahead < script->unit_count - reader->at ? script->units[reader->at + ahead] : 0;
}

static bool is_end(const struct reader *reader)
{
    return reader->at >= reader->script->unit_count;
}

static bool is_line_end(uint32_t c)
{
    return c == '\n' || c == '\r' || c == 0x2028 || c == 0x2029;
}

static bool is_name(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           c == '\\' ||
           (c >= 0xaa && c != 0xfeff && !(c >= 0x2000 && c <= 0x206f && c != 0x200c && c != 0x200d) && c != 0x3000);
}

static struct sbx_script_token *add(struct reader *reader, enum sbx_script_token_kind kind, uint32_t begin)
{
    struct sbx_script *script = reader->script;
    if (script->token_count == reader->token_room) {
        uint32_t room = reader->token_room == 0 ? 1024 : reader->token_room * 2;
        struct sbx_script_token *grown = reallocarray(script->tokens, room, sizeof *grown);
        if (grown == NULL) {
            reader->result = -ENOMEM;
            reader->at = script->unit_count;
            return NULL;
        }
        script->tokens = grown;
        reader->token_room = room;
    }
    uint32_t first = begin < script->unit_count ? script->units[begin] : 0;
    struct sbx_script_token *token = &script->tokens[script->token_count++];
    *token = (struct sbx_script_token){.begin = begin,
                                       .end = reader->at,
                                       .match = UINT32_MAX,
                                       .kind = (uint8_t)kind,
                                       .mark = first < 0x80 ? (char)first : '\0'};
    return token;
}

static void add_open(struct reader *reader, uint32_t begin, char mark)
{
    if (reader->open_count == reader->open_room) {
        uint32_t room = reader->open_room == 0 ? 256 : reader->open_room * 2;
        uint32_t *grown = reallocarray(reader->open, room, sizeof *grown);
        if (grown == NULL) {
            reader->result = -ENOMEM;
            reader->at = reader->script->unit_count;
            return;
        }
        reader->open = grown;
        reader->open_room = room;
    }
    struct sbx_script_token *token = add(reader, SBX_SCRIPT_OPEN, begin);
    if (token != NULL) {
        token->mark = mark;
        reader->open[reader->open_count++] = reader->script->token_count - 1;
    }
}

/* Returns the mark of the bracket that was closed; 0: none. */
static char add_close(struct reader *reader, uint32_t begin)
{
    uint32_t own = reader->script->token_count;
    if (add(reader, SBX_SCRIPT_CLOSE, begin) == NULL || reader->open_count == 0) {
        return '\0';
    }
    struct sbx_script_token *tokens = reader->script->tokens;
    uint32_t open = reader->open[--reader->open_count];
    tokens[open].match = own;
    tokens[own].match = open;
    return tokens[open].mark;
}

static bool is_word(const struct sbx_script *script, const struct sbx_script_token *token, const char *word)
{
    size_t length = strlen(word);
    if (token->kind != SBX_SCRIPT_NAME || token->end - token->begin != length) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (script->units[token->begin + i] != (uint8_t)word[i]) {
            return false;
        }
    }
    return true;
}

static bool is_one_of(const struct sbx_script *script, const struct sbx_script_token *token, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (is_word(script, token, *words)) {
            return true;
        }
    }
    return false;
}

/* Whether a slash begins a regular expression here. After a value it is a division. */
static bool begins_expression(const struct reader *reader)
{
    static const char *const before[] = {"return", "typeof", "case",       "in",   "of",    "delete", "void", "throw",
                                         "new",    "do",     "instanceof", "else", "yield", "await",  NULL};
    static const char *const heads[] = {"if", "while", "for", "with", NULL};
    const struct sbx_script *script = reader->script;
    if (script->token_count == 0) {
        return true;
    }
    const struct sbx_script_token *last = &script->tokens[script->token_count - 1];
    switch (last->kind) {
    case SBX_SCRIPT_NAME:
        return is_one_of(script, last, before);
    case SBX_SCRIPT_VALUE:
        return false;
    case SBX_SCRIPT_MARK:
        return !((last->mark == '+' || last->mark == '-') && last->begin > 0 && script->token_count > 1 &&
                 last[-1].end == last->begin && last[-1].mark == last->mark && last[-1].kind == SBX_SCRIPT_MARK);
    case SBX_SCRIPT_CLOSE:
        if (last->mark == ')' && last->match != UINT32_MAX && last->match > 0) {
            return is_one_of(script, &script->tokens[last->match - 1], heads);
        }
        return last->mark == '}';
    default:
        return true;
    }
}

static void read_regular_expression(struct reader *reader)
{
    uint32_t begin = reader->at++;
    bool is_class = false;
    while (!is_end(reader) && !is_line_end(peek(reader, 0))) {
        uint32_t c = peek(reader, 0);
        if (c == '\\' && !is_line_end(peek(reader, 1))) {
            reader->at++;
        } else if (c == '[') {
            is_class = true;
        } else if (c == ']') {
            is_class = false;
        } else if (c == '/' && !is_class) {
            reader->at++;
            break;
        }
        reader->at++;
    }
    reader->at = reader->at > reader->script->unit_count ? reader->script->unit_count : reader->at;
    while (!is_end(reader) && is_name(peek(reader, 0))) {
        reader->at++;
    }
    (void)add(reader, SBX_SCRIPT_VALUE, begin);
}

static void read_string(struct reader *reader)
{
    uint32_t begin = reader->at, quote = peek(reader, 0);
    reader->at++;
    while (!is_end(reader)) {
        uint32_t c = peek(reader, 0);
        if (c == '\n' || c == '\r') {
            break;
        }
        reader->at++;
        if (c == '\\' && !is_end(reader)) {
            bool is_both = peek(reader, 0) == '\r' && peek(reader, 1) == '\n';
            reader->at++;
            if (is_both) {
                reader->at++;
            }
        } else if (c == quote) {
            break;
        }
    }
    (void)add(reader, SBX_SCRIPT_VALUE, begin);
}

/* Read the text of a template, to its end or to the next "${". `begin`: where this piece begins. */
static void read_template(struct reader *reader, uint32_t begin)
{
    while (!is_end(reader)) {
        uint32_t c = peek(reader, 0);
        if (c == '$' && peek(reader, 1) == '{') {
            (void)add(reader, SBX_SCRIPT_VALUE, begin);
            reader->at += 2;
            add_open(reader, reader->at - 2, '$');
            return;
        }
        reader->at++;
        if (c == '\\' && !is_end(reader)) {
            reader->at++;
        } else if (c == '`') {
            break;
        }
    }
    (void)add(reader, SBX_SCRIPT_VALUE, begin);
}

static bool pass_comment(struct reader *reader)
{
    bool is_line = peek(reader, 1) == '/', is_long = peek(reader, 1) == '*';
    bool is_first = reader->at == 0 && peek(reader, 0) == '#' && peek(reader, 1) == '!';
    if (is_first || is_line) {
        while (!is_end(reader) && !is_line_end(peek(reader, 0))) {
            reader->at++;
        }
    } else if (is_long) {
        reader->at += 2;
        while (!is_end(reader) && !(peek(reader, 0) == '*' && peek(reader, 1) == '/')) {
            reader->at++;
        }
        reader->at += is_end(reader) ? 0 : 2;
    }
    return is_first || is_line || is_long;
}

static void read_word(struct reader *reader)
{
    uint32_t begin = reader->at, c = peek(reader, 0);
    bool is_number = c >= '0' && c <= '9';
    reader->at++;
    while (!is_end(reader) && (is_name(peek(reader, 0)) || (is_number && peek(reader, 0) == '.'))) {
        if (peek(reader, 0) == '\\' && peek(reader, 1) == 'u' && peek(reader, 2) == '{') {
            while (!is_end(reader) && peek(reader, 0) != '}') {
                reader->at++;
            }
            reader->at -= is_end(reader);
        }
        reader->at++;
    }
    (void)add(reader, is_number ? SBX_SCRIPT_VALUE : SBX_SCRIPT_NAME, begin);
}

static void read_token(struct reader *reader)
{
    uint32_t c = peek(reader, 0), begin = reader->at;
    if (is_line_end(c) || c <= ' ') {
        reader->at++;
    } else if ((c == '/' || (c == '#' && begin == 0)) && pass_comment(reader)) {
        return;
    } else if (is_name(c) || (c == '#' && is_name(peek(reader, 1)))) {
        read_word(reader);
    } else if (c == '"' || c == '\'') {
        read_string(reader);
    } else if (c == '`') {
        reader->at++;
        read_template(reader, begin);
    } else if (c == '/' && begins_expression(reader)) {
        read_regular_expression(reader);
    } else if (c == '(' || c == '[' || c == '{') {
        reader->at++;
        add_open(reader, begin, (char)c);
    } else if (c == ')' || c == ']' || c == '}') {
        reader->at++;
        if (add_close(reader, begin) == '$') {
            read_template(reader, reader->at);
        }
    } else if (c == '=' && peek(reader, 1) == '>') {
        reader->at += 2;
        struct sbx_script_token *arrow = add(reader, SBX_SCRIPT_MARK, begin);
        if (arrow != NULL) {
            arrow->mark = '>';
        }
    } else if (c < 0x80) {
        reader->at++;
        (void)add(reader, SBX_SCRIPT_MARK, begin);
    } else {
        reader->at++; /* other white space of Unicode */
    }
}

int sbx_script_read(struct sbx_script *script_out, struct sbx_name_text text)
{
    *script_out = (struct sbx_script){0};
    struct reader reader = {.script = script_out};
    reader.result = text.bytes > TEXT_MAX ? -E2BIG : read_units(script_out, text);
    while (reader.result == 0 && !is_end(&reader)) {
        read_token(&reader);
    }
    free(reader.open);
    if (reader.result != 0) {
        sbx_script_finish(script_out);
    }
    return reader.result;
}

void sbx_script_finish(struct sbx_script *script)
{
    free(script->units);
    free(script->tokens);
    *script = (struct sbx_script){0};
}
