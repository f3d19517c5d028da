/* SPDX-License-Identifier: Apache-2.0 */
/* redis_store.c - images by build-id, in Redis or Redis Cluster. */
#include "redis_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "redis_upload.h"
#include "store_backend.h"

enum {
    TRIES_MAX = 16,    /* number of attempts; an attempt fails if another writer of the same build-id was faster */
    LIST_PAGE = 32,    /* heads of a list that are read in one batch */
    LIST_MAX = 1 << 20 /* maximum number of images in a list */
};

struct redis_store {
    struct sbx_symbol_store base;
    struct sbx_redis_place *place;
    char tenant[SBX_STORE_TENANT_BYTES_MAX + 1];
};

static const struct redis_store *own(const struct sbx_symbol_store *store)
{
    return (const struct redis_store *)store;
}

static bool keys_of(const struct sbx_symbol_store *store, const uint8_t *build_id, size_t bytes,
                    struct sbx_redis_image_keys *keys_out)
{
    snprintf(keys_out->tenant, sizeof keys_out->tenant, "%s", own(store)->tenant);
    return sbx_store_hex(build_id, bytes, keys_out->hex);
}

static int redis_find(struct sbx_symbol_store *store, const uint8_t *build_id, size_t bytes, uint64_t now_s,
                      size_t cache_bytes, struct sbx_symbol_image **image_out)
{
    struct sbx_redis_image_keys keys;
    (void)now_s; /* not used: the server's clock counts */
    if (!keys_of(store, build_id, bytes, &keys)) {
        return -ENOENT;
    }
    int result = sbx_redis_image_open(own(store)->place, &keys, cache_bytes, true, image_out);
    if (result == 0 && !sbx_store_is_of(*image_out, build_id, bytes)) {
        sbx_symbol_image_close(*image_out);
        return -EBADMSG;
    }
    return result;
}

/* ---- writing ---- */

static int redis_begin(struct sbx_symbol_store *store, struct sbx_store_draft *draft, int *fd_out)
{
    struct sbx_redis_command ping = {.key = 0};
    sbx_redis_command_add(&ping, "PING", 4);
    int result = sbx_redis_place_run(own(store)->place, &ping, 1, SBX_REDIS_READ); /* before reading a large file */
    sbx_redis_commands_finish(&ping, 1);
    if (result != 0) {
        return result;
    }
    const char *folder = getenv("TMPDIR");
    int fd = open(folder != NULL && folder[0] == '/' ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    fd = fd < 0 ? memfd_create("symbols", MFD_CLOEXEC) : fd;
    if (fd < 0) {
        return -errno;
    }
    *fd_out = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (*fd_out < 0) {
        result = -errno;
        close(fd);
        return result;
    }
    draft->name[0] = '\0';
    draft->file = fd;
    return 0;
}

static void redis_abandon(struct sbx_symbol_store *store, const struct sbx_store_draft *draft)
{
    (void)store;
    if (draft->file >= 0) {
        close(draft->file);
    }
}

static int redis_commit(struct sbx_symbol_store *store, const struct sbx_store_draft *draft, const uint8_t *build_id,
                        size_t bytes, enum sbx_store_outcome *outcome_out, enum sbx_symbol_source *before_out)
{
    struct sbx_redis_image_keys keys;
    struct sbx_redis_upload upload = {.place = own(store)->place, .keys = &keys};
    enum sbx_symbol_source before = SBX_SYMBOLS_NONE;
    uint8_t *head = NULL;
    size_t head_bytes = 0;
    int result = keys_of(store, build_id, bytes, &keys) ? 0 : -EINVAL;
    if (result != 0) {
        redis_abandon(store, draft);
        return result;
    }
    result = sbx_symbol_image_open(draft->file, 0, &upload.image); /* takes the file */
    if (result == 0) { /* the writer read a stranger's file, so the image is checked completely */
        result = sbx_store_is_of(upload.image, build_id, bytes) ? sbx_symbol_image_verify(upload.image) : -EBADMSG;
    }
    result = result != 0 ? result : sbx_symbol_image_read_head(upload.image, &head, &head_bytes);
    if (result == 0 && getrandom(&upload.generation, sizeof upload.generation, 0) != sizeof upload.generation) {
        result = -errno;
    }
    if (result == 0) {
        upload.head = sbx_redis_head_pack(upload.generation, head, head_bytes, &upload.head_bytes);
        result = upload.head == NULL ? -ENOMEM : sbx_redis_upload_put(&upload, outcome_out, &before);
    }
    if (result == 0 && before_out != NULL) {
        *before_out = before;
    }
    free(upload.head);
    free(head);
    sbx_symbol_image_close(upload.image);
    return result;
}

static int redis_remove(struct sbx_symbol_store *store, const uint8_t *build_id, size_t bytes)
{
    struct sbx_redis_image_keys keys;
    struct sbx_redis_place *place = own(store)->place;
    int result = keys_of(store, build_id, bytes, &keys) ? 0 : -ENOENT;
    for (int tries = 0; tries < TRIES_MAX && result == 0; tries++) {
        char mark[SBX_REDIS_MARK_BYTES];
        size_t mark_bytes;
        struct sbx_symbol_image *there = NULL;
        result = sbx_redis_read_mark(place, &keys, mark, &mark_bytes);
        if (result == 0 && mark_bytes == 0) {
            return -ENOENT;
        }
        if (result == 0) { /* a damaged image is removed, too; its chunks expire */
            (void)sbx_redis_image_open(place, &keys, 0, false, &there);
            result = sbx_redis_exchange_head(place, &keys, mark, mark_bytes, NULL, 0);
        }
        if (result == 1 && there != NULL) {
            (void)sbx_redis_chunks_each(place, &keys, sbx_redis_image_generation(there), there, "UNLINK", NULL);
        }
        sbx_symbol_image_close(there);
    }
    return result == 0 ? -EBUSY : result == 1 ? 0 : result;
}

/* ---- the whole store ---- */

/* Append the build-ids of one page of SCAN. Returns 0 or -errno; *cursor_inout is "0" at the end. */
static int scan_page(const struct redis_store *store, size_t master, char cursor_inout[32],
                     struct sbx_store_entries *list)
{
    char pattern[SBX_REDIS_KEY_BYTES];
    struct sbx_redis_command command = {.node = master};
    sbx_redis_command_add(&command, "SCAN", 4);
    sbx_redis_command_add(&command, cursor_inout, strlen(cursor_inout));
    sbx_redis_command_add(&command, "MATCH", 5);
    sbx_redis_command_add(&command, pattern, sbx_redis_head_pattern(store->tenant, pattern));
    sbx_redis_command_add(&command, "COUNT", 5);
    sbx_redis_command_add(&command, "1000", 4);
    int result = sbx_redis_place_run(store->place, &command, 1, SBX_REDIS_READ);
    const redisReply *reply = command.reply;
    if (result == 0 &&
        (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || reply->element[0]->type != REDIS_REPLY_STRING ||
         (size_t)reply->element[0]->len >= 32 || reply->element[1]->type != REDIS_REPLY_ARRAY)) {
        result = -EPROTO;
    }
    for (size_t i = 0; result == 0 && i < reply->element[1]->elements; i++) {
        const redisReply *key = reply->element[1]->element[i];
        char hex[SBX_STORE_HEX_BYTES];
        if (key->type != REDIS_REPLY_STRING || !sbx_redis_head_hex(store->tenant, key->str, (size_t)key->len, hex)) {
            continue;
        }
        struct sbx_store_entry *entry = list->count >= LIST_MAX ? NULL : sbx_store_entries_add(list);
        if (entry == NULL) {
            result = -ENOMEM;
        } else {
            snprintf(entry->build_id, sizeof entry->build_id, "%s", hex);
        }
    }
    if (result == 0) {
        snprintf(cursor_inout, 32, "%s", reply->element[0]->str);
    }
    sbx_redis_commands_finish(&command, 1);
    return result;
}

/* Remove duplicates: SCAN may return a key twice. */
static void drop_twins(struct sbx_store_entries *list)
{
    size_t kept = 0;
    sbx_store_entries_sort(list);
    for (size_t i = 0; i < list->count; i++) {
        if (kept == 0 || strcmp(list->entries[kept - 1].build_id, list->entries[i].build_id) != 0) {
            list->entries[kept++] = list->entries[i];
        }
    }
    list->count = kept;
}

/* Fill in the facts of one image, from its head. `is_damaged` is set if they cannot be read. If the head does not exist
 * any more, the build-id becomes empty. */
static void fill(struct sbx_store_entry *entry, const redisReply *value, const redisReply *ttl, uint64_t keep_s)
{
    struct sbx_image_facts facts;
    const uint8_t *head;
    size_t head_bytes = 0;
    uint64_t generation, stored = 0, now_s = (uint64_t)time(NULL);
    if (value->type == REDIS_REPLY_NIL) {
        entry->build_id[0] = '\0';
        return;
    }
    entry->is_damaged =
        value->type != REDIS_REPLY_STRING ||
        sbx_redis_head_open((const uint8_t *)value->str, (size_t)value->len, &generation, &head, &head_bytes) != 0 ||
        sbx_symbol_image_head_facts(head, head_bytes, &facts, &stored) != 0;
    entry->file_bytes = (uint64_t)value->len * (value->type == REDIS_REPLY_STRING) + stored;
    if (!entry->is_damaged) {
        entry->facts = facts;
        uint64_t stays_s = ttl->type == REDIS_REPLY_INTEGER && ttl->integer >= 0 ? (uint64_t)ttl->integer : keep_s;
        entry->used_s = stays_s < keep_s && keep_s - stays_s < now_s ? now_s - (keep_s - stays_s) : now_s;
    }
}

/* Read the heads of `count` entries. */
static int read_page(const struct redis_store *store, struct sbx_store_entry *entries, size_t count)
{
    struct sbx_redis_command commands[2 * LIST_PAGE] = {{.key = 0}};
    char names[LIST_PAGE][SBX_REDIS_KEY_BYTES];
    for (size_t i = 0; i < count; i++) {
        struct sbx_redis_image_keys keys;
        snprintf(keys.tenant, sizeof keys.tenant, "%s", store->tenant);
        snprintf(keys.hex, sizeof keys.hex, "%s", entries[i].build_id);
        size_t bytes = sbx_redis_head_key(&keys, names[i]);
        for (int half = 0; half < 2; half++) {
            struct sbx_redis_command *command = &commands[2 * i + (size_t)half];
            command->key = 1;
            sbx_redis_command_add(command, half == 0 ? "GET" : "TTL", 3);
            sbx_redis_command_add(command, names[i], bytes);
        }
    }
    char why[SBX_REDIS_WHY_BYTES];
    int result = sbx_redis_link_run(store->place->link, commands, 2 * count, SBX_REDIS_READ, why);
    result = result == -EREMOTEIO ? 0 : result; /* a key of another type counts as a damaged image, not as a failure */
    if (result != 0) {
        sbx_redis_place_tell_failure(store->place, result, why);
    }
    for (size_t i = 0; i < count && result == 0; i++) {
        if (commands[2 * i].reply == NULL || commands[2 * i + 1].reply == NULL) {
            result = -EPROTO;
        } else {
            fill(&entries[i], commands[2 * i].reply, commands[2 * i + 1].reply, store->place->keep_s);
        }
    }
    sbx_redis_commands_finish(commands, 2 * count);
    return result;
}

static int redis_list(struct sbx_symbol_store *store, struct sbx_store_entry **entries_out, size_t *count_out)
{
    const struct redis_store *self = own(store);
    struct sbx_store_entries list = {0};
    char why[SBX_REDIS_WHY_BYTES];
    size_t masters = sbx_redis_link_masters(self->place->link, why), kept = 0;
    int result = masters == 0 ? -EHOSTUNREACH : 0;
    if (masters == 0) {
        sbx_redis_place_tell_failure(self->place, result, why);
    }
    for (size_t master = 0; master < masters && result == 0; master++) {
        char cursor[32] = "0";
        do {
            result = scan_page(self, master, cursor, &list);
        } while (result == 0 && strcmp(cursor, "0") != 0);
    }
    drop_twins(&list);
    for (size_t at = 0; at < list.count && result == 0; at += LIST_PAGE) {
        result = read_page(self, list.entries + at, list.count - at < LIST_PAGE ? list.count - at : LIST_PAGE);
    }
    if (result != 0) {
        free(list.entries);
        return result;
    }
    for (size_t i = 0; i < list.count; i++) {
        if (list.entries[i].build_id[0] != '\0') {
            list.entries[kept++] = list.entries[i];
        }
    }
    *entries_out = list.entries;
    *count_out = kept;
    return 0;
}

/* Nothing to do: unused images expire. */
static int redis_sweep(struct sbx_symbol_store *store, uint64_t now_s)
{
    (void)store;
    (void)now_s;
    return 0;
}

static enum sbx_store_trouble redis_trouble(struct sbx_symbol_store *store, char *words_out, size_t bytes)
{
    struct sbx_redis_place *place = own(store)->place;
    pthread_mutex_lock(&place->mutex);
    enum sbx_store_trouble trouble = place->trouble;
    snprintf(words_out, bytes, "%s", place->words);
    place->words[0] = '\0';
    place->trouble = SBX_STORE_IS_WELL;
    pthread_mutex_unlock(&place->mutex);
    return trouble;
}

static int redis_connect_once(struct sbx_symbol_store *store)
{
    return sbx_redis_link_connect_once(own(store)->place->link);
}

static void redis_close(struct sbx_symbol_store *store)
{
    sbx_redis_place_release(own(store)->place);
    free(store);
}

static int redis_of_tenant(const struct sbx_symbol_store *store, const char *tenant, bool may_create,
                           struct sbx_symbol_store **store_out)
{
    (void)may_create;
    if (!sbx_store_is_tenant(tenant)) {
        return -EINVAL;
    }
    struct redis_store *other = calloc(1, sizeof *other);
    if (other == NULL) {
        return -ENOMEM;
    }
    snprintf(other->tenant, sizeof other->tenant, "%s", tenant);
    other->base.backend = store->backend;
    other->place = sbx_redis_place_share(own(store)->place);
    *store_out = &other->base;
    return 0;
}

static const struct sbx_store_backend redis_backend = {.find = redis_find,
                                                       .begin = redis_begin,
                                                       .commit = redis_commit,
                                                       .abandon = redis_abandon,
                                                       .remove = redis_remove,
                                                       .list = redis_list,
                                                       .sweep = redis_sweep,
                                                       .trouble = redis_trouble,
                                                       .connect_once = redis_connect_once,
                                                       .of_tenant = redis_of_tenant,
                                                       .close = redis_close};

int sbx_redis_store_open(const struct sbx_redis_url *url, const char *name, const char *tenant,
                         struct sbx_symbol_store **store_out)
{
    if (!sbx_store_is_tenant(tenant)) {
        return -EINVAL;
    }
    struct redis_store *store = calloc(1, sizeof *store);
    struct sbx_redis_place *place = calloc(1, sizeof *place);
    struct sbx_redis_link *link = sbx_redis_link_create(url);
    if (store == NULL || place == NULL || link == NULL) {
        sbx_redis_link_destroy(link);
        free(place);
        free(store);
        return -ENOMEM;
    }
    pthread_mutex_init(&place->mutex, NULL);
    place->users = 1;
    place->link = link;
    place->keep_s = url->ttl_days == 0 ? SBX_STORE_KEEP_S : (uint64_t)url->ttl_days * 86400;
    snprintf(place->name, sizeof place->name, "%s", name);
    snprintf(store->tenant, sizeof store->tenant, "%s", tenant);
    store->base.backend = &redis_backend;
    store->place = place;
    *store_out = &store->base;
    return 0;
}
