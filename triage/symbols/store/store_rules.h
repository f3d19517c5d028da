/* SPDX-License-Identifier: Apache-2.0 */
/* store_rules.h - rules of every store: what a tenant is, how a build-id is written, what may replace what. */
#ifndef SBX_STORE_RULES_H
#define SBX_STORE_RULES_H

#include "symbol_store.h"

enum {
    SBX_STORE_TENANT_BYTES_MAX = 64,
    SBX_STORE_HEX_BYTES = 2 * SBX_IMAGE_BUILD_ID_BYTES_MAX + 1
};

/* Letters, digits, '-', '_' and '.', not at the begin; SBX_STORE_TENANT_BYTES_MAX at most. */
bool sbx_store_is_tenant(const char *text);

/* The build-id as text, made of the bytes, so that it is hex and nothing else. False when there are none or too many. */
bool sbx_store_hex(const uint8_t *build_id, size_t bytes, char hex_out[SBX_STORE_HEX_BYTES]);
/* Whether `text` of `bytes` bytes is such a text. */
bool sbx_store_is_hex(const char *text, size_t bytes);

/* Whether the image is of that build-id. */
bool sbx_store_is_of(const struct sbx_symbol_image *image, const uint8_t *build_id, size_t bytes);

/* What becomes of a draft where an image is that could be read. */
enum sbx_store_outcome sbx_store_compare(const struct sbx_image_facts *there, const struct sbx_image_facts *draft);

/* Growing list of entries; zero is an empty one. */
struct sbx_store_entries {
    struct sbx_store_entry *entries;
    size_t count, room;
};
/* A new entry, zero; NULL without memory. */
struct sbx_store_entry *sbx_store_entries_add(struct sbx_store_entries *list);
void sbx_store_entries_sort(struct sbx_store_entries *list); /* by build-id */

#endif
