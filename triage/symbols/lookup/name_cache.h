/* SPDX-License-Identifier: Apache-2.0 */
/* name_cache.h - names as people write them, kept: demangling takes ten times as long as finding what to demangle. */
#ifndef SBX_NAME_CACHE_H
#define SBX_NAME_CACHE_H

#include <stddef.h>

struct sbx_name_cache;

/* `limit_bytes` of texts are kept; then all are forgotten at once. NULL without memory. */
struct sbx_name_cache *sbx_name_cache_create(size_t limit_bytes);
void sbx_name_cache_destroy(struct sbx_name_cache *cache);

/* What sbx_demangle() makes of `name`, in SBX_NAME_BYTES_MAX bytes; borrowed until the next question. */
const char *sbx_name_cache_read(struct sbx_name_cache *cache, const char *name);

#endif
