/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_store.h - images by build-id: in a folder (folder_store.h), or in Redis for many machines (redis_store.h).
 *
 * A reader sees all of an image or nothing, whenever a writer is killed. What a build-id has is replaced only by something
 * better: code with debug information after symbols alone, never one answer by a different one of the same kind, which
 * would let whoever may upload put words into other people's stacks. An image that nobody asked for in 45 days goes; that
 * it was asked for is written down at most once a day. A store may be used by several threads at a time, an image by one;
 * images may outlive their store. In Redis, callers of one store take turns, and one that writes while a cluster replaces
 * a master may take half a minute: a server that has to go on answering opens a store of its own for writing. */
#ifndef SBX_SYMBOL_STORE_H
#define SBX_SYMBOL_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol_image.h"

enum {
    SBX_STORE_KEEP_S = 45 * 86400, /* without a question; symbols are wanted as long as their release is out there */
    SBX_STORE_REFRESH_S = 86400    /* how exactly the last question is known */
};

enum sbx_store_outcome {
    SBX_STORE_ADDED,
    SBX_STORE_REPLACED,  /* what was there had worse sources, or was damaged */
    SBX_STORE_SAME,      /* it was there already */
    SBX_STORE_KEPT,      /* what is there has better sources */
    SBX_STORE_DIFFERENT, /* refused: what is there says something else */
};

struct sbx_symbol_store;

/* Open FOLDER for TENANT (letters, digits, '-', '_' and '.', not at the begin; 64 at most). With `may_create` folders
 * are made; without, a missing one is -ENOENT. A folder that is another user's, or that others may write to, is -EPERM.
 * Returns 0, -EINVAL for a tenant that is none, or -errno. */
int sbx_symbol_store_open(const char *folder, const char *tenant, bool may_create, struct sbx_symbol_store **store_out);
/* The same for what an operator writes: a folder, or the URL of Redis as redis_url.h has it. Nothing is asked of Redis
 * before it is needed, so a server that is away now may be there then; `may_create` means nothing to it. Returns as
 * sbx_symbol_store_open(), -EDESTADDRREQ for a URL that is none, and -EKEYREJECTED when its password cannot be read. `why` gets words for a person, "" where the result
 * says it all. */
int sbx_symbol_store_open_at(const char *where, const char *tenant, bool may_create,
                             struct sbx_symbol_store **store_out, char *why, size_t why_bytes);
/* Another tenant of the same place, which uses the same connections; neither needs the other to stay open. Returns as
 * sbx_symbol_store_open(). */
int sbx_symbol_store_of_tenant(const struct sbx_symbol_store *store, const char *tenant, bool may_create,
                               struct sbx_symbol_store **store_out);
/* Is that the URL of a server, which is connected to? */
bool sbx_symbol_store_is_server(const char *where);
/* Connect to it now and never again, for a process that will not be let: a server that goes away is away for good then. Returns 0, also of a
 * folder, or -errno when it is not to be had. */
int sbx_symbol_store_connect_once(struct sbx_symbol_store *store);

enum sbx_store_trouble {
    SBX_STORE_IS_WELL = 0,
    SBX_STORE_IS_DAMAGED, /* what is missing comes by no waiting */
    SBX_STORE_IS_AWAY,    /* it did not answer, or not what it was asked: what was not found may be there */
};
/* What was wrong with the store since this was asked last, and words for a person that name it, "" when nothing was. The calls
 * that met it went on without. */
enum sbx_store_trouble sbx_symbol_store_trouble(struct sbx_symbol_store *store, char *words_out, size_t bytes);
void sbx_symbol_store_close(struct sbx_symbol_store *store);

/* The image of a build-id at time `now_s`, which makes it used. Returns 0, -ENOENT, or as sbx_symbol_image_open(). */
int sbx_symbol_store_find(struct sbx_symbol_store *store, const uint8_t *build_id, size_t bytes, uint64_t now_s,
                          size_t cache_bytes, struct sbx_symbol_image **image_out);

/* A new file to write an image to, at *fd_out (given), and its name. Returns 0 or -errno. */
struct sbx_store_draft {
    char name[48];
    int file; /* of a store that is no folder: where it is until then, -1 none */
};
int sbx_symbol_store_begin(struct sbx_symbol_store *store, struct sbx_store_draft *draft, int *fd_out);
/* Put what was written in its place, if it is an image of `build_id`, every chunk of it can be read, and what is there
 * allows it. *before_out (may be NULL): the source of what was there. Returns 0, -EBADMSG, or -errno; the draft is gone
 * in any case. */
int sbx_symbol_store_commit(struct sbx_symbol_store *store, const struct sbx_store_draft *draft,
                            const uint8_t *build_id, size_t bytes, enum sbx_store_outcome *outcome_out,
                            enum sbx_symbol_source *before_out);
void sbx_symbol_store_abandon(struct sbx_symbol_store *store, const struct sbx_store_draft *draft);

/* Returns 0, -ENOENT or -errno. */
int sbx_symbol_store_remove(struct sbx_symbol_store *store, const uint8_t *build_id, size_t bytes);

/* One image of a list. */
struct sbx_store_entry {
    char build_id[2 * SBX_IMAGE_BUILD_ID_BYTES_MAX + 1];
    struct sbx_image_facts facts; /* zero when damaged */
    bool is_damaged;
    uint64_t used_s, file_bytes;
};
/* All images, by build-id: *entries_out is given (free). Returns 0 or -errno. */
int sbx_symbol_store_list(struct sbx_symbol_store *store, struct sbx_store_entry **entries_out, size_t *count_out);

/* Remove what nobody asked for since `now_s` - SBX_STORE_KEEP_S, and drafts of writers that died; of all tenants, and what
 * other parser versions made. Returns how many images went, or -errno. */
int sbx_symbol_store_sweep(struct sbx_symbol_store *store, uint64_t now_s);

#endif
