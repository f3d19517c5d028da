/* SPDX-License-Identifier: Apache-2.0 */
/* stable_name.c - the form of a function's name that is the same in all builds. */
#include "stable_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* How many bytes of the name are kept: it ends before the first of these endings. They mark a copy of a function, or a
 * part inside it. */
static size_t length_that_counts(const char *function)
{
    static const char *const endings[] = {".constprop.", ".isra.",    ".part.",    ".cold",      ".lto_priv.", ".llvm.",
                                          " [clone ",    "::{lambda", "::<lambda", "::{closure", ".func"};
    size_t length = strlen(function);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const char *found = strstr(function, endings[i]);
        bool is_end = found != NULL && found != function;
        if (is_end && strcmp(endings[i], ".func") == 0) { /* Go: "main.open.func1" was written in main.open */
            is_end = found[5] >= '0' && found[5] <= '9';
        }
        if (is_end && (size_t)(found - function) < length) {
            length = (size_t)(found - function);
        }
    }
    static const char hash[] = "::h0123456789abcdef"; /* the end of Rust's older mangled names */
    if (length > sizeof hash - 1 && strncmp(function + length - 19, "::h", 3) == 0 &&
        strspn(function + length - 16, "0123456789abcdef") >= 16) {
        length -= 19;
    }
    return length;
}

/* How many bytes at `at` are one word, although they contain brackets; 0: none. */
static size_t word_with_brackets(const char *at, bool is_word_begin)
{
    static const char *const words[] = {"operator()",
                                        "operator<=>",
                                        "operator<<",
                                        "operator>>",
                                        "operator<=",
                                        "operator>=",
                                        "operator->*",
                                        "operator->",
                                        "operator<",
                                        "operator>",
                                        "(anonymous namespace)",
                                        "{anonymous}"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t bytes = strlen(words[i]);
        if ((is_word_begin || words[i][0] != 'o') && strncmp(at, words[i], bytes) == 0) {
            return bytes;
        }
    }
    return 0;
}

/* The place after the bracket that closes the one at `at`; `end` if there is none. */
static const char *behind_bracket(const char *at, const char *end)
{
    int depth = 0;
    for (; at < end; at++) {
        depth += *at == '(' || *at == '<' || *at == '[' || *at == '{';
        depth -= *at == ')' || (*at == '>' && at[-1] != '-') || *at == ']' || *at == '}';
        if (depth == 0) {
            return at + 1;
        }
    }
    return end;
}

static bool is_letter(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool ends_with_operator(const char *text, size_t used)
{
    return used >= 8 && memcmp(text + used - 8, "operator", 8) == 0;
}

void sbx_stable_name(const char *function, char out[SBX_STABLE_NAME_BYTES])
{
    const char *at = function, *end = function + length_that_counts(function);
    size_t used = 0;
    while (at < end) {
        size_t copied = word_with_brackets(at, at == function || !is_letter(at[-1]));
        if (copied == 0 && *at == '<') {
            copied = (size_t)(behind_bracket(at, end) - at);
        } else if (copied == 0 && *at == '[') { /* "[abi:cxx11]" */
            at = behind_bracket(at, end);
            continue;
        } else if (copied == 0 && *at == '(' &&
                   used > 0) { /* parameters; a scope, or " const" and the like, may follow */
            at = behind_bracket(at, end);
            if (at < end && *at != ':' && *at != '(') {
                break;
            }
            continue;
        } else if (copied == 0 && *at == ' ' && !ends_with_operator(out, used)) { /* that was the return type */
            used = 0;
            at++;
            continue;
        }
        copied = copied == 0 ? 1 : copied;
        copied = copied < (size_t)(end - at) ? copied : (size_t)(end - at);
        size_t room = SBX_STABLE_NAME_BYTES - 1 - used;
        memcpy(out + used, at, copied < room ? copied : room);
        used += copied < room ? copied : room;
        at += copied;
    }
    out[used] = '\0';
    if (used == 0) { /* not a known form: keep the name */
        size_t bytes = strlen(function);
        bytes = bytes < SBX_STABLE_NAME_BYTES - 1 ? bytes : SBX_STABLE_NAME_BYTES - 1;
        memcpy(out, function, bytes);
        out[bytes] = '\0';
    }
}
