/* SPDX-License-Identifier: Apache-2.0 */
/* token_ring.h - the tokens that a running server knows: those of a book, which may change while it runs, and those of
 * its options.
 *
 * A request makes the server look at the book, at most once a second. When the book can no longer be read, that is
 * logged once, and its last tokens stay valid: a mistake in the file must neither lock everybody out nor let anybody
 * in. A book that was removed has no tokens. Any thread. */
#ifndef SBX_TOKEN_RING_H
#define SBX_TOKEN_RING_H

#include "operator_log.h"
#include "token_line.h"

struct sbx_token_ring;

/* `path`: of the book, NULL: none; it may appear later. `log` (NULL: silent) is borrowed. Returns 0, or -errno with the
 * reason when a book exists and cannot be read. */
int sbx_token_ring_create(const char *path, const struct sbx_operator_log *log, struct sbx_token_ring **ring_out,
                          char *why, size_t why_bytes);
void sbx_token_ring_destroy(struct sbx_token_ring *ring); /* NULL is fine */

/* Add a token of the options, for all applications. Call this before any request. The text is not kept. Returns 0 or
 * -errno. */
int sbx_token_ring_add(struct sbx_token_ring *ring, const char *text, unsigned rights);

/* Are there any tokens? Then writing needs one. */
bool sbx_token_ring_has_any(struct sbx_token_ring *ring);
/* Is there a token for a single application? Then reading needs a token, also on loopback. */
bool sbx_token_ring_has_apps(struct sbx_token_ring *ring);

/* Find a token by its secret, or by its digest. Returns false when there is none, or it has ended. The time depends
 * only on the length of the text. */
bool sbx_token_ring_find(struct sbx_token_ring *ring, const char *text, size_t bytes, struct sbx_token *token_out);
bool sbx_token_ring_find_digest(struct sbx_token_ring *ring, const uint8_t digest[SBX_TOKEN_DIGEST],
                                struct sbx_token *token_out);

#endif
