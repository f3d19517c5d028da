/* SPDX-License-Identifier: Apache-2.0 */
/* python_tokens.h - the text of a Python file as words: enough to find its functions, whatever else it says.
 *
 * Strings and comments are gone, but for the expressions within f-strings, which stand as brackets. A file that is no Python gives
 * words without sense and no harm. */
#ifndef SBX_PYTHON_TOKENS_H
#define SBX_PYTHON_TOKENS_H

#include "name_list.h"

enum sbx_python_token_kind {
    SBX_PYTHON_NAME,
    SBX_PYTHON_MARK, /* one character, or ":=" */
    SBX_PYTHON_OPEN, /* "(", "[", "{"; of an f-string's expression "f" */
    SBX_PYTHON_CLOSE,
    SBX_PYTHON_VALUE,   /* a number or a string */
    SBX_PYTHON_NEWLINE, /* the end of a logical line */
};

struct sbx_python_token {
    struct sbx_name_text text;
    uint32_t line, column; /* from 1; from 0, tabs to the next multiple of 8 */
    uint32_t match;        /* of OPEN: its CLOSE, or the end of the list */
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
