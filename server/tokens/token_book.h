/* SPDX-License-Identifier: Apache-2.0 */
/* token_book.h - a file of tokens, one per line (token_line.h). Empty lines and lines that begin with '#' are ignored.
 *
 * It is replaced as a whole and durably, under a lock file next to it, so a reader always sees a complete file. Only
 * its owner may have access, because a process that can write to it gets all rights. */
#ifndef SBX_TOKEN_BOOK_H
#define SBX_TOKEN_BOOK_H

#include "token_line.h"

enum {
    SBX_TOKENS_MAX = 100000,
    SBX_TOKEN_SECRET_BYTES = 64, /* "sbt_", 48 hex digits and a zero, with some spare room */
};

/* Read all tokens of the book: *tokens_out is given (free; NULL when there are none). -ENOENT without a file; -EPERM
 * when others may read it; -EINVAL for a bad line; or -errno. `why` has the reason with the path and the number of the
 * line. */
int sbx_token_book_read(const char *path, struct sbx_token **tokens_out, size_t *count_out, char *why,
                        size_t why_bytes);

/* Make a token with the rights and names in `token`. Its id, digest and made_s are filled in. Its secret is in
 * `secret_out` and is stored nowhere. The file is made when it is missing. Returns 0 or -errno. */
int sbx_token_book_add(const char *path, struct sbx_token *token, char secret_out[SBX_TOKEN_SECRET_BYTES], char *why,
                       size_t why_bytes);

/* Remove the token with this id. Returns 0, -ENOENT when there is none, or -errno. */
int sbx_token_book_remove(const char *path, const char *id, char *why, size_t why_bytes);

/* SHA-256 of a secret. 0 or -EIO. */
int sbx_token_digest(const char *secret, size_t bytes, uint8_t digest_out[SBX_TOKEN_DIGEST]);

#endif
