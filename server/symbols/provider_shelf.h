/* SPDX-License-Identifier: Apache-2.0 */
/* provider_shelf.h - names of the functions of embedded runtimes: the maps that were sent, in DATA/providers.
 *
 *   DATA/providers/provider-NAME.map    docs/PROVIDERS.md has the format
 *
 * A map that is sent again adds only its new functions. Existing names stay, so that a sender cannot change the names
 * in the stacks of others. A file is replaced as a whole, so a reader sees the old one or the new one. */
#ifndef SBX_PROVIDER_SHELF_H
#define SBX_PROVIDER_SHELF_H

#include <stddef.h>
#include <stdint.h>

struct sbx_provider_shelf;

/* Makes DATA/providers when it is missing. Returns 0 or -errno. */
int sbx_provider_shelf_open(const char *data_dir, struct sbx_provider_shelf **shelf_out);
void sbx_provider_shelf_close(struct sbx_provider_shelf *shelf); /* NULL is fine */

/* The folder, for sbx_provider_map_add_folder(). */
const char *sbx_provider_shelf_folder(const struct sbx_provider_shelf *shelf);

enum {
    SBX_PROVIDER_NAME_BYTES = 24
};
struct sbx_shelved {
    char name[SBX_PROVIDER_NAME_BYTES]; /* name of the runtime */
    uint64_t number;                    /* sbx_provider_number() of the name */
    size_t added, same, different;      /* functions; the different ones, with a new name, were not taken */
};

/* Does the text begin like such a map? */
int sbx_provider_shelf_is_map(const char *text, size_t bytes);

/* Add the functions of a map, durably. One thread at a time. Returns 0; -EBADMSG when it is not a map, or has no valid
 * name of a runtime; -E2BIG when there would be more than a server reads; or -errno. `why` has the reason. */
int sbx_provider_shelf_add(struct sbx_provider_shelf *shelf, const char *text, size_t bytes,
                           struct sbx_shelved *shelved_out, char *why, size_t why_bytes);

#endif
