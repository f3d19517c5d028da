/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - memory that grows up to a limit and is released all at once.
 *
 * All memory that a stranger's payload can make triage allocate comes from an arena, so one number is the limit. */
#ifndef SBX_ARENA_H
#define SBX_ARENA_H

#include <stddef.h>

struct sbx_arena;

/* NULL if memory runs out. */
struct sbx_arena *sbx_arena_create(size_t limit_bytes);
void sbx_arena_destroy(struct sbx_arena *arena); /* NULL is fine */

/* `bytes` zeroed bytes, aligned for any type, valid until destroy. NULL if memory runs out or the limit is reached. */
void *sbx_arena_take(struct sbx_arena *arena, size_t bytes);

/* The one copy of `text` in this arena: equal texts have equal pointers. NULL as for sbx_arena_take(). */
const char *sbx_arena_intern(struct sbx_arena *arena, const char *text);

#endif
