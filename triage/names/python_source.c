/* SPDX-License-Identifier: Apache-2.0 */
/* python_source.c - finds functions in the tokens: definitions by lines, and lambdas and comprehensions within them. */
#include "python_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python_tokens.h"

enum {
    NAME_BYTES = 192, /* the provider cuts names to this size, so the id is that of the cut name */
    PATH_BYTES = 1024,
    BLOCKS_MAX = 100, /* the interpreter's limit of indentation */
    NESTED_MAX = 220, /* maximum depth of nested lambdas and comprehensions */
    GLOBALS_MAX = 64,
    WAYS = 2, /* [0]: comprehensions are functions of their own; [1]: they are not */
};

/* A scope that contains definitions. */
struct scope {
    char path[WAYS][PATH_BYTES]; /* qualified name; "" for the module */
    bool is_function[WAYS];      /* names within it are "PATH.<locals>.NAME" */
    uint32_t column;             /* column of the line that began it */
    struct sbx_name_text globals[GLOBALS_MAX];
    uint32_t global_count;
};

struct source {
    struct sbx_name_list *list;
    struct sbx_name_text file;
    struct sbx_python_tokens tokens;
    uint32_t nested;
};

static const struct sbx_name_text nothing;

static struct sbx_name_text text_of(const char *text)
{
    return (struct sbx_name_text){text, strlen(text)};
}

static bool is_word(const struct sbx_python_token *token, const char *word)
{
    return token->kind == SBX_PYTHON_NAME && token->text.bytes == strlen(word) &&
           memcmp(token->text.at, word, token->text.bytes) == 0;
}

static bool is_mark(const struct sbx_python_token *token, char mark)
{
    return token->kind == SBX_PYTHON_MARK && token->mark == mark && token->text.bytes == 1;
}

static void tell(const struct source *source, struct sbx_name_text name, uint32_t line)
{
    struct sbx_name_text cut = {name.at, sbx_name_cut(name, NAME_BYTES)};
    sbx_name_list_add(source->list, sbx_name_id(source->file, line, cut), line, source->file, cut, nothing);
}

/* The qualified name of `name` in a scope, in one of the ways. */
static void make_path(const struct scope *scope, int way, struct sbx_name_text name, char path_out[PATH_BYTES])
{
    for (uint32_t i = 0; i < scope->global_count; i++) {
        if (scope->globals[i].bytes == name.bytes && memcmp(scope->globals[i].at, name.at, name.bytes) == 0) {
            snprintf(path_out, PATH_BYTES, "%.*s", (int)name.bytes, name.at);
            return;
        }
    }
    const char *path = scope->path[way];
    snprintf(path_out, PATH_BYTES, "%s%s%.*s", path,
             path[0] == '\0'           ? ""
             : scope->is_function[way] ? ".<locals>."
                                       : ".",
             (int)name.bytes, name.at);
}

/* Add a function of `scope` with all its names. *inner_out (may be NULL) is the scope of the function itself. */
static void tell_function(const struct source *source, const struct scope *scope, struct sbx_name_text name,
                          uint32_t line, bool is_function, struct scope *inner_out)
{
    char path[WAYS][PATH_BYTES];
    name.bytes = name.bytes > PATH_BYTES / 2 ? PATH_BYTES / 2 : name.bytes;
    for (int way = 0; way < WAYS; way++) {
        make_path(scope, way, name, path[way]);
    }
    tell(source, text_of(path[0]), line);
    if (strcmp(path[0], path[1]) != 0) {
        tell(source, text_of(path[1]), line);
    }
    if (strlen(path[0]) != name.bytes) {
        tell(source, name, line);
    }
    if (inner_out != NULL) {
        memcpy(inner_out->path, path, sizeof path);
        inner_out->is_function[0] = inner_out->is_function[1] = is_function;
        inner_out->global_count = 0;
    }
}

/* The next token at the same depth. */
static uint32_t next_of(const struct source *source, uint32_t i)
{
    const struct sbx_python_token *token = &source->tokens.list[i];
    return token->kind == SBX_PYTHON_OPEN ? token->match + 1 : i + 1;
}

static void read_expression(struct source *source, const struct scope *scope, uint32_t begin, uint32_t end);

/* Read the lambda at `at`. Returns the token after it. */
static uint32_t read_lambda(struct source *source, const struct scope *scope, uint32_t at, uint32_t end)
{
    const struct sbx_python_token *list = source->tokens.list;
    uint32_t colons = 1, colon = at + 1;
    for (; colon < end; colon = next_of(source, colon)) { /* defaults may be lambdas */
        colons += is_word(&list[colon], "lambda");
        if (is_mark(&list[colon], ':') && --colons == 0) {
            break;
        }
    }
    if (colon >= end) {
        return at + 1;
    }
    uint32_t after = colon + 1;
    for (uint32_t inner = 0; after < end; after = next_of(source, after)) {
        inner += is_word(&list[after], "lambda");
        bool is_colon = is_mark(&list[after], ':');
        if ((is_mark(&list[after], ',') && inner == 0) || (is_colon && inner == 0) || is_mark(&list[after], ';') ||
            list[after].kind == SBX_PYTHON_NEWLINE) {
            break;
        }
        inner -= is_colon && inner > 0;
    }
    struct scope *own = source->nested < NESTED_MAX ? malloc(sizeof *own) : NULL;
    if (own != NULL) {
        source->nested++;
        tell_function(source, scope, text_of("<lambda>"), list[at].line, true, own);
        read_expression(source, scope, at + 1, colon);
        read_expression(source, own, colon + 1, after);
        source->nested--;
        free(own);
    }
    return after;
}

/* The first `for` between `begin` and `end` at their depth; `end` if there is none. */
static uint32_t find_for(const struct source *source, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i = next_of(source, i)) {
        if (is_word(&source->tokens.list[i], "for")) {
            return i;
        }
    }
    return end;
}

static const char *name_of_comprehension(const struct source *source, char bracket, uint32_t begin, uint32_t end)
{
    if (bracket != '{') {
        return bracket == '[' ? "<listcomp>" : "<genexpr>";
    }
    const struct sbx_python_token *list = source->tokens.list;
    uint32_t lambdas = 0;
    for (uint32_t i = begin; i < end; i = next_of(source, i)) {
        lambdas += is_word(&list[i], "lambda");
        if (is_mark(&list[i], ':') && lambdas-- == 0) {
            return "<dictcomp>";
        }
    }
    return "<setcomp>";
}

/* Read a comprehension: brackets with a `for` at their own depth. Its first sequence is evaluated outside of it. */
static void read_comprehension(struct source *source, const struct scope *scope, uint32_t open, uint32_t first_for)
{
    const struct sbx_python_token *list = source->tokens.list;
    uint32_t close = list[open].match, in = first_for, rest;
    const char *name = name_of_comprehension(source, list[open].mark, open + 1, first_for);
    struct scope *own = source->nested < NESTED_MAX ? malloc(sizeof *own) : NULL;
    if (own == NULL) {
        return;
    }
    source->nested++;
    tell_function(source, scope, text_of(name), list[open].line, false, own);
    if (list[open].mark != '(') { /* from 3.12 on it is not a function, so its content belongs to the outer scope */
        memcpy(own->path[1], scope->path[1], sizeof own->path[1]);
        own->is_function[1] = scope->is_function[1];
    }
    while (in < close && !is_word(&list[in], "in")) {
        in = next_of(source, in);
    }
    for (rest = in; rest < close; rest = next_of(source, rest)) {
        if (rest > in && (is_word(&list[rest], "for") || is_word(&list[rest], "if") || is_word(&list[rest], "async"))) {
            break;
        }
    }
    read_expression(source, own, open + 1, first_for);
    read_expression(source, own, first_for + 1, in < close ? in : close);
    read_expression(source, scope, in < close ? in + 1 : close, rest);
    read_expression(source, own, rest, close);
    source->nested--;
    free(own);
}

static void read_expression(struct source *source, const struct scope *scope, uint32_t begin, uint32_t end)
{
    const struct sbx_python_token *list = source->tokens.list;
    if (source->nested >= NESTED_MAX) {
        return;
    }
    source->nested++;
    for (uint32_t i = begin; i < end;) {
        if (is_word(&list[i], "lambda")) {
            i = read_lambda(source, scope, i, end);
        } else if (list[i].kind == SBX_PYTHON_OPEN) {
            uint32_t first_for = list[i].mark == 'f' ? list[i].match : find_for(source, i + 1, list[i].match);
            if (first_for < list[i].match) {
                read_comprehension(source, scope, i, first_for);
            } else {
                read_expression(source, scope, i + 1, list[i].match);
            }
            i = next_of(source, i);
        } else {
            i++;
        }
    }
    source->nested--;
}

/* ---- statements ---- */

struct blocks {
    struct scope *scopes; /* the first is the module's */
    uint32_t count;
    uint32_t decorated_line; /* line of the first decorator; 0: none */
};

static void note_globals(const struct source *source, struct scope *scope, uint32_t begin, uint32_t end)
{
    const struct sbx_python_token *list = source->tokens.list;
    for (uint32_t i = begin; i < end; i = next_of(source, i)) {
        bool is_begin = i == begin || is_mark(&list[i - 1], ';') || is_mark(&list[i - 1], ':');
        if (!is_begin || !is_word(&list[i], "global")) {
            continue;
        }
        for (i++; i < end && (list[i].kind == SBX_PYTHON_NAME || is_mark(&list[i], ',')); i++) {
            if (list[i].kind == SBX_PYTHON_NAME && scope->global_count < GLOBALS_MAX && scope->path[0][0] != '\0') {
                scope->globals[scope->global_count++] = list[i].text;
            }
        }
        i--;
    }
}

/* Read the `def` or `class` at `keyword`, in a line [begin, end). */
static void read_definition(struct source *source, struct blocks *blocks, uint32_t begin, uint32_t keyword,
                            uint32_t end)
{
    const struct sbx_python_token *list = source->tokens.list;
    struct scope *scope = &blocks->scopes[blocks->count - 1];
    uint32_t line = blocks->decorated_line != 0 ? blocks->decorated_line : list[begin].line, colon = keyword + 2;
    blocks->decorated_line = 0;
    uint32_t lambdas = 0;
    for (; colon < end; colon = next_of(source, colon)) {
        lambdas += is_word(&list[colon], "lambda");
        if (is_mark(&list[colon], ':') && lambdas-- == 0) {
            break;
        }
    }
    if (colon >= end || list[keyword + 1].kind != SBX_PYTHON_NAME || blocks->count == BLOCKS_MAX) {
        return;
    }
    struct scope *own = &blocks->scopes[blocks->count];
    tell_function(source, scope, list[keyword + 1].text, line, is_word(&list[keyword], "def"), own);
    own->column = list[begin].column;
    read_expression(source, scope, keyword + 2, colon);
    if (colon + 1 < end) { /* the body is in the same line */
        note_globals(source, own, colon + 1, end);
        read_expression(source, own, colon + 1, end);
    } else {
        blocks->count++;
    }
}

static void read_line(struct source *source, struct blocks *blocks, uint32_t begin, uint32_t end)
{
    const struct sbx_python_token *list = source->tokens.list;
    while (blocks->count > 1 && blocks->scopes[blocks->count - 1].column >= list[begin].column) {
        blocks->count--;
    }
    struct scope *scope = &blocks->scopes[blocks->count - 1];
    uint32_t keyword = begin + (is_word(&list[begin], "async") && begin + 1 < end);
    if (is_mark(&list[begin], '@')) {
        blocks->decorated_line = blocks->decorated_line != 0 ? blocks->decorated_line : list[begin].line;
        read_expression(source, scope, begin + 1, end);
        return;
    }
    if (keyword + 1 < end && (is_word(&list[keyword], "def") || is_word(&list[keyword], "class"))) {
        read_definition(source, blocks, begin, keyword, end);
        return;
    }
    blocks->decorated_line = 0;
    note_globals(source, scope, begin, end);
    read_expression(source, scope, begin, end);
}

int sbx_python_source_read(struct sbx_name_list *list, struct sbx_name_text file, struct sbx_name_text text)
{
    struct source source = {.list = list, .file = file};
    struct blocks blocks = {.count = 1};
    int result = sbx_python_tokens_read(&source.tokens, text);
    if (result != 0) {
        return result;
    }
    blocks.scopes = calloc(BLOCKS_MAX + 1, sizeof *blocks.scopes);
    if (blocks.scopes == NULL) {
        sbx_python_tokens_finish(&source.tokens);
        return -ENOMEM;
    }
    tell(&source, text_of("<module>"), 1);
    if (source.tokens.count > 0 && source.tokens.list[0].line != 1) { /* 3.9 uses the line of the first instruction */
        tell(&source, text_of("<module>"), source.tokens.list[0].line);
    }
    for (uint32_t begin = 0, end; begin < source.tokens.count; begin = end + 1) {
        for (end = begin; source.tokens.list[end].kind != SBX_PYTHON_NEWLINE;) {
            end++;
        }
        if (end > begin) {
            read_line(&source, &blocks, begin, end);
        }
    }
    free(blocks.scopes);
    sbx_python_tokens_finish(&source.tokens);
    return 0;
}
