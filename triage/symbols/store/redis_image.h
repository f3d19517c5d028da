/* SPDX-License-Identifier: Apache-2.0 */
/* redis_image.h - reads an image (head and chunks) from Redis, and keeps it from expiring. */
#ifndef SBX_REDIS_IMAGE_H
#define SBX_REDIS_IMAGE_H

#include <pthread.h>

#include "redis_keys.h"
#include "redis_link.h"

/* What a store and its images share. Counted references. */
struct sbx_redis_place {
    pthread_mutex_t mutex; /* protects `users`, `words` and `trouble` */
    unsigned users;
    struct sbx_redis_link *link;
    uint64_t keep_s;
    char name[SBX_REDIS_HOST_BYTES + 64];                         /* the URL, for messages */
    char words[SBX_REDIS_WHY_BYTES + SBX_REDIS_HOST_BYTES + 128]; /* the last error; "": none */
    enum sbx_store_trouble trouble;
};

struct sbx_redis_place *sbx_redis_place_share(struct sbx_redis_place *place);
void sbx_redis_place_release(struct sbx_redis_place *place);
/* Store an error, unless an error that is as bad or worse is stored already. */
void sbx_redis_place_tell(struct sbx_redis_place *place, enum sbx_store_trouble trouble, const char *words);
/* The same for commands that failed; `words` may be "". */
void sbx_redis_place_tell_failure(struct sbx_redis_place *place, int result, const char *words);
/* Run commands. Errors of the server are stored. Returns as sbx_redis_link_run(). */
int sbx_redis_place_run(struct sbx_redis_place *place, struct sbx_redis_command *commands, size_t count,
                        enum sbx_redis_patience patience);

/* Open the image of a build-id. If `is_question`, it counts as used. Returns as sbx_symbol_store_find(). */
int sbx_redis_image_open(struct sbx_redis_place *place, const struct sbx_redis_image_keys *keys, size_t cache_bytes,
                         bool is_question, struct sbx_symbol_image **image_out);
uint64_t sbx_redis_image_generation(const struct sbx_symbol_image *image);

/* Run command `name` [KEY `argument`] for all chunks of `image`, of one generation. Errors are not stored. Returns 0 or
 * -errno. */
int sbx_redis_chunks_each(struct sbx_redis_place *place, const struct sbx_redis_image_keys *keys, uint64_t generation,
                          const struct sbx_symbol_image *image, const char *name, const char *argument);

#endif
