/* SPDX-License-Identifier: Apache-2.0 */
/* python_tokens.h - the text of a Python file as tokens, only as exact as is needed to find its functions.
 *
 * The content of strings and comments is removed, except expressions within f-strings, which become brackets. A file
 * that is not Python gives tokens without sense, but does no harm. */
#ifndef SBX_PYTHON_TOKENS_H
#define SBX_PYTHON_TOKENS_H

#include "name_list.h"

enum sbx_python_token_kind {
    SBX_PYTHON_NAME,
    SBX_PYTHON_MARK, /* one character, or ":=" */
    SBX_PYTHON_OPEN, /* "(", "[", "{"; `mark` is 'f' for an expression in an f-string */
    SBX_PYTHON_CLOSE,
    SBX_PYTHON_VALUE,   /* a number or a string */
    SBX_PYTHON_NEWLINE, /* the end of a logical line */
};

struct sbx_python_token {
    struct sbx_name_text text;
    uint32_t line, column; /* line from 1; column from 0, with tabs to the next multiple of 8 */
    uint32_t match;        /* for OPEN: its CLOSE, or the end of the list */
    uint8_t kind;
    char mark; /* the first character of MARK and OPEN */
};

struct sbx_python_tokens {
    struct sbx_python_token *list; /* owned; the last is a NEWLINE */
    uint32_t count;
};

/* Read a file of less than 64 MiB. Returns 0, -E2BIG or -ENOMEM; `text` must outlive the tokens. */
int sbx_python_tokens_read(struct sbx_python_tokens *tokens_out, struct sbx_name_text text);
void sbx_python_tokens_finish(struct sbx_python_tokens *tokens);

#endif
