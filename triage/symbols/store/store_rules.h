/* SPDX-License-Identifier: Apache-2.0 */
/* store_rules.h - rules of every store: valid tenants, build-ids as text, and which image may replace which. */
#ifndef SBX_STORE_RULES_H
#define SBX_STORE_RULES_H

#include "symbol_store.h"

enum {
    SBX_STORE_TENANT_BYTES_MAX = 64,
    SBX_STORE_HEX_BYTES = 2 * SBX_IMAGE_BUILD_ID_BYTES_MAX + 1
};

/* A valid tenant: letters, digits, '-', '_' and '.', not with '.' at the begin; at most SBX_STORE_TENANT_BYTES_MAX. */
bool sbx_store_is_tenant(const char *text);

/* The build-id as text, made from the bytes, so that it has only hex digits. False if it has no bytes or too many. */
bool sbx_store_hex(const uint8_t *build_id, size_t bytes, char hex_out[SBX_STORE_HEX_BYTES]);
/* Whether `text` of `bytes` bytes is such a text. */
bool sbx_store_is_hex(const char *text, size_t bytes);

/* Whether the image is of that build-id. */
bool sbx_store_is_of(const struct sbx_symbol_image *image, const uint8_t *build_id, size_t bytes);

/* What happens to a draft if there is a readable image already. */
enum sbx_store_outcome sbx_store_compare(const struct sbx_image_facts *there, const struct sbx_image_facts *draft);

/* Growing list of entries; all zero: an empty list. */
struct sbx_store_entries {
    struct sbx_store_entry *entries;
    size_t count, room;
};
/* A new entry, all zero; NULL if memory runs out. */
struct sbx_store_entry *sbx_store_entries_add(struct sbx_store_entries *list);
void sbx_store_entries_sort(struct sbx_store_entries *list); /* sorts by build-id */

#endif
