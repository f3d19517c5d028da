/* SPDX-License-Identifier: Apache-2.0 */
/* redis_image.c - reads an image from Redis, and keeps it from expiring. */
#include "redis_image.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    BATCH = 512,           /* commands without large values in one round trip */
    CHUNK_LONGER_S = 86400 /* a chunk stays one day longer than its head, so that a head always has its chunks */
};

/* ---- the shared part of a store ---- */

struct sbx_redis_place *sbx_redis_place_share(struct sbx_redis_place *place)
{
    pthread_mutex_lock(&place->mutex);
    place->users++;
    pthread_mutex_unlock(&place->mutex);
    return place;
}

void sbx_redis_place_release(struct sbx_redis_place *place)
{
    pthread_mutex_lock(&place->mutex);
    unsigned users = --place->users;
    pthread_mutex_unlock(&place->mutex);
    if (users == 0) {
        sbx_redis_link_destroy(place->link);
        pthread_mutex_destroy(&place->mutex);
        free(place);
    }
}

void sbx_redis_place_tell(struct sbx_redis_place *place, enum sbx_store_trouble trouble, const char *words)
{
    pthread_mutex_lock(&place->mutex);
    if (trouble > place->trouble) {
        place->trouble = trouble;
        snprintf(place->words, sizeof place->words, "%s: %s", place->name, words);
    }
    pthread_mutex_unlock(&place->mutex);
}

void sbx_redis_place_tell_failure(struct sbx_redis_place *place, int result, const char *words)
{
    sbx_redis_place_tell(place, result == -ENOMEM ? SBX_STORE_IS_DAMAGED : SBX_STORE_IS_AWAY,
                         words[0] == '\0' ? strerror(-result) : words);
}

int sbx_redis_place_run(struct sbx_redis_place *place, struct sbx_redis_command *commands, size_t count,
                        enum sbx_redis_patience patience)
{
    char why[SBX_REDIS_WHY_BYTES];
    int result = sbx_redis_link_run(place->link, commands, count, patience, why);
    if (result != 0) {
        sbx_redis_place_tell_failure(place, result, why);
    }
    return result;
}

/* ---- an image ---- */

struct redis_image {
    struct sbx_redis_place *place;
    struct sbx_redis_image_keys keys;
    uint64_t generation;
    long long stays_s; /* time to live of the head that was read last, as told by Redis; -1: it does not expire */
    enum sbx_redis_patience patience;
    bool tells;                     /* reports damaged images; a writer that replaces them does not */
    uint64_t refreshed_s;           /* when the time to live was last checked; 0: never */
    struct sbx_symbol_image *image; /* the image that uses this source; NULL while it is opened */
};

static uint64_t clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec + 1;
}

/* Read the head and its time to live. Returns 0, -ENOENT, -EBADMSG or -errno. */
static int get_head(struct redis_image *own, uint8_t **head_out, size_t *count_out, uint64_t *generation_out,
                    long long *stays_s_out)
{
    char key[SBX_REDIS_KEY_BYTES], why[SBX_REDIS_WHY_BYTES];
    size_t bytes = sbx_redis_head_key(&own->keys, key), head_bytes;
    struct sbx_redis_command commands[2] = {{.key = 1}, {.key = 1}};
    const uint8_t *head;
    sbx_redis_command_add(&commands[0], "GET", 3);
    sbx_redis_command_add(&commands[0], key, bytes);
    sbx_redis_command_add(&commands[1], "TTL", 3);
    sbx_redis_command_add(&commands[1], key, bytes);
    int result = sbx_redis_link_run(own->place->link, commands, 2, own->patience, why);
    const redisReply *value = commands[0].reply;
    if (result == -EREMOTEIO && value != NULL && value->type == REDIS_REPLY_ERROR &&
        strncmp(value->str, "WRONGTYPE", 9) == 0) {
        result = -EBADMSG;
    } else if (result != 0) {
        sbx_redis_place_tell_failure(own->place, result, why);
    }
    if (result == 0 && value->type != REDIS_REPLY_STRING) {
        result = value->type == REDIS_REPLY_NIL ? -ENOENT : -EBADMSG;
    }
    if (result == 0) {
        result =
            sbx_redis_head_open((const uint8_t *)value->str, (size_t)value->len, generation_out, &head, &head_bytes);
    }
    if (result == 0) {
        *head_out = malloc(head_bytes + 1);
        result = *head_out == NULL ? -ENOMEM : 0;
    }
    if (result == 0) {
        memcpy(*head_out, head, head_bytes);
        *count_out = head_bytes;
        *stays_s_out = commands[1].reply->type == REDIS_REPLY_INTEGER ? commands[1].reply->integer : 0;
    }
    sbx_redis_commands_finish(commands, 2);
    return result;
}

/* Failures are not stored in `place`, because the user may have no right to write. */
int sbx_redis_chunks_each(struct sbx_redis_place *place, const struct sbx_redis_image_keys *keys, uint64_t generation,
                          const struct sbx_symbol_image *image, const char *name, const char *argument)
{
    uint64_t count = sbx_symbol_image_facts(image)->chunk_count;
    char why[SBX_REDIS_WHY_BYTES];
    struct sbx_redis_command *commands = calloc(BATCH, sizeof *commands);
    char(*names)[SBX_REDIS_KEY_BYTES] = calloc(BATCH, sizeof *names);
    int result = commands == NULL || names == NULL ? -ENOMEM : 0;
    for (uint64_t at = 0; at < count && result == 0; at += BATCH) {
        size_t batch = count - at < BATCH ? (size_t)(count - at) : BATCH;
        memset(commands, 0, BATCH * sizeof *commands);
        for (size_t i = 0; i < batch; i++) {
            uint64_t number;
            (void)sbx_symbol_image_chunk_bytes(image, (uint32_t)(at + i), &number);
            commands[i].key = 1;
            sbx_redis_command_add(&commands[i], name, strlen(name));
            sbx_redis_command_add(&commands[i], names[i], sbx_redis_chunk_key(keys, generation, number, names[i]));
            if (argument != NULL) {
                sbx_redis_command_add(&commands[i], argument, strlen(argument));
            }
        }
        result = sbx_redis_link_run(place->link, commands, batch, SBX_REDIS_READ, why);
        sbx_redis_commands_finish(commands, batch);
    }
    free(names);
    free(commands);
    return result;
}

/* The image was used, so all of it gets its whole time to live again, unless this was done within the last day (or
 * within the last half of the time to live, if that is less than a day). The chunks come first: if the process ends in
 * the middle, the head is still old and is refreshed again later. */
static void refresh(struct redis_image *own)
{
    uint64_t keep_s = own->place->keep_s;
    char seconds[24], key[SBX_REDIS_KEY_BYTES], why[SBX_REDIS_WHY_BYTES];
    own->refreshed_s = clock_s();
    uint64_t daily_s = keep_s / 2 < SBX_STORE_REFRESH_S ? keep_s / 2 : SBX_STORE_REFRESH_S;
    if (own->stays_s >= 0 && (uint64_t)own->stays_s + daily_s > keep_s) {
        return;
    }
    snprintf(seconds, sizeof seconds, "%" PRIu64, keep_s + CHUNK_LONGER_S);
    if (sbx_redis_chunks_each(own->place, &own->keys, own->generation, own->image, "EXPIRE", seconds) != 0) {
        return;
    }
    struct sbx_redis_command command = {.key = 1};
    size_t bytes = sbx_redis_head_key(&own->keys, key);
    snprintf(seconds, sizeof seconds, "%" PRIu64, keep_s);
    sbx_redis_command_add(&command, "EXPIRE", 6);
    sbx_redis_command_add(&command, key, bytes);
    sbx_redis_command_add(&command, seconds, strlen(seconds));
    (void)sbx_redis_link_run(own->place->link, &command, 1, SBX_REDIS_READ, why);
    sbx_redis_commands_finish(&command, 1);
}

static int read_head(void *context, uint8_t **head_out, size_t *count_out, uint64_t *generation_out)
{
    struct redis_image *own = context;
    int result = get_head(own, head_out, count_out, generation_out, &own->stays_s);
    if (result == 0) {
        own->generation = *generation_out;
    }
    if (result == -EBADMSG && own->tells) {
        sbx_redis_place_tell(own->place, SBX_STORE_IS_DAMAGED, "an image is damaged there; add it again");
    }
    return result;
}

/* A program may have an image open for months. So fetching chunks also renews the image's time to live, once a day. */
static void refresh_daily(struct redis_image *own)
{
    uint8_t *head = NULL;
    size_t count;
    uint64_t generation;
    if (own->image == NULL || clock_s() - own->refreshed_s < SBX_STORE_REFRESH_S) {
        return;
    }
    own->refreshed_s = clock_s();
    if (get_head(own, &head, &count, &generation, &own->stays_s) == 0 && generation == own->generation) {
        refresh(own);
    }
    free(head);
}

static int fetch(void *context, struct sbx_image_chunk *chunks, size_t count)
{
    struct redis_image *own = context;
    struct sbx_redis_command *commands = calloc(count + 1, sizeof *commands);
    char(*names)[SBX_REDIS_KEY_BYTES] = calloc(count + 1, sizeof *names);
    int result = commands == NULL || names == NULL ? -ENOMEM : 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        commands[i].key = 1;
        sbx_redis_command_add(&commands[i], "GET", 3);
        sbx_redis_command_add(&commands[i], names[i],
                              sbx_redis_chunk_key(&own->keys, own->generation, chunks[i].number, names[i]));
    }
    result = result != 0 ? result : sbx_redis_place_run(own->place, commands, count, own->patience);
    for (size_t i = 0; i < count && result == 0; i++) {
        const redisReply *value = commands[i].reply;
        chunks[i].is_there = value->type == REDIS_REPLY_STRING && (size_t)value->len == chunks[i].byte_count;
        if (chunks[i].is_there) {
            memcpy(chunks[i].bytes, value->str, chunks[i].byte_count);
        }
    }
    if (commands != NULL) {
        sbx_redis_commands_finish(commands, count);
    }
    free(names);
    free(commands);
    if (result == 0) {
        refresh_daily(own);
    }
    return result;
}

static void tell_lost(void *context, size_t chunks)
{
    struct redis_image *own = context;
    char words[160];
    if (!own->tells) {
        return;
    }
    snprintf(words, sizeof words, "of build-id %.64s %zu chunk%s missing or damaged there; add it again", own->keys.hex,
             chunks, chunks == 1 ? " is" : "s are");
    sbx_redis_place_tell(own->place, SBX_STORE_IS_DAMAGED, words);
}

static void close_image(void *context)
{
    struct redis_image *own = context;
    sbx_redis_place_release(own->place);
    free(own);
}

int sbx_redis_image_open(struct sbx_redis_place *place, const struct sbx_redis_image_keys *keys, size_t cache_bytes,
                         bool is_question, struct sbx_symbol_image **image_out)
{
    static const struct sbx_image_calls calls = {
        .read_head = read_head, .fetch = fetch, .tell_lost = tell_lost, .close = close_image};
    struct redis_image *own = calloc(1, sizeof *own);
    if (own == NULL) {
        return -ENOMEM;
    }
    own->place = sbx_redis_place_share(place);
    own->keys = *keys;
    own->tells = is_question;
    own->patience = is_question ? SBX_REDIS_READ : SBX_REDIS_WRITE;
    int result = sbx_symbol_image_open_source((struct sbx_image_source){.calls = &calls, .context = own}, cache_bytes,
                                              image_out);
    if (result == 0) {
        own->image = *image_out;
        own->refreshed_s = clock_s();
        if (is_question) {
            refresh(own);
        }
    }
    return result;
}

uint64_t sbx_redis_image_generation(const struct sbx_symbol_image *image)
{
    const struct redis_image *own = sbx_symbol_image_source(image).context;
    return own->generation;
}
