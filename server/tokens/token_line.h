/* SPDX-License-Identifier: Apache-2.0 */
/* token_line.h - a token: what it is for, and how it is written down.
 *
 *   id=5b1c09de77a0 roles=send,read app=org.example.editor policy=<32 hex> sha256=<64 hex> made=1780000000 ends=0 rate=0 note=build%20farm
 *
 * One line, each word once, in any order; a blank within a value is %20. Words that this version does not know make the line a bad
 * one: a right that is not understood must not be given. Pure. */
#ifndef SBX_TOKEN_LINE_H
#define SBX_TOKEN_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a token is for. One that may do everything has all bits. */
enum sbx_right {
    SBX_RIGHT_SEND = 1,    /* payloads, and requests to delete them */
    SBX_RIGHT_SYMBOLS = 2, /* symbol files and maps of names; and look at what is there of them */
    SBX_RIGHT_READ = 4,    /* pages and lists */
    SBX_RIGHT_ADMIN = 8,   /* whatever else there is: policies, what people say of issues */
    SBX_RIGHT_ALL = 15,
};

enum {
    SBX_TOKEN_ID_TEXT = 13,     /* 12 hex digits and a zero */
    SBX_TOKEN_DIGEST = 32,      /* SHA-256 of the secret */
    SBX_TOKEN_APP_BYTES = 128,  /* an application's name */
    SBX_TOKEN_NOTE_BYTES = 128, /* a person's words */
    SBX_TOKEN_POLICY_ID = 16,   /* the application as policies name it */
    SBX_TOKEN_LINE_BYTES = 1280,
};

struct sbx_token {
    char id[SBX_TOKEN_ID_TEXT];
    unsigned rights;               /* bits of enum sbx_right */
    char app[SBX_TOKEN_APP_BYTES]; /* the one application that it is for, by name; "" all */
    uint64_t app_number;           /* sbx_app_what() of it; 0: all */
    bool has_policy_id;
    uint8_t policy_id
        [SBX_TOKEN_POLICY_ID]; /* whose policies it may put; without one: of all, or of none where it has an app */
    uint8_t digest[SBX_TOKEN_DIGEST];
    int64_t made_s, ends_s; /* since 1970; 0: it does not end */
    uint32_t an_hour;       /* payloads and symbol files; 0: what the server has for all */
    char note[SBX_TOKEN_NOTE_BYTES];
};

/* "send", "symbols,read", "admin" (everything). 0 for what is no list of roles. */
unsigned sbx_token_rights_read(const char *text);
/* The same back; as long as "send,symbols,read". */
void sbx_token_rights_print(unsigned rights, char text_out[32]);

/* Read a line without its end. Returns NULL, or what is wrong with it (a literal). */
const char *sbx_token_line_read(const char *line, size_t bytes, struct sbx_token *token_out);
/* Print one that read() reads back to the same token; no line end. */
void sbx_token_line_print(const struct sbx_token *token, char line_out[SBX_TOKEN_LINE_BYTES]);

#endif
