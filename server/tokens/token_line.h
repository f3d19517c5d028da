/* SPDX-License-Identifier: Apache-2.0 */
/* token_line.h - a token: its rights, and its text form.
 *
 *   id=5b1c09de77a0 roles=send,read app=org.example.editor policy=<32 hex> sha256=<64 hex> made=1780000000 ends=0 rate=0 note=build%20farm
 *
 * One line, each word once, in any order; a space within a value is %20. A word that this version does not know makes
 * the line invalid, because a restriction that is not understood must not be ignored. Pure. */
#ifndef SBX_TOKEN_LINE_H
#define SBX_TOKEN_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rights of a token. A token with all rights has all bits. */
enum sbx_right {
    SBX_RIGHT_SEND = 1,    /* payloads, and requests to delete them */
    SBX_RIGHT_SYMBOLS = 2, /* symbol files and maps of names, and reading the list of stored ones */
    SBX_RIGHT_READ = 4,    /* pages and lists */
    SBX_RIGHT_ADMIN = 8,   /* everything else: policies, changes of issues */
    SBX_RIGHT_ALL = 15,
};

enum {
    SBX_TOKEN_ID_TEXT = 13,     /* 12 hex digits and a zero */
    SBX_TOKEN_DIGEST = 32,      /* SHA-256 of the secret */
    SBX_TOKEN_APP_BYTES = 128,  /* an application's name */
    SBX_TOKEN_NOTE_BYTES = 128, /* a note for people */
    SBX_TOKEN_POLICY_ID = 16,   /* the application's id in policies */
    SBX_TOKEN_LINE_BYTES = 1280,
};

struct sbx_token {
    char id[SBX_TOKEN_ID_TEXT];
    unsigned rights;               /* bits of enum sbx_right */
    char app[SBX_TOKEN_APP_BYTES]; /* name of the only application that it is for; "": all */
    uint64_t app_number;           /* sbx_app_what() of that name; 0: all */
    bool has_policy_id;
    uint8_t policy_id
        [SBX_TOKEN_POLICY_ID]; /* application whose policies it may put; without one: all, or none if it has an app */
    uint8_t digest[SBX_TOKEN_DIGEST];
    int64_t made_s, ends_s; /* since 1970; 0: no end */
    uint32_t an_hour;       /* payloads and symbol files per hour; 0: the server's default */
    char note[SBX_TOKEN_NOTE_BYTES];
};

/* Read "send", "symbols,read" or "admin" (all rights). Returns 0 when the text is not a list of roles. */
unsigned sbx_token_rights_read(const char *text);
/* Print the roles of rights; at most as long as "send,symbols,read". */
void sbx_token_rights_print(unsigned rights, char text_out[32]);

/* Read a line without its newline. Returns NULL, or the error (a literal). */
const char *sbx_token_line_read(const char *line, size_t bytes, struct sbx_token *token_out);
/* Print a line, without a newline, that sbx_token_line_read() reads back to the same token. */
void sbx_token_line_print(const struct sbx_token *token, char line_out[SBX_TOKEN_LINE_BYTES]);

#endif
