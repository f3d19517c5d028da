/* SPDX-License-Identifier: Apache-2.0 */
/* script_source.c - finds functions in the tokens: `function`, arrows, methods, and the function that is the whole
 * script. */
#include "script_source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script_map.h"
#include "script_tokens.h"

struct source {
    struct sbx_name_list *list;
    struct sbx_name_text file;
    struct sbx_script script;
    struct sbx_script_map map; /* empty if there is no map */
    uint32_t *line_begins;     /* unit where each line begins */
    uint32_t line_count;
};

static bool is_word(const struct source *source, uint32_t i, const char *word)
{
    const struct sbx_script_token *token = &source->script.tokens[i];
    size_t length = strlen(word);
    if (i >= source->script.token_count || token->kind != SBX_SCRIPT_NAME || token->end - token->begin != length) {
        return false;
    }
    for (size_t k = 0; k < length; k++) {
        if (source->script.units[token->begin + k] != (uint8_t)word[k]) {
            return false;
        }
    }
    return true;
}

static bool is_mark(const struct source *source, uint32_t i, char mark)
{
    return i < source->script.token_count && source->script.tokens[i].kind != SBX_SCRIPT_NAME &&
           source->script.tokens[i].kind != SBX_SCRIPT_VALUE && source->script.tokens[i].mark == mark;
}

static bool is_name(const struct source *source, uint32_t i)
{
    return i < source->script.token_count && source->script.tokens[i].kind == SBX_SCRIPT_NAME;
}

/* ---- adding ---- */

/* A function that was found. */
struct found {
    uint32_t place, end;           /* units: where V8 says it begins; where its body ends, `place` if not known */
    uint32_t line;                 /* line of the place, from 1 */
    uint32_t name_begin, name_end; /* tokens of the name; none: it is anonymous */
};

/* The line of a place, from 0. */
static uint32_t line_at(const struct source *source, uint32_t place)
{
    uint32_t low = 0, high = source->line_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (source->line_begins[middle] <= place) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static const struct sbx_script_segment *segment_at(const struct source *source, uint32_t place)
{
    uint32_t line = line_at(source, place);
    return sbx_script_map_find(&source->map, line, place - source->line_begins[line]);
}

/* Remove a meaningless prefix from the name of an original file: "webpack://shop/./", "../". */
static struct sbx_name_text plain_path(struct sbx_name_text path)
{
    const char *scheme = memmem(path.at, path.bytes, "://", 3), *end = path.at + path.bytes;
    if (scheme != NULL && scheme + 3 < end) {
        const char *slash = memchr(scheme + 3, '/', (size_t)(end - scheme - 3));
        path.at = slash != NULL ? slash : scheme + 3;
    }
    while (path.at < end && (*path.at == '.' || *path.at == '/')) {
        if (*path.at == '.' && !(end - path.at > 1 && (path.at[1] == '/' || (path.at[1] == '.' && end - path.at > 2 &&
                                                                             path.at[2] == '/')))) {
            break; /* a hidden file */
        }
        path.at++;
    }
    path.bytes = (size_t)(end - path.at);
    return path;
}

struct line_run {
    uint32_t from, to, written_from, written_to;
};

static size_t print_run(char *to, size_t room, const struct line_run *run)
{
    int length = run->written_from == run->written_to
                     ? snprintf(to, room, "%" PRIu32 "-%" PRIu32 ":%" PRIu32 ",", run->from, run->to, run->written_from)
                     : snprintf(to, room, "%" PRIu32 "-%" PRIu32 ":%" PRIu32 "-%" PRIu32 ",", run->from, run->to,
                                run->written_from, run->written_to);
    return length > 0 && (size_t)length < room ? (size_t)length : 0;
}

/* The original line of each line of the function, for the last column of a map of names. */
static size_t print_lines(const struct source *source, const struct found *found,
                          const struct sbx_script_segment *first, char *to, size_t room)
{
    enum {
        LINES_MAX = 20000
    };
    size_t bytes = 0, put = 1;
    struct line_run run = {found->line, found->line, first->source_line + 1, first->source_line + 1};
    for (uint32_t line = found->line + 1; put != 0 && line - found->line < LINES_MAX && line <= source->line_count &&
                                          source->line_begins[line - 1] < found->end;
         line++) {
        const struct sbx_script_segment *segment = sbx_script_map_line(&source->map, line - 1);
        uint32_t written =
            segment != NULL && segment->source == first->source ? segment->source_line + 1 : run.written_to;
        bool is_next = written == run.written_to + 1 && run.written_to - run.written_from == run.to - run.from,
             is_same = written == run.written_to && run.written_from == run.written_to;
        if (is_next || is_same) {
            run.to = line;
            run.written_to = written;
        } else {
            put = print_run(to + bytes, room - bytes, &run);
            bytes += put;
            run = (struct line_run){line, line, written, written};
        }
    }
    bytes += put != 0 ? print_run(to + bytes, room - bytes, &run) : 0;
    return bytes > 0 ? bytes - 1 : 0; /* without the last comma */
}

/* The name as it stands in the script. */
static size_t print_name(const struct source *source, const struct found *found, char *to, size_t room)
{
    static const char anonymous[] = "(anonymous)";
    if (found->name_begin >= found->name_end) {
        memcpy(to, anonymous, sizeof anonymous - 1);
        return sizeof anonymous - 1;
    }
    uint32_t from = source->script.tokens[found->name_begin].begin,
             end = source->script.tokens[found->name_end - 1].end;
    bool is_quoted = source->script.tokens[found->name_begin].kind == SBX_SCRIPT_VALUE && end - from > 2 &&
                     (source->script.units[from] == '"' || source->script.units[from] == '\'');
    return sbx_script_text(&source->script, from + is_quoted, end - is_quoted, to, room);
}

static void tell(const struct source *source, const struct found *found)
{
    char begin[4 * SBX_SCRIPT_BEGIN], name[2 * SBX_NAME_FUNCTION_BYTES], lines[1024];
    struct sbx_name_text file = source->file, tail = {NULL, 0};
    uint32_t line = found->line;
    size_t begin_bytes =
        sbx_script_text(&source->script, found->place, found->place + SBX_SCRIPT_BEGIN, begin, sizeof begin);
    size_t name_bytes = print_name(source, found, name, SBX_NAME_FUNCTION_BYTES);
    const struct sbx_script_segment *at = NULL, *named = NULL;
    /* The function that is a whole bundle has no place in the original source. */
    if (source->map.segment_count != 0 && (found->place != 0 || source->map.source_count == 1)) {
        at = segment_at(source, found->place);
    }
    if (at != NULL && found->name_begin < found->name_end) {
        const struct sbx_script_token *token = &source->script.tokens[found->name_end - 1];
        named = segment_at(source, token->begin);
        bool is_there = named != NULL && named->name != UINT32_MAX &&
                        source->line_begins[named->line] + (uint64_t)named->column == token->begin;
        if (is_there) { /* the last word of the name was another in the original source */
            uint32_t first = source->script.tokens[found->name_begin].begin;
            struct sbx_name_text word = source->map.names[named->name];
            name_bytes = sbx_script_text(&source->script, first, token->begin, name, SBX_NAME_FUNCTION_BYTES);
            word.bytes = sbx_name_cut(word, SBX_NAME_FUNCTION_BYTES);
            memcpy(name + name_bytes, word.at, word.bytes);
            name_bytes += word.bytes;
        }
    }
    if (at != NULL) {
        file = plain_path(source->map.sources[at->source]);
        line = at->source_line + 1;
        tail = (struct sbx_name_text){lines, print_lines(source, found, at, lines, sizeof lines)};
    }
    uint64_t id = sbx_name_id(source->file, found->place, (struct sbx_name_text){begin, begin_bytes});
    sbx_name_list_add(source->list, id, line, file, (struct sbx_name_text){name, name_bytes}, tail);
}

/* The end of a function's body. `from` is the token after the parameters. Returns `place` if there are no braces. */
static uint32_t body_end(const struct source *source, uint32_t from, uint32_t place)
{
    const struct sbx_script *script = &source->script;
    if (!is_mark(source, from, '{') || script->tokens[from].match >= script->token_count) {
        return place;
    }
    return script->tokens[script->tokens[from].match].end;
}

static struct found found_at(const struct source *source, uint32_t first, uint32_t body)
{
    const struct sbx_script_token *token = &source->script.tokens[first];
    return (struct found){
        .place = token->begin, .end = body_end(source, body, token->begin), .line = line_at(source, token->begin) + 1};
}

/* ---- finding ---- */

/* Add the function expression that begins at token `first`. Its name is that to which it is assigned. */
static void tell_assigned(const struct source *source, uint32_t first, struct found found)
{
    const struct sbx_script_token *tokens = source->script.tokens;
    uint32_t end = first > 0 ? first - 1 : 0, begin = end;
    if (first > 1 && (is_mark(source, first - 1, '=') || is_mark(source, first - 1, ':')) &&
        (is_name(source, first - 2) || tokens[first - 2].kind == SBX_SCRIPT_VALUE)) {
        begin = first - 2;
        while (begin > 1 && is_mark(source, begin - 1, '.') && is_name(source, begin - 2)) {
            begin -= 2;
        }
    }
    found.name_begin = begin;
    found.name_end = end;
    tell(source, &found);
}

static void read_function(const struct source *source, uint32_t i)
{
    uint32_t open = i + 1, first = i > 0 && is_word(source, i - 1, "async") ? i - 1 : i;
    open += is_mark(source, open, '*');
    uint32_t name = open;
    open += is_name(source, open);
    if (!is_mark(source, open, '(')) {
        return;
    }
    uint32_t close = source->script.tokens[open].match;
    struct found found = found_at(source, open, close < source->script.token_count ? close + 1 : UINT32_MAX);
    if (open > name) {
        found.name_begin = name;
        found.name_end = open;
        tell(source, &found);
    } else {
        tell_assigned(source, first, found);
    }
}

static void read_arrow(const struct source *source, uint32_t i)
{
    const struct sbx_script_token *tokens = source->script.tokens;
    if (i == 0) {
        return;
    }
    uint32_t first = i - 1;
    if (is_mark(source, first, ')')) {
        first = tokens[first].match;
    } else if (!is_name(source, first)) {
        return;
    }
    if (first >= i) {
        return; /* the bracket has no partner */
    }
    if (first > 0 && is_word(source, first - 1, "async")) {
        tell_assigned(source, first - 1, found_at(source, first - 1, i + 1));
    }
    tell_assigned(source, first, found_at(source, first, i + 1));
}

/* A class: V8 has functions for its fields, and a constructor at the word `class` if none is written. A constructor has
 * the name of the class. */
static void read_class(const struct source *source, uint32_t i)
{
    const struct sbx_script_token *tokens = source->script.tokens;
    const uint32_t count = source->script.token_count;
    bool has_name = is_name(source, i + 1) && !is_word(source, i + 1, "extends");
    uint32_t body = i + 1 + has_name;
    if (i > 0 && is_mark(source, i - 1, '.')) {
        return;
    }
    while (body < count && !is_mark(source, body, '{') && !is_mark(source, body, ';') && !is_mark(source, body, '}')) {
        body = tokens[body].kind == SBX_SCRIPT_OPEN && tokens[body].match < count ? tokens[body].match + 1 : body + 1;
    }
    if (!is_mark(source, body, '{') || tokens[body].match >= count) {
        return;
    }
    struct found found = found_at(source, i, body);
    if (has_name) {
        found.name_begin = i + 1;
        found.name_end = i + 2;
        tell(source, &found);
    } else {
        tell_assigned(source, i, found);
    }
    for (uint32_t at = body + 1; at < tokens[body].match && at < count;
         at = tokens[at].kind == SBX_SCRIPT_OPEN && tokens[at].match < count ? tokens[at].match + 1 : at + 1) {
        if (!is_word(source, at, "constructor") || !is_mark(source, at + 1, '(') || tokens[at + 1].match >= count) {
            continue;
        }
        struct found own = found_at(source, at + 1, tokens[at + 1].match + 1);
        if (has_name) {
            own.name_begin = i + 1;
            own.name_end = i + 2;
            tell(source, &own);
        } else {
            tell_assigned(source, i, own);
        }
    }
}

/* Add a method: NAME ( ... ) { in a class or an object. A word such as `if` before the bracket shows that it is a block
 * instead. */
static void read_method(const struct source *source, uint32_t open)
{
    static const char *const others[] = {"if",     "for",   "while",  "switch",   "catch",       "with", "await",
                                         "return", "super", "typeof", "function", "constructor", NULL};
    const struct sbx_script_token *tokens = source->script.tokens;
    uint32_t close = tokens[open].match;
    if (open == 0 || close >= source->script.token_count || !is_mark(source, close + 1, '{')) {
        return;
    }
    const struct sbx_script_token *before = &tokens[open - 1];
    if (before->kind == SBX_SCRIPT_NAME) {
        for (const char *const *word = others; *word != NULL; word++) {
            if (is_word(source, open - 1, *word)) {
                return;
            }
        }
        if (open > 1 && (is_word(source, open - 2, "function") ||
                         (is_mark(source, open - 2, '*') && open > 2 && is_word(source, open - 3, "function")))) {
            return; /* added already */
        }
    } else if (before->kind != SBX_SCRIPT_VALUE && !(before->kind == SBX_SCRIPT_CLOSE && before->mark == ']')) {
        return;
    }
    struct found found = found_at(source, open, close + 1);
    if (before->kind != SBX_SCRIPT_CLOSE) { /* else the name is computed by an expression */
        bool is_accessor = open > 1 && (is_word(source, open - 2, "get") || is_word(source, open - 2, "set"));
        found.name_begin = open - 1 - is_accessor; /* "get total" */
        found.name_end = open;
    }
    tell(source, &found);
}

/* Find where lines begin. Returns 0 or -ENOMEM. */
static int find_lines(struct source *source)
{
    const struct sbx_script *script = &source->script;
    for (int pass = 0; pass < 2; pass++) {
        source->line_count = 1;
        for (uint32_t i = 0; i < script->unit_count; i++) {
            uint16_t c = script->units[i];
            bool is_end = c == '\n' || c == 0x2028 || c == 0x2029 ||
                          (c == '\r' && (i + 1 == script->unit_count || script->units[i + 1] != '\n'));
            if (is_end && pass == 1) {
                source->line_begins[source->line_count] = i + 1;
            }
            source->line_count += is_end;
        }
        if (pass == 0) {
            source->line_begins = calloc(source->line_count, sizeof *source->line_begins);
            if (source->line_begins == NULL) {
                return -ENOMEM;
            }
        }
    }
    return 0;
}

static void find_functions(const struct source *source)
{
    const struct sbx_script *script = &source->script;
    tell(source, &(struct found){.end = script->unit_count, .line = 1}); /* the function that is the whole file */
    for (uint32_t i = 0; i < script->token_count; i++) {
        if (is_word(source, i, "function")) {
            read_function(source, i);
        } else if (is_word(source, i, "class")) {
            read_class(source, i);
        } else if (is_mark(source, i, '>') && script->tokens[i].end - script->tokens[i].begin == 2) {
            read_arrow(source, i);
        } else if (script->tokens[i].kind == SBX_SCRIPT_OPEN && script->tokens[i].mark == '(') {
            read_method(source, i);
        }
    }
}

int sbx_script_source_read(struct sbx_name_list *list, struct sbx_name_text file, struct sbx_name_text text,
                           struct sbx_name_text map_json)
{
    struct source source = {.list = list, .file = file};
    int result = sbx_script_read(&source.script, text), map_result = 0;
    if (result != 0) {
        return result;
    }
    if (map_json.bytes != 0) {
        map_result = sbx_script_map_read(&source.map, map_json);
    }
    result = find_lines(&source);
    if (result == 0) {
        find_functions(&source);
    }
    free(source.line_begins);
    sbx_script_map_finish(&source.map);
    sbx_script_finish(&source.script);
    return result != 0 ? result : map_result;
}
