/* SPDX-License-Identifier: Apache-2.0 */
/* sealer.c - chooses the key and seals envelopes. */
#include "sealer.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "envelope.h"
#include "hpke_sender.h"

struct sbx_sealer {
    pthread_mutex_t lock;                        /* protects all fields below */
    struct sbx_seal_key keys[SBX_SEAL_KEYS_MAX]; /* of the KEYSET */
    uint32_t key_count;
    bool is_awaiting; /* a KEYSET is to be followed and was not read yet */
    bool is_held;     /* `held` was given by a person */
    struct sbx_seal_key held;
    uint64_t earliest_s; /* the time is never taken as earlier than this */
    struct sbx_sealer_counts counts;
};

struct sbx_sealer *sbx_sealer_create(void)
{
    struct sbx_sealer *sealer = calloc(1, sizeof *sealer);
    if (sealer != NULL) {
        pthread_mutex_init(&sealer->lock, NULL);
    }
    return sealer;
}

void sbx_sealer_destroy(struct sbx_sealer *sealer)
{
    if (sealer == NULL) {
        return;
    }
    pthread_mutex_destroy(&sealer->lock);
    free(sealer);
}

int sbx_seal_key_choose(const struct sbx_seal_key *keys, uint32_t count, uint64_t now_s)
{
    int chosen = -1;
    for (uint32_t i = 0; i < count; i++) {
        if (keys[i].not_before_s <= now_s && now_s < keys[i].not_after_s &&
            (chosen < 0 || keys[i].not_before_s > keys[chosen].not_before_s)) {
            chosen = (int)i;
        }
    }
    return chosen;
}

/* Returns the key to use now, or NULL. The lock is held. */
static const uint8_t *key_now(const struct sbx_sealer *sealer)
{
    if (sealer->is_held) {
        return sealer->held.key;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t now_s = now.tv_sec > 0 ? (uint64_t)now.tv_sec : 0;
    int chosen =
        sbx_seal_key_choose(sealer->keys, sealer->key_count, now_s > sealer->earliest_s ? now_s : sealer->earliest_s);
    return chosen < 0 ? NULL : sealer->keys[chosen].key;
}

static int derive(const uint8_t key[SBX_SEAL_KEY_BYTES], const void *message, size_t bytes,
                  struct sbx_hpke_seal *seal_out)
{
    static const char info[] = SBX_SEAL_INFO; /* including its NUL */
    return sbx_hpke_seal_derive(key, info, sizeof info, message, bytes, seal_out);
}

int sbx_sealer_hold(struct sbx_sealer *sealer, const uint8_t key[SBX_SEAL_KEY_BYTES])
{
    struct sbx_hpke_seal probe; /* so a key that cannot be used is found now, and not at the first stall */
    int result = derive(key, NULL, 0, &probe);
    explicit_bzero(&probe, sizeof probe);
    if (result != 0) {
        return result;
    }
    pthread_mutex_lock(&sealer->lock);
    sealer->is_held = true;
    memcpy(sealer->held.key, key, SBX_SEAL_KEY_BYTES);
    pthread_mutex_unlock(&sealer->lock);
    return 0;
}

void sbx_sealer_await(struct sbx_sealer *sealer)
{
    pthread_mutex_lock(&sealer->lock);
    sealer->is_awaiting = true;
    pthread_mutex_unlock(&sealer->lock);
}

void sbx_sealer_follow(struct sbx_sealer *sealer, const struct sbx_seal_key *keys, uint32_t count, uint64_t now_s)
{
    pthread_mutex_lock(&sealer->lock);
    sealer->is_awaiting = false;
    sealer->key_count = count <= SBX_SEAL_KEYS_MAX ? count : SBX_SEAL_KEYS_MAX;
    if (sealer->key_count != 0) {
        memcpy(sealer->keys, keys, sealer->key_count * sizeof *keys);
    }
    sealer->earliest_s = now_s;
    pthread_mutex_unlock(&sealer->lock);
}

static bool is_demanded(const struct sbx_sealer *sealer)
{
    return sealer->is_held || sealer->is_awaiting || sealer->key_count != 0;
}

bool sbx_sealer_is_demanded(struct sbx_sealer *sealer)
{
    pthread_mutex_lock(&sealer->lock);
    bool demanded = is_demanded(sealer);
    pthread_mutex_unlock(&sealer->lock);
    return demanded;
}

static int refuse(char *why, size_t why_bytes, int result, const char *reason)
{
    snprintf(why, why_bytes, "%s", reason);
    return result;
}

static int refuse_without_key(struct sbx_sealer *sealer, char *why, size_t why_bytes)
{
    sealer->counts.without_key++;
    return refuse(why, why_bytes, -ENOKEY, "sealing is demanded, but no seal key of the KEYSET holds now: not sent");
}

int sbx_sealer_check(struct sbx_sealer *sealer, char *why, size_t why_bytes)
{
    int result = 0;
    pthread_mutex_lock(&sealer->lock);
    if (key_now(sealer) == NULL) {
        result = refuse_without_key(sealer, why, why_bytes);
    }
    pthread_mutex_unlock(&sealer->lock);
    return result;
}

/* Derives the key material for this envelope only, and the name of the recipient's key. */
static int derive_now(struct sbx_sealer *sealer, const uint8_t *envelope, size_t bytes, struct sbx_hpke_seal *seal_out,
                      uint8_t key_id_out[SBX_SEAL_KEY_ID_BYTES], char *why, size_t why_bytes)
{
    uint8_t key[SBX_SEAL_KEY_BYTES];
    pthread_mutex_lock(&sealer->lock);
    const uint8_t *now = key_now(sealer);
    if (now != NULL) {
        memcpy(key, now, sizeof key);
    }
    int result = now != NULL ? 0 : refuse_without_key(sealer, why, why_bytes);
    pthread_mutex_unlock(&sealer->lock);
    if (result != 0) {
        return result;
    }
    result = sbx_seal_key_id(key, key_id_out);
    if (result == 0) {
        result = derive(key, envelope, bytes, seal_out);
    }
    if (result != 0) {
        refuse(why, why_bytes, result,
               result == -EINVAL ? "the seal key is none that can be sealed to" : strerror(-result));
    }
    return result;
}

size_t sbx_sealed_bytes(size_t frame_bytes)
{
    size_t needed = SBX_ENVELOPE_HEADER_BYTES + SBX_SEAL_OVERHEAD_BYTES + frame_bytes, size = SBX_SEALED_BYTES_MIN;
    while (size < needed) {
        size *= 2;
    }
    return size <= SBX_ENVELOPE_BYTES_MAX ? size : 0;
}

/* Writes length, frame and padding into `plain`, which is zeroed. */
static void lay_out(uint8_t *plain, const struct sbx_envelope *envelope)
{
    for (int i = 0; i < SBX_SEAL_LENGTH_BYTES; i++) {
        plain[i] = (uint8_t)(envelope->body_bytes >> (8 * i));
    }
    memcpy(plain + SBX_SEAL_LENGTH_BYTES, envelope->body, envelope->body_bytes);
}

int sbx_sealer_seal(struct sbx_sealer *sealer, const uint8_t *envelope, size_t bytes, uint8_t **sealed_out,
                    size_t *sealed_bytes_out, char *why, size_t why_bytes)
{
    struct sbx_envelope plain_envelope;
    struct sbx_hpke_seal seal;
    uint8_t key_id[SBX_SEAL_KEY_ID_BYTES];
    int result = sbx_envelope_read(envelope, bytes, &plain_envelope, why, why_bytes);
    if (result == 0 && plain_envelope.is_sealed) {
        result = refuse(why, why_bytes, -EPROTO, "it is sealed already");
    }
    size_t size = result == 0 ? sbx_sealed_bytes(plain_envelope.body_bytes) : 0;
    if (result != 0 || size == 0) {
        return result != 0 ? result : refuse(why, why_bytes, -E2BIG, "too large to be sealed");
    }
    uint8_t *sealed = calloc(1, size);
    if (sealed == NULL) {
        return refuse(why, why_bytes, -ENOMEM, strerror(ENOMEM));
    }
    result = derive_now(sealer, envelope, bytes, &seal, key_id, why, why_bytes);
    if (result != 0) {
        goto free_sealed;
    }
    uint8_t *body = sealed + SBX_ENVELOPE_HEADER_BYTES, *text = body + SBX_SEAL_KEY_BYTES;
    size_t body_bytes = size - SBX_ENVELOPE_HEADER_BYTES;
    size_t text_bytes = body_bytes - SBX_SEAL_KEY_BYTES - SBX_SEAL_TAG_BYTES;
    /* The header comes first, because it is the additional data. Its checksum is not part of this data, and is written
     * last. */
    sbx_envelope_put_header(sealed, plain_envelope.id, key_id, body, body_bytes);
    memcpy(body, seal.enc, SBX_SEAL_KEY_BYTES);
    lay_out(text, &plain_envelope);
    result = sbx_hpke_seal_message(&seal, sealed, SBX_SEAL_AAD_BYTES, text, text_bytes, text);
    if (result != 0) {
        refuse(why, why_bytes, result, "the cipher failed");
        goto free_sealed;
    }
    sbx_envelope_put_header(sealed, plain_envelope.id, key_id, body, body_bytes);
    pthread_mutex_lock(&sealer->lock);
    sealer->counts.sealed++;
    pthread_mutex_unlock(&sealer->lock);
    *sealed_out = sealed;
    *sealed_bytes_out = size;
    return 0;

free_sealed:
    explicit_bzero(sealed, size);
    free(sealed);
    return result;
}

void sbx_sealer_read_counts(struct sbx_sealer *sealer, struct sbx_sealer_counts *counts_out)
{
    pthread_mutex_lock(&sealer->lock);
    *counts_out = sealer->counts;
    pthread_mutex_unlock(&sealer->lock);
}
