/* SPDX-License-Identifier: Apache-2.0 */
/* script_tokens.h - the text of a JavaScript file as words: enough to find its functions.
 *
 * Places are counted in units of UTF-16, as V8 counts them. Strings, regular expressions and comments hide what they hold; what stands in "${}"
 * of a template does not. A file that is no JavaScript gives words without sense and no harm. */
#ifndef SBX_SCRIPT_TOKENS_H
#define SBX_SCRIPT_TOKENS_H

#include "name_list.h"

enum sbx_script_token_kind {
    SBX_SCRIPT_NAME, /* words too, and "#private" */
    SBX_SCRIPT_MARK, /* one character; "=>" is '>' with two units */
    SBX_SCRIPT_OPEN,
    SBX_SCRIPT_CLOSE,
    SBX_SCRIPT_VALUE, /* a number, a string, a template, a regular expression */
};

struct sbx_script_token {
    uint32_t begin, end; /* units */
    uint32_t match;      /* of brackets: the other one; UINT32_MAX without */
    uint8_t kind;
    char
        mark; /* of MARK, OPEN, CLOSE: its character, '$' for that of a template; of VALUE: its first, 0 if it is no ASCII */
};

struct sbx_script {
    uint16_t *units; /* owned; a mark of byte order at the begin is not among them */
    uint32_t unit_count;
    struct sbx_script_token *tokens; /* owned */
    uint32_t token_count;
};

/* Read a file of 64 MiB at most, as UTF-8. Returns 0, -E2BIG or -ENOMEM. */
int sbx_script_read(struct sbx_script *script_out, struct sbx_name_text text);
void sbx_script_finish(struct sbx_script *script);

/* Units as UTF-8, what has no place is left out; control characters are '?', as the provider has them. Returns the bytes. */
size_t sbx_script_text(const struct sbx_script *script, uint32_t begin, uint32_t end, char *to, size_t room);

#endif
