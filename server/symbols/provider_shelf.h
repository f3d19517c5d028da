/* SPDX-License-Identifier: Apache-2.0 */
/* provider_shelf.h - what the functions of embedded runtimes are called: the maps that were sent, DATA/providers.
 *
 *   DATA/providers/provider-NAME.map    docs/PROVIDERS.md has the format
 *
 * A map that is sent again adds what is new in it. What is there stays: whoever may send must not be able to put words
 * into other people's stacks. A file is replaced as a whole, so a reader sees the old one or the new one. */
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
    char name[SBX_PROVIDER_NAME_BYTES]; /* of the runtime */
    uint64_t number;                    /* sbx_provider_number() of it */
    size_t added, same, different;      /* functions; the different ones were not taken */
};

/* Does the text begin as such a map does? */
int sbx_provider_shelf_is_map(const char *text, size_t bytes);

/* Take the map's functions in, durably. One thread at a time. Returns 0; -EBADMSG when it is no map, or its runtime's name
 * is none; -E2BIG when there would be more than a server reads; or -errno. `why` says what is wrong. */
int sbx_provider_shelf_add(struct sbx_provider_shelf *shelf, const char *text, size_t bytes,
                           struct sbx_shelved *shelved_out, char *why, size_t why_bytes);

#endif
