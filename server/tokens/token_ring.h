/* SPDX-License-Identifier: Apache-2.0 */
/* token_ring.h - the tokens that a running server knows: those of a book, which may change under it, and those of its options.
 *
 * A book is looked at once a second, when somebody asks. One that cannot be read any more is said once, and its last tokens stand:
 * a slip of the pen must neither lock everybody out nor let anybody in. A book that is gone has no tokens. Any thread. */
#ifndef SBX_TOKEN_RING_H
#define SBX_TOKEN_RING_H

#include "operator_log.h"
#include "token_line.h"

struct sbx_token_ring;

/* `path`: of the book, NULL: none; it may come later. `log` (NULL: silent) is borrowed. Returns 0, or -errno for a book that is
 * there and cannot be read, with the reason. */
int sbx_token_ring_create(const char *path, const struct sbx_operator_log *log, struct sbx_token_ring **ring_out,
                          char *why, size_t why_bytes);
void sbx_token_ring_destroy(struct sbx_token_ring *ring); /* NULL is fine */

/* One of the options, for all applications; before anybody asks. The text is not kept. 0 or -errno. */
int sbx_token_ring_add(struct sbx_token_ring *ring, const char *text, unsigned rights);

/* Is there any? Then writing needs one. */
bool sbx_token_ring_has_any(struct sbx_token_ring *ring);
/* Is one for one application alone? Then nobody reads without one, not on loopback either. */
bool sbx_token_ring_has_apps(struct sbx_token_ring *ring);

/* The token whose secret this is, or whose digest. False when there is none, or it has ended. Takes as long for any text of a
 * length. */
bool sbx_token_ring_find(struct sbx_token_ring *ring, const char *text, size_t bytes, struct sbx_token *token_out);
bool sbx_token_ring_find_digest(struct sbx_token_ring *ring, const uint8_t digest[SBX_TOKEN_DIGEST],
                                struct sbx_token *token_out);

#endif
