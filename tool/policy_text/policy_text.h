/* SPDX-License-Identifier: Apache-2.0 */
/* policy_text.h - signed documents as people write and read them: one "name = value" a line, '#' begins a comment.
 *
 * What is printed can be read again. docs/POLICY.md has every field. */
#ifndef SBX_POLICY_TEXT_H
#define SBX_POLICY_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "keyset.h"
#include "policy_document.h"
#include "signed_document.h"

/* A document before it is signed. */
struct sbx_policy_draft {
    enum sbx_signed_role role;
    union {
        struct sbx_keyset keyset;
        struct sbx_policy_document policy; /* and kill */
    };
    /* used only while reading */
    uint32_t line;
    uint32_t required_seen;
    bool app_seen, expires_seen, expires_is_relative;
    const char *path;   /* borrowed: for messages */
    const char *folder; /* borrowed: key files are looked for here */
    uint64_t now_s;
};

/* Read a text. `path` and `folder` are borrowed until it returns; `now_s` is the time for "now". Returns 0, or -EINVAL
 * with "PATH:LINE: reason" in `why`. `text` ends in NUL, and is cut into words. */
int sbx_policy_text_read(char *text, const char *path, const char *folder, uint64_t now_s,
                         struct sbx_policy_draft *draft_out, char *why, size_t why_bytes);

/* Encode the payload. Returns its bytes, or 0 when they do not fit. */
size_t sbx_policy_draft_encode(const struct sbx_policy_draft *draft, uint8_t *bytes_out, size_t room);

/* Print a document's fields, with its signatures as comments. Returns 0, or -EINVAL after printing why its payload cannot
 * be read as a comment. */
int sbx_policy_text_print(const struct sbx_signed_document *document, FILE *out);

/* A whole number in decimal digits and nothing else. Returns whether the text is that. */
bool sbx_policy_number_read(const char *text, uint64_t *number_out);
/* "+10d", "+36h", "+90s": seconds. Returns whether the text is that. */
bool sbx_policy_distance_read(const char *text, uint64_t *seconds_out);

/* "now", "now+10d", "2027-01-31", "2027-01-31T10:00:00Z" or Unix seconds. Returns whether it is a time. */
bool sbx_policy_time_read(const char *text, uint64_t now_s, uint64_t *time_out);
/* "2027-01-31T10:00:00Z", always the same 20 letters for years up to 9999. */
void sbx_policy_time_print(uint64_t time_s, char text_out[32]);

/* The id of an application by its name: first 16 bytes of SHA-256("stallbox-app" NUL, name). Returns 0 or -EIO. */
int sbx_app_id_of_name(const char *name, uint8_t id_out[SBX_APP_ID_BYTES]);

/* Lower or upper hex of exactly `bytes` bytes. Returns whether the text is that. */
bool sbx_key_hex_read(const char *text, uint8_t *bytes_out, size_t bytes);
void sbx_key_hex_print(const uint8_t *bytes, size_t count, char *text_out); /* 2 * count + 1 */

#endif
