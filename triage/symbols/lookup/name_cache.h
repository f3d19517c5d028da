/* SPDX-License-Identifier: Apache-2.0 */
/* name_cache.h - a cache of demangled names. Demangling takes ten times as long as finding the mangled name. */
#ifndef SBX_NAME_CACHE_H
#define SBX_NAME_CACHE_H

#include <stddef.h>

struct sbx_name_cache;

/* Keeps at most `limit_bytes` of texts; then all are dropped at once. NULL if memory runs out. */
struct sbx_name_cache *sbx_name_cache_create(size_t limit_bytes);
void sbx_name_cache_destroy(struct sbx_name_cache *cache);

/* The result of sbx_demangle() for `name`, in SBX_NAME_BYTES_MAX bytes; borrowed until the next call. */
const char *sbx_name_cache_read(struct sbx_name_cache *cache, const char *name);

#endif
