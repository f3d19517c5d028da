/* SPDX-License-Identifier: Apache-2.0 */
/* redis_image.h - an image in Redis: its head and chunks, read, and kept from going. */
#ifndef SBX_REDIS_IMAGE_H
#define SBX_REDIS_IMAGE_H

#include <pthread.h>

#include "redis_keys.h"
#include "redis_link.h"

/* What a store and its images share. */
struct sbx_redis_place {
    pthread_mutex_t mutex; /* users and words */
    unsigned users;
    struct sbx_redis_link *link;
    uint64_t keep_s;
    char name[SBX_REDIS_HOST_BYTES + 64];                         /* the URL, for messages */
    char words[SBX_REDIS_WHY_BYTES + SBX_REDIS_HOST_BYTES + 128]; /* what was wrong; "" nothing */
    enum sbx_store_trouble trouble;
};

struct sbx_redis_place *sbx_redis_place_share(struct sbx_redis_place *place);
void sbx_redis_place_release(struct sbx_redis_place *place);
/* Note what is wrong, unless something as bad stands there already. */
void sbx_redis_place_tell(struct sbx_redis_place *place, enum sbx_store_trouble trouble, const char *words);
/* The same of commands that were not done; `words` may be "". */
void sbx_redis_place_tell_failure(struct sbx_redis_place *place, int result, const char *words);
/* Run commands; what is wrong with the server is noted. Returns as sbx_redis_link_run(). */
int sbx_redis_place_run(struct sbx_redis_place *place, struct sbx_redis_command *commands, size_t count,
                        enum sbx_redis_patience patience);

/* Open the image of a build-id; a question makes it used. Returns as sbx_symbol_store_find(). */
int sbx_redis_image_open(struct sbx_redis_place *place, const struct sbx_redis_image_keys *keys, size_t cache_bytes,
                         bool is_question, struct sbx_symbol_image **image_out);
uint64_t sbx_redis_image_generation(const struct sbx_symbol_image *image);

/* Have command `name` [KEY `argument`] done for the chunks of `image`, of one generation, without words. Returns 0 or
 * -errno. */
int sbx_redis_chunks_each(struct sbx_redis_place *place, const struct sbx_redis_image_keys *keys, uint64_t generation,
                          const struct sbx_symbol_image *image, const char *name, const char *argument);

#endif
