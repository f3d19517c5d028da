/* SPDX-License-Identifier: Apache-2.0 */
/* script_tokens.h - the text of a JavaScript file as tokens, only as exact as is needed to find its functions.
 *
 * Places are counted in units of UTF-16, as in V8. The content of strings, regular expressions and comments gives no
 * tokens, but that of "${}" in a template does. A file that is not JavaScript gives tokens without sense, but does no
 * harm. */
#ifndef SBX_SCRIPT_TOKENS_H
#define SBX_SCRIPT_TOKENS_H

#include "name_list.h"

enum sbx_script_token_kind {
    SBX_SCRIPT_NAME, /* also keywords, and "#private" */
    SBX_SCRIPT_MARK, /* one character; "=>" is '>' with two units */
    SBX_SCRIPT_OPEN,
    SBX_SCRIPT_CLOSE,
    SBX_SCRIPT_VALUE, /* a number, a string, a template, a regular expression */
};

struct sbx_script_token {
    uint32_t begin, end; /* units */
    uint32_t match;      /* for a bracket: its partner; UINT32_MAX: none */
    uint8_t kind;
    char mark; /* MARK, OPEN, CLOSE: the character, '$' in a template; VALUE: the first one, 0 if not ASCII */
};

struct sbx_script {
    uint16_t *units; /* owned; without a byte order mark at the beginning */
    uint32_t unit_count;
    struct sbx_script_token *tokens; /* owned */
    uint32_t token_count;
};

/* Read a file of 64 MiB at most, as UTF-8. Returns 0, -E2BIG or -ENOMEM. */
int sbx_script_read(struct sbx_script *script_out, struct sbx_name_text text);
void sbx_script_finish(struct sbx_script *script);

/* Convert units to UTF-8. Characters for which there is no room are left out, and control characters become '?', as in
 * the provider. Returns the number of bytes. */
size_t sbx_script_text(const struct sbx_script *script, uint32_t begin, uint32_t end, char *to, size_t room);

#endif
