/* SPDX-License-Identifier: Apache-2.0 */
/* stored_list.h - the entries of the symbol store, for pages. The list is kept for some seconds, because reading it
 * opens every image. */
#ifndef SBX_STORED_LIST_H
#define SBX_STORED_LIST_H

#include <stddef.h>

#include "store_symbols.h"

struct sbx_symbol_store;
struct sbx_stored_list;

/* `store`: a handle that is used for nothing else, borrowed until destroy. Returns NULL without memory. */
struct sbx_stored_list *sbx_stored_list_create(struct sbx_symbol_store *store);
void sbx_stored_list_destroy(struct sbx_stored_list *list); /* NULL is fine */

/* The entries of one application, or with `app` 0 those for all, by build-id: *rows_out is given (free). Returns 0 or
 * -errno. Any thread. */
int sbx_stored_list_get(struct sbx_stored_list *list, uint64_t app, struct sbx_stored_row **rows_out,
                        size_t *count_out);
/* The store has changed for this application. Any thread. */
void sbx_stored_list_forget(struct sbx_stored_list *list, uint64_t app);

#endif
