/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_store.h - images by build-id: in a folder (folder_store.h), or in Redis for many machines (redis_store.h).
 *
 * A reader sees a complete image or none, even if a writer is killed. An image is replaced only by a better one: code
 * with debug information replaces code with symbols only. It is never replaced by a different image of the same kind,
 * because then any user with the right to upload could change the names in other users' stacks. An image that was not
 * used for 45 days is removed (in Redis, the URL may give another time); the time of use is stored at most once a day.
 * A store may be used by several threads at a time, an image by one thread; images may outlive their store. In Redis,
 * callers of one store take turns. A writer may take half a minute while a cluster replaces a master. So a server that
 * must continue to answer opens a store of its own for writing. */
#ifndef SBX_SYMBOL_STORE_H
#define SBX_SYMBOL_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol_image.h"

enum {
    SBX_STORE_KEEP_S = 45 * 86400, /* time without use; symbols are needed as long as their release is in use */
    SBX_STORE_REFRESH_S = 86400    /* precision of the time of the last use */
};

enum sbx_store_outcome {
    SBX_STORE_ADDED,
    SBX_STORE_REPLACED,  /* the image before had worse sources, or was damaged */
    SBX_STORE_SAME,      /* an equal image existed */
    SBX_STORE_KEPT,      /* the existing image has better sources */
    SBX_STORE_DIFFERENT, /* refused: the existing image has different content */
};

struct sbx_symbol_store;

/* Open FOLDER for TENANT (letters, digits, '-', '_' and '.', not with '.' at the begin; 64 at most). With `may_create`
 * folders are made; without it, a missing folder is -ENOENT. -EPERM if the folder belongs to another user, or if others
 * may write to it. Returns 0, -EINVAL for an invalid tenant, or -errno. */
int sbx_symbol_store_open(const char *folder, const char *tenant, bool may_create, struct sbx_symbol_store **store_out);
/* The same for the text of an operator: a folder, or a URL of Redis as in redis_url.h. Redis is connected only when it
 * is needed, so a server that is down now may be up then; `may_create` has no effect on Redis. Returns as
 * sbx_symbol_store_open(), -EDESTADDRREQ for an invalid URL, and -EKEYREJECTED if its password cannot be read. `why`
 * gets a text for a person; "" if the result is enough. */
int sbx_symbol_store_open_at(const char *where, const char *tenant, bool may_create,
                             struct sbx_symbol_store **store_out, char *why, size_t why_bytes);
/* Another tenant of the same place. It uses the same connections. Each may be closed before the other. Returns as
 * sbx_symbol_store_open(). */
int sbx_symbol_store_of_tenant(const struct sbx_symbol_store *store, const char *tenant, bool may_create,
                               struct sbx_symbol_store **store_out);
/* Is this the URL of a server that needs a connection? */
bool sbx_symbol_store_is_server(const char *where);
/* Connect now, and never again: for a process that will lose the right to connect. If the connection is lost later, the
 * server is not used any more. Returns 0 (also for a folder), or -errno if the connection failed. */
int sbx_symbol_store_connect_once(struct sbx_symbol_store *store);

enum sbx_store_trouble {
    SBX_STORE_IS_WELL = 0,
    SBX_STORE_IS_DAMAGED, /* what is missing will not appear by waiting */
    SBX_STORE_IS_AWAY,    /* the server did not answer, or gave a wrong answer: what was not found may exist */
};
/* The error of the store since the last call of this function, and a text for a person that names the store; "": no
 * error. The calls that failed continued without the store. */
enum sbx_store_trouble sbx_symbol_store_trouble(struct sbx_symbol_store *store, char *words_out, size_t bytes);
void sbx_symbol_store_close(struct sbx_symbol_store *store);

/* The image of a build-id at time `now_s`. It counts as used. Returns 0, -ENOENT, or as sbx_symbol_image_open(). */
int sbx_symbol_store_find(struct sbx_symbol_store *store, const uint8_t *build_id, size_t bytes, uint64_t now_s,
                          size_t cache_bytes, struct sbx_symbol_image **image_out);

/* A new file for an image, at *fd_out (given), and its name. Returns 0 or -errno. */
struct sbx_store_draft {
    char name[48];
    int file; /* for a store that is not a folder: the temporary file; -1 none */
};
int sbx_symbol_store_begin(struct sbx_symbol_store *store, struct sbx_store_draft *draft, int *fd_out);
/* Make the written file the image of `build_id`, if it is one, all of its chunks can be read, and the present image
 * allows it. *before_out (may be NULL): the best source of names of the image that existed before, SBX_SYMBOLS_NONE if
 * it is not known. Returns 0, -EBADMSG, or -errno. The draft is gone in any case. */
int sbx_symbol_store_commit(struct sbx_symbol_store *store, const struct sbx_store_draft *draft,
                            const uint8_t *build_id, size_t bytes, enum sbx_store_outcome *outcome_out,
                            enum sbx_symbol_source *before_out);
void sbx_symbol_store_abandon(struct sbx_symbol_store *store, const struct sbx_store_draft *draft);

/* Remove the image of a build-id. Returns 0, -ENOENT or -errno. */
int sbx_symbol_store_remove(struct sbx_symbol_store *store, const uint8_t *build_id, size_t bytes);

/* One image of a list. */
struct sbx_store_entry {
    char build_id[2 * SBX_IMAGE_BUILD_ID_BYTES_MAX + 1];
    struct sbx_image_facts facts; /* all zero if damaged */
    bool is_damaged;
    uint64_t used_s, file_bytes;
};
/* All images, sorted by build-id: *entries_out is given (free). Returns 0 or -errno. */
int sbx_symbol_store_list(struct sbx_symbol_store *store, struct sbx_store_entry **entries_out, size_t *count_out);

/* Remove images that were not used since `now_s` - SBX_STORE_KEEP_S, and drafts of dead writers. It works on all
 * tenants and all parser versions. In Redis there is nothing to do, because images expire there. Returns the number of
 * removed images, or -errno. */
int sbx_symbol_store_sweep(struct sbx_symbol_store *store, uint64_t now_s);

#endif
