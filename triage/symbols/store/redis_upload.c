/* SPDX-License-Identifier: Apache-2.0 */
/* redis_upload.c - writes an image into Redis: chunks first, head last. */
#include "redis_upload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WRITE_CHUNKS = 256,    /* chunks in one batch ... */
    WRITE_BYTES = 4 << 20, /* ... if they have no more bytes than this */
    TRIES_MAX = 16         /* number of attempts; an attempt fails if another writer of the same build-id was faster */
};
static const char replaced_keep_s[] = "3600"; /* for current readers */

/* Set the head to ARGV[2] for ARGV[3] seconds, or remove it if ARGV[2] is empty. Only done if the first bytes of the
 * present value are ARGV[1]; "": there must be no value. */
static const char exchange_script[] =
    "if redis.call('EXISTS', KEYS[1]) == 1 then "
    "  if redis.call('TYPE', KEYS[1]).ok == 'string' then "
    "    if redis.call('GETRANGE', KEYS[1], 0, 15) ~= ARGV[1] then return 0 end "
    "  elseif ARGV[1] ~= '!' then return 0 end "
    "elseif ARGV[1] ~= '' then return 0 end "
    "if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) end "
    "return 1";

/* Write the `count` chunks from `first` on. */
static int put_chunks(const struct sbx_redis_upload *upload, uint32_t first, size_t count,
                      struct sbx_redis_command *commands, char (*names)[SBX_REDIS_KEY_BYTES], uint8_t *bytes)
{
    char seconds[24];
    int result = 0;
    snprintf(seconds, sizeof seconds, "%" PRIu64, upload->place->keep_s + 86400);
    memset(commands, 0, WRITE_CHUNKS * sizeof *commands);
    for (size_t i = 0; i < count && result == 0; i++) {
        uint64_t number;
        size_t chunk_bytes = sbx_symbol_image_chunk_bytes(upload->image, first + (uint32_t)i, &number);
        result = sbx_symbol_image_read_chunk(upload->image, first + (uint32_t)i, bytes);
        commands[i].key = 1;
        sbx_redis_command_add(&commands[i], "SET", 3);
        sbx_redis_command_add(&commands[i], names[i],
                              sbx_redis_chunk_key(upload->keys, upload->generation, number, names[i]));
        sbx_redis_command_add(&commands[i], bytes, chunk_bytes);
        sbx_redis_command_add(&commands[i], "EX", 2);
        sbx_redis_command_add(&commands[i], seconds, strlen(seconds));
        bytes += chunk_bytes;
    }
    result = result != 0 ? result : sbx_redis_place_run(upload->place, commands, count, SBX_REDIS_WRITE);
    sbx_redis_commands_finish(commands, count);
    return result;
}

/* Check the `count` chunks from `first` on: *all_there_out becomes false if one is missing or has another length. A
 * node that accepted them may have died since. */
static int check_chunks(const struct sbx_redis_upload *upload, uint32_t first, size_t count,
                        struct sbx_redis_command *commands, char (*names)[SBX_REDIS_KEY_BYTES], bool *all_there_out)
{
    memset(commands, 0, WRITE_CHUNKS * sizeof *commands);
    for (size_t i = 0; i < count; i++) {
        uint64_t number;
        (void)sbx_symbol_image_chunk_bytes(upload->image, first + (uint32_t)i, &number);
        commands[i].key = 1;
        sbx_redis_command_add(&commands[i], "STRLEN", 6);
        sbx_redis_command_add(&commands[i], names[i],
                              sbx_redis_chunk_key(upload->keys, upload->generation, number, names[i]));
    }
    int result = sbx_redis_place_run(upload->place, commands, count, SBX_REDIS_WRITE);
    for (size_t i = 0; i < count && result == 0; i++) {
        uint64_t number;
        size_t bytes = sbx_symbol_image_chunk_bytes(upload->image, first + (uint32_t)i, &number);
        *all_there_out = *all_there_out && commands[i].reply->type == REDIS_REPLY_INTEGER &&
                         commands[i].reply->integer == (long long)bytes;
    }
    sbx_redis_commands_finish(commands, count);
    return result;
}

/* How many chunks from `first` on go into one batch, and their bytes. */
static size_t batch_from(const struct sbx_symbol_image *image, uint64_t first, size_t *bytes_out)
{
    uint64_t chunk_count = sbx_symbol_image_facts(image)->chunk_count, number;
    size_t count = 0;
    *bytes_out = 0;
    while (count < WRITE_CHUNKS && first + count < chunk_count) {
        size_t bytes = sbx_symbol_image_chunk_bytes(image, (uint32_t)(first + count), &number);
        if (count > 0 && *bytes_out + bytes > WRITE_BYTES) {
            break;
        }
        *bytes_out += bytes;
        count++;
    }
    return count;
}

/* Write all chunks, and check that all exist; at most four times. */
static int upload_chunks(struct sbx_redis_upload *upload)
{
    uint64_t chunk_count = sbx_symbol_image_facts(upload->image)->chunk_count;
    struct sbx_redis_command *commands = calloc(WRITE_CHUNKS, sizeof *commands);
    char(*names)[SBX_REDIS_KEY_BYTES] = calloc(WRITE_CHUNKS, sizeof *names);
    int result = commands == NULL || names == NULL ? -ENOMEM : 0;
    bool all_there = false;
    upload->is_begun = true;
    for (int tries = 0; tries < 4 && result == 0 && !all_there; tries++) {
        for (uint64_t at = 0; at < chunk_count && result == 0;) {
            size_t bytes, count = batch_from(upload->image, at, &bytes);
            uint8_t *room = malloc(bytes + 1);
            result = room == NULL ? -ENOMEM : put_chunks(upload, (uint32_t)at, count, commands, names, room);
            free(room);
            at += count;
        }
        sbx_redis_link_settle(upload->place->link);
        all_there = true;
        for (uint64_t at = 0; at < chunk_count && result == 0;) {
            size_t bytes, count = batch_from(upload->image, at, &bytes);
            result = check_chunks(upload, (uint32_t)at, count, commands, names, &all_there);
            at += count;
        }
    }
    free(names);
    free(commands);
    if (result == 0 && !all_there) {
        sbx_redis_place_tell(upload->place, SBX_STORE_IS_DAMAGED,
                             "what was written does not stay there (is its memory full?)");
        result = -EIO;
    }
    upload->is_there = result == 0;
    return result;
}

int sbx_redis_read_mark(struct sbx_redis_place *place, const struct sbx_redis_image_keys *keys,
                        char mark_out[SBX_REDIS_MARK_BYTES], size_t *bytes_out)
{
    char key[SBX_REDIS_KEY_BYTES], why[SBX_REDIS_WHY_BYTES];
    struct sbx_redis_command command = {.key = 1};
    sbx_redis_command_add(&command, "GETRANGE", 8);
    sbx_redis_command_add(&command, key, sbx_redis_head_key(keys, key));
    sbx_redis_command_add(&command, "0", 1);
    sbx_redis_command_add(&command, "15", 2);
    int result = sbx_redis_link_run(place->link, &command, 1, SBX_REDIS_WRITE, why);
    *bytes_out = 0;
    if (result == 0 && command.reply->type == REDIS_REPLY_STRING &&
        (size_t)command.reply->len <= SBX_REDIS_MARK_BYTES) {
        *bytes_out = (size_t)command.reply->len;
        memcpy(mark_out, command.reply->str, *bytes_out);
    } else if (result == -EREMOTEIO && command.reply != NULL && strncmp(command.reply->str, "WRONGTYPE", 9) == 0) {
        mark_out[0] = '!';
        *bytes_out = 1;
        result = 0;
    } else {
        result = result == 0 ? -EPROTO : result;
        sbx_redis_place_tell(place, SBX_STORE_IS_AWAY,
                             why[0] == '\0' ? "it answers something else than what it was asked" : why);
    }
    sbx_redis_commands_finish(&command, 1);
    return result;
}

int sbx_redis_exchange_head(struct sbx_redis_place *place, const struct sbx_redis_image_keys *keys, const char *mark,
                            size_t mark_bytes, const uint8_t *value, size_t bytes)
{
    char key[SBX_REDIS_KEY_BYTES], seconds[24];
    struct sbx_redis_command command = {.key = 3};
    snprintf(seconds, sizeof seconds, "%" PRIu64, place->keep_s);
    sbx_redis_command_add(&command, "EVAL", 4);
    sbx_redis_command_add(&command, exchange_script, sizeof exchange_script - 1);
    sbx_redis_command_add(&command, "1", 1);
    sbx_redis_command_add(&command, key, sbx_redis_head_key(keys, key));
    sbx_redis_command_add(&command, mark, mark_bytes);
    sbx_redis_command_add(&command, value == NULL ? (const uint8_t *)"" : value, bytes);
    sbx_redis_command_add(&command, seconds, strlen(seconds));
    int result = sbx_redis_place_run(place, &command, 1, SBX_REDIS_WRITE);
    if (result == 0) {
        result = command.reply->type == REDIS_REPLY_INTEGER && command.reply->integer == 1;
    }
    sbx_redis_commands_finish(&command, 1);
    return result;
}

/* Decide what happens to the draft, by the present image. *old_out: the present image, for its chunks (0: not
 * known). */
static int decide(const struct sbx_redis_upload *upload, enum sbx_store_outcome *outcome,
                  enum sbx_symbol_source *before, struct sbx_symbol_image **old_out)
{
    struct sbx_symbol_image *there = NULL;
    *old_out = NULL;
    int result = sbx_redis_image_open(upload->place, upload->keys, 0, false, &there);
    if (result == -ENOENT) {
        *outcome = SBX_STORE_ADDED;
        return 0;
    }
    if (result == 0) {
        *old_out = there;
        result = sbx_symbol_image_verify(there);
    }
    if (result == -EBADMSG || result == -EPROTONOSUPPORT) {
        *outcome = SBX_STORE_REPLACED;
        return 0;
    }
    if (result == 0) {
        const struct sbx_image_facts *facts = sbx_symbol_image_facts(there);
        *before = facts->best;
        *outcome = sbx_store_compare(facts, sbx_symbol_image_facts(upload->image));
    }
    return result;
}

/* One attempt. Returns 1 if the outcome is decided and done, 0 if another writer was faster, or -errno. */
static int try_commit(struct sbx_redis_upload *upload, enum sbx_store_outcome *outcome, enum sbx_symbol_source *before)
{
    char mark[SBX_REDIS_MARK_BYTES];
    size_t mark_bytes;
    struct sbx_symbol_image *old = NULL;
    int result = sbx_redis_read_mark(upload->place, upload->keys, mark, &mark_bytes);
    if (result == 0 && mark_bytes == SBX_REDIS_MARK_BYTES && memcmp(mark, upload->head, mark_bytes) == 0) {
        return 1; /* it is our head: the reply to the exchange was lost */
    }
    *before = SBX_SYMBOLS_NONE;
    result = result != 0 ? result : decide(upload, outcome, before, &old);
    bool is_wanted = result == 0 && (*outcome == SBX_STORE_ADDED || *outcome == SBX_STORE_REPLACED);
    if (is_wanted && !upload->is_there) {
        result = upload_chunks(upload);
    }
    if (result == 0) {
        result = is_wanted ? sbx_redis_exchange_head(upload->place, upload->keys, mark, mark_bytes, upload->head,
                                                     upload->head_bytes)
                           : 1;
    }
    upload->is_offered = upload->is_offered || (is_wanted && upload->is_there && result < 0 && result != -EREMOTEIO);
    if (result == 1 && is_wanted) {
        sbx_redis_link_settle(upload->place->link);
        if (old != NULL) {
            (void)sbx_redis_chunks_each(upload->place, upload->keys, sbx_redis_image_generation(old), old, "EXPIRE",
                                        replaced_keep_s);
        }
    }
    sbx_symbol_image_close(old);
    return result;
}

int sbx_redis_upload_put(struct sbx_redis_upload *upload, enum sbx_store_outcome *outcome,
                         enum sbx_symbol_source *before)
{
    enum sbx_store_outcome wanted = SBX_STORE_ADDED;
    int result = 0;
    for (int tries = 0; tries < TRIES_MAX && result == 0; tries++) {
        result = try_commit(upload, &wanted, before);
    }
    bool is_put = result == 1 && (wanted == SBX_STORE_ADDED || wanted == SBX_STORE_REPLACED);
    bool is_known =
        result >= 0 || !upload->is_offered; /* else our head, which refers to these chunks, may still arrive */
    if (upload->is_begun && !is_put && is_known) {
        (void)sbx_redis_chunks_each(upload->place, upload->keys, upload->generation, upload->image, "UNLINK", NULL);
    }
    *outcome = wanted;
    return result == 0 ? -EBUSY : result == 1 ? 0 : result;
}
