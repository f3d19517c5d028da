/* SPDX-License-Identifier: Apache-2.0 */
/* short_name.c - a function's name, shortened to the room that a line has for it.
 *
 * A cut at a fixed column leaves "v8::internal::(anonymous namespace)::Inv": the scopes remain, and the name itself,
 * which the reader looks for, is lost. So a name is split into pieces here, and only whole pieces are removed. */
#include "short_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
    WORK_BYTES = 4096 /* bytes of a name that are read as pieces; the symbol reader makes none longer */
};

/* How many bytes at `at` form one word that contains brackets; 0: none. */
static size_t word_with_brackets(const char *name, const char *at)
{
    static const char *const words[] = {
        "(anonymous namespace)", "{anonymous}", "operator()", "operator<<=", "operator>>=",
        "operator<=>",           "operator<<",  "operator>>", "operator<=",  "operator>=",
        "operator->*",           "operator->",  "operator<",  "operator>",   "->"};
    bool is_inside_word = at > name && (at[-1] == '_' || (at[-1] >= '0' && at[-1] <= '9') ||
                                        (at[-1] >= 'a' && at[-1] <= 'z') || (at[-1] >= 'A' && at[-1] <= 'Z'));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t bytes = strlen(words[i]);
        if (strncmp(at, words[i], bytes) == 0 && !(is_inside_word && words[i][0] == 'o')) {
            return bytes;
        }
    }
    return 0;
}

/* The byte after the bracket that closes the one at `open`; NULL: no bracket closes it. */
static const char *behind_bracket(const char *name, const char *open)
{
    size_t depth = 0;
    for (const char *at = open; *at != '\0';) {
        size_t word = at == open ? 0 : word_with_brackets(name, at);
        if (word > 0) {
            at += word;
            continue;
        }
        depth += *at == '(' || *at == '<' || *at == '{' || *at == '[';
        depth -= *at == ')' || *at == '>' || *at == '}' || *at == ']';
        at++;
        if (depth == 0) {
            return at;
        }
    }
    return NULL;
}

/* What remains inside a bracket. */
enum inside {
    FIRST_AND_LAST, /* "(int, ..., bool)" */
    NOTHING         /* "(...)" */
};

/* Append to `out`, which has WORK_BYTES. Bytes that do not fit are dropped: the result is cut later anyway. */
static size_t append(char *out, size_t used, const char *bytes, size_t count)
{
    count = count < WORK_BYTES - 1 - used ? count : WORK_BYTES - 1 - used;
    memcpy(out + used, bytes, count);
    out[used + count] = '\0';
    return used + count;
}

/* [begin, end) is the inside of a bracket. */
static size_t append_inside(char *out, size_t used, const char *begin, const char *end, enum inside inside)
{
    const char *first_end = NULL, *last_begin = NULL;
    size_t commas = 0;
    for (const char *at = begin; at < end;) {
        bool opens = *at == '(' || *at == '<' || *at == '{' || *at == '[';
        size_t word = word_with_brackets(begin, at);
        const char *behind = word > 0 ? at + word : opens ? behind_bracket(begin, at) : at + 1;
        if (*at == ',') {
            commas++;
            first_end = first_end == NULL ? at : first_end;
            last_begin = at + 1;
        }
        at = behind == NULL || behind > end ? end : behind;
    }
    if (inside == NOTHING) {
        return begin == end ? used : append(out, used, "...", 3);
    }
    if (commas < 2) {
        return append(out, used, begin, (size_t)(end - begin));
    }
    used = append(out, used, begin, (size_t)(first_end - begin));
    used = append(out, used, ", ...,", 6);
    return append(out, used, last_begin, (size_t)(end - last_begin));
}

/* Copy `name` into `out`, with less inside its brackets of kind `open`. */
static void thin_out(const char *name, char open, enum inside inside, char out[WORK_BYTES])
{
    size_t used = 0;
    out[0] = '\0';
    for (const char *at = name; *at != '\0';) {
        size_t word = word_with_brackets(name, at);
        bool opens = word == 0 && (*at == '(' || *at == '<' || *at == '{' || *at == '[');
        const char *behind = opens ? behind_bracket(name, at) : at + (word > 0 ? word : 1);
        if (behind == NULL) {
            append(out, used, at, strlen(at));
            return;
        }
        if (opens && *at == open) {
            used = append(out, used, at, 1);
            used = append_inside(out, used, at + 1, behind - 1, inside);
            used = append(out, used, behind - 1, 1);
        } else {
            used = append(out, used, at, (size_t)(behind - at));
        }
        at = behind;
    }
}

/* The longest end of `name` of at most `bytes` bytes that begins after a "::" outside of all brackets; NULL: none. */
static const char *inner_scopes(const char *name, size_t bytes)
{
    size_t length = strlen(name);
    for (const char *at = name; *at != '\0';) {
        size_t word = word_with_brackets(name, at);
        bool opens = word == 0 && (*at == '(' || *at == '<' || *at == '{' || *at == '[');
        if (at[0] == ':' && at[1] == ':') {
            if (length - (size_t)(at + 2 - name) <= bytes) {
                return at + 2;
            }
            at += 2;
            continue;
        }
        at = opens ? behind_bracket(name, at) : at + (word > 0 ? word : 1);
        if (at == NULL) {
            return NULL;
        }
    }
    return NULL;
}

static bool is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The last resort: both ends of a name. */
static void cut_middle(const char *name, size_t limit, char *out)
{
    size_t length = strlen(name), front = (limit - 3 + 1) / 2, back = limit - 3 - front;
    while (front > 0 && is_inside_character(name[front])) {
        front--;
    }
    while (back > 0 && is_inside_character(name[length - back])) {
        back--;
    }
    memcpy(out, name, front);
    memcpy(out + front, "...", 3);
    memcpy(out + front + 3, name + length - back, back + 1);
}

const char *sbx_short_name(const char *function, int limit, char out[SBX_SHORT_NAME_BYTES])
{
    static const struct {
        char open;
        enum inside inside;
    } steps[] = {{'(', FIRST_AND_LAST}, {'(', NOTHING}, {'<', NOTHING}};
    size_t room = (size_t)(limit < 10 ? 10 : limit >= SBX_SHORT_NAME_BYTES ? SBX_SHORT_NAME_BYTES - 1 : limit);
    char works[2][WORK_BYTES];
    const char *name = function;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && strlen(name) > room; i++) {
        thin_out(name, steps[i].open, steps[i].inside, works[i % 2]);
        name = works[i % 2];
    }
    if (strlen(name) <= room) {
        memcpy(out, name, strlen(name) + 1);
        return out;
    }
    static const char left_out[] = "...::";
    const char *inner = inner_scopes(name, room - (sizeof left_out - 1));
    if (inner != NULL) {
        memcpy(out, left_out, sizeof left_out - 1);
        memcpy(out + sizeof left_out - 1, inner, strlen(inner) + 1);
        return out;
    }
    cut_middle(name, room, out);
    return out;
}
