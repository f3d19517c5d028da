/* SPDX-License-Identifier: Apache-2.0 */
/* python_tokens.c - names, strings, brackets, and the ends of logical lines. */
#include "python_tokens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEPTH_MAX = 200, /* maximum depth of brackets, as in the interpreter */
    STRINGS_MAX = 8, /* maximum depth of nested f-strings */
    TEXT_MAX = 64 << 20,
};

struct reader {
    const char *at, *end, *line_begin;
    struct sbx_python_tokens *tokens;
    uint32_t room, line, depth;
    uint32_t open[DEPTH_MAX]; /* OPENs whose CLOSE was not read yet */
    uint32_t strings;         /* number of f-strings around `at` */
    bool is_fresh;            /* no token of the logical line yet */
    int result;
};

static int peek(const struct reader *reader, size_t ahead)
{
    return ahead < (size_t)(reader->end - reader->at) ? (unsigned char)reader->at[ahead] : -1;
}

static struct sbx_python_token *add(struct reader *reader, enum sbx_python_token_kind kind, const char *begin)
{
    struct sbx_python_tokens *tokens = reader->tokens;
    if (tokens->count == reader->room) {
        uint32_t room = reader->room == 0 ? 1024 : reader->room * 2;
        struct sbx_python_token *grown = reallocarray(tokens->list, room, sizeof *grown);
        if (grown == NULL) {
            reader->result = -ENOMEM;
            reader->at = reader->end;
            return NULL;
        }
        tokens->list = grown;
        reader->room = room;
    }
    uint32_t column = 0;
    if (reader->is_fresh && kind != SBX_PYTHON_NEWLINE) {
        for (const char *c = reader->line_begin; c < begin; c++) {
            column = *c == '\t' ? (column | 7) + 1 : *c == '\f' ? 0 : column + 1;
        }
    }
    reader->is_fresh = kind == SBX_PYTHON_NEWLINE;
    struct sbx_python_token *token = &tokens->list[tokens->count++];
    *token = (struct sbx_python_token){.text = {begin, (size_t)(reader->at - begin)},
                                       .line = reader->line,
                                       .column = column,
                                       .kind = (uint8_t)kind,
                                       .mark = begin < reader->end ? *begin : '\0'};
    return token;
}

/* Pass the end of a line at `at`, of any sort. */
static void pass_line_end(struct reader *reader)
{
    reader->at += peek(reader, 0) == '\r' && peek(reader, 1) == '\n' ? 2 : 1;
    reader->line++;
    reader->line_begin = reader->at;
}

static bool is_line_end(int c)
{
    return c == '\n' || c == '\r';
}

static void open_bracket(struct reader *reader, char mark)
{
    const char *begin = reader->at;
    if (mark != 'f') {
        reader->at++;
    }
    struct sbx_python_token *token = add(reader, SBX_PYTHON_OPEN, begin);
    if (token == NULL) {
        return;
    }
    token->mark = mark;
    token->match = UINT32_MAX; /* until the CLOSE is known */
    if (reader->depth == DEPTH_MAX) {
        reader->at = reader->end; /* no Python */
        return;
    }
    reader->open[reader->depth++] = reader->tokens->count - 1;
}

static void close_bracket(struct reader *reader, bool is_field)
{
    const char *begin = reader->at;
    if (!is_field) {
        reader->at++;
    }
    if (reader->depth == 0) {
        return; /* not valid Python: a bracket closes that was not opened */
    }
    reader->tokens->list[reader->open[--reader->depth]].match = reader->tokens->count;
    (void)add(reader, SBX_PYTHON_CLOSE, begin);
}

static void read_words(struct reader *reader, uint32_t until_depth);

/* Read a field of an f-string, from after its '{' to after its '}'. */
static void read_field(struct reader *reader);

/* Read the text between fields, up to the quotes that end the string; in a format also up to '}'. */
static void read_parts(struct reader *reader, char quote, bool is_long, bool is_raw, bool is_format)
{
    while (reader->at < reader->end) {
        int c = peek(reader, 0);
        if (is_line_end(c)) {
            if (!is_long) {
                return;
            }
            pass_line_end(reader);
        } else if (c == '\\' && !is_raw && peek(reader, 1) == 'N' && peek(reader, 2) == '{') {
            const char *close = memchr(reader->at, '}', (size_t)(reader->end - reader->at));
            reader->at = close == NULL ? reader->end : close + 1;
        } else if (c == '\\' && reader->end - reader->at > 1 && peek(reader, 1) != '{' && peek(reader, 1) != '}') {
            reader->at++;
            if (is_line_end(peek(reader, 0))) {
                pass_line_end(reader);
            } else {
                reader->at++;
            }
        } else if (c == quote && !is_format && (!is_long || (peek(reader, 1) == quote && peek(reader, 2) == quote))) {
            reader->at += is_long ? 3 : 1;
            return;
        } else if (c == quote && is_format && !is_long) {
            return;
        } else if (c == '{' && peek(reader, 1) == '{' && !is_format) {
            reader->at += 2;
        } else if (c == '{') {
            reader->at++;
            read_field(reader);
        } else if (c == '}' && is_format) {
            return;
        } else {
            reader->at++;
        }
    }
}

static void read_field(struct reader *reader)
{
    if (reader->strings == STRINGS_MAX) {
        reader->at = reader->end;
        return;
    }
    reader->strings++;
    uint32_t depth = reader->depth;
    open_bracket(reader, 'f');
    read_words(reader, depth + 1);
    if (reader->depth == depth + 1) {
        close_bracket(reader, true);
    }
    if (peek(reader, 0) == '!') {
        while (reader->at < reader->end && peek(reader, 0) != ':' && peek(reader, 0) != '}' &&
               !is_line_end(peek(reader, 0))) {
            reader->at++;
        }
    }
    if (peek(reader, 0) == ':') {
        reader->at++;
        read_parts(reader, '\0', true, true, true);
    }
    if (peek(reader, 0) == '}') {
        reader->at++;
    }
    reader->strings--;
}

/* Read a string; `at` is at its quotes. */
static void read_string(struct reader *reader, const char *begin, bool is_raw, bool has_fields)
{
    char quote = *reader->at;
    bool is_long = peek(reader, 1) == quote && peek(reader, 2) == quote;
    reader->at += is_long ? 3 : 1;
    (void)add(reader, SBX_PYTHON_VALUE, begin);
    if (has_fields) {
        read_parts(reader, quote, is_long, is_raw, false);
        return;
    }
    while (reader->at < reader->end) {
        int c = peek(reader, 0);
        if (is_line_end(c)) {
            if (!is_long) {
                return;
            }
            pass_line_end(reader);
        } else if (c == '\\' && reader->end - reader->at > 1) { /* in raw strings, too */
            reader->at++;
            if (is_line_end(peek(reader, 0))) {
                pass_line_end(reader);
            } else {
                reader->at++;
            }
        } else if (c == quote && (!is_long || (peek(reader, 1) == quote && peek(reader, 2) == quote))) {
            reader->at += is_long ? 3 : 1;
            return;
        } else {
            reader->at++;
        }
    }
}

static bool is_name(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c >= 0x80;
}

/* Read a name, a number, or a string with letters before its quotes. */
static void read_name(struct reader *reader)
{
    const char *begin = reader->at;
    bool is_number = *begin >= '0' && *begin <= '9', is_raw = false, has_fields = false;
    while (is_name(peek(reader, 0))) {
        reader->at++;
    }
    int c = peek(reader, 0);
    if ((c == '\'' || c == '"') && reader->at - begin <= 2 && !is_number) {
        bool is_prefix = true;
        for (const char *letter = begin; letter < reader->at; letter++) {
            is_prefix = is_prefix && strchr("rRbBuUfF", *letter) != NULL;
            is_raw = is_raw || *letter == 'r' || *letter == 'R';
            has_fields = has_fields || *letter == 'f' || *letter == 'F';
        }
        if (is_prefix) {
            read_string(reader, begin, is_raw, has_fields);
            return;
        }
    }
    (void)add(reader, is_number ? SBX_PYTHON_VALUE : SBX_PYTHON_NAME, begin);
}

static void end_line(struct reader *reader)
{
    const struct sbx_python_tokens *tokens = reader->tokens;
    if (tokens->count > 0 && tokens->list[tokens->count - 1].kind != SBX_PYTHON_NEWLINE) {
        (void)add(reader, SBX_PYTHON_NEWLINE, reader->at);
    }
}

/* Read tokens up to the end of the file; in a field (`until_depth` is not 0), up to the end of its expression. */
static void read_words(struct reader *reader, uint32_t until_depth)
{
    while (reader->at < reader->end) {
        int c = peek(reader, 0);
        bool is_field = until_depth != 0 && reader->depth == until_depth;
        if (until_depth != 0 && reader->depth < until_depth) {
            return;
        }
        if (is_field && (c == '}' || c == ':' || (c == '!' && peek(reader, 1) != '='))) {
            return;
        }
        if (is_line_end(c)) {
            if (reader->depth == 0) {
                end_line(reader);
            }
            pass_line_end(reader);
        } else if (c == '\\' && is_line_end(peek(reader, 1))) {
            reader->at++;
            pass_line_end(reader);
        } else if (c == '#') {
            while (reader->at < reader->end && !is_line_end(peek(reader, 0))) {
                reader->at++;
            }
        } else if (c == ' ' || c == '\t' || c == '\f') {
            reader->at++;
        } else if (is_name(c)) {
            read_name(reader);
        } else if (c == '\'' || c == '"') {
            read_string(reader, reader->at, false, false);
        } else if (c == '(' || c == '[' || c == '{') {
            open_bracket(reader, (char)c);
        } else if (c == ')' || c == ']' || c == '}') {
            close_bracket(reader, false);
        } else {
            const char *begin = reader->at;
            reader->at += c == ':' && peek(reader, 1) == '=' ? 2 : 1;
            (void)add(reader, SBX_PYTHON_MARK, begin);
        }
    }
}

int sbx_python_tokens_read(struct sbx_python_tokens *tokens_out, struct sbx_name_text text)
{
    *tokens_out = (struct sbx_python_tokens){0};
    if (text.bytes > TEXT_MAX) {
        return -E2BIG;
    }
    if (text.bytes >= 3 && memcmp(text.at, "\xef\xbb\xbf", 3) == 0) {
        text = (struct sbx_name_text){text.at + 3, text.bytes - 3};
    }
    struct reader reader = {.at = text.at,
                            .end = text.at + text.bytes,
                            .line_begin = text.at,
                            .tokens = tokens_out,
                            .line = 1,
                            .is_fresh = true};
    read_words(&reader, 0);
    end_line(&reader);
    if (reader.result != 0) {
        sbx_python_tokens_finish(tokens_out);
        return reader.result;
    }
    for (uint32_t i = 0; i < tokens_out->count; i++) {
        if (tokens_out->list[i].kind == SBX_PYTHON_OPEN && tokens_out->list[i].match >= tokens_out->count) {
            tokens_out->list[i].match = tokens_out->count - 1;
        }
    }
    return 0;
}

void sbx_python_tokens_finish(struct sbx_python_tokens *tokens)
{
    free(tokens->list);
    *tokens = (struct sbx_python_tokens){0};
}
