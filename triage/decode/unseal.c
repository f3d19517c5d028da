/* SPDX-License-Identifier: Apache-2.0 */
/* unseal.c - header, key, AEAD, length, and the header of the plain envelope. */
#include "unseal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mbedtls/sha256.h>

#include "stall_crc32c.h"
#include "stall_envelope.h"

enum {
    SUITE_AT = 5,
    KEY_AT = 8,
    ID_AT = 16,
    BODY_BYTES_AT = 32,
    CRC_AT = 36
};

static uint32_t read_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void write_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

bool sbx_sealed_is(const void *envelope, size_t bytes)
{
    const uint8_t *header = envelope;
    return bytes >= SBX_ENVELOPE_HEADER_BYTES && memcmp(header, SBX_ENVELOPE_MAGIC, 4) == 0 &&
           header[SUITE_AT] == SBX_ENVELOPE_SUITE_SEALED;
}

int sbx_sealed_look(const void *envelope, size_t bytes, struct sbx_sealed *sealed_out, char *why, size_t why_bytes)
{
    const uint8_t *header = envelope;
    int result = sbx_stall_envelope_check(header, bytes, SBX_ENVELOPE_SUITE_SEALED, why, why_bytes);
    if (result != 0) {
        return result;
    }
    if (bytes - SBX_ENVELOPE_HEADER_BYTES <= SBX_SEAL_OVERHEAD_BYTES) {
        snprintf(why, why_bytes, "too short for anything sealed");
        return -EPROTO;
    }
    memcpy(sealed_out->id, header + ID_AT, SBX_PAYLOAD_ID_BYTES);
    memcpy(sealed_out->key_id, header + KEY_AT, SBX_SEAL_KEY_ID_BYTES);
    return 0;
}

/* Open the body into `opened`, which is SBX_SEAL_OVERHEAD_BYTES - SBX_SEAL_LENGTH_BYTES shorter than the body. */
static int open_body(const struct sbx_unseal_key *key, const uint8_t *header, size_t body_bytes, uint8_t *opened)
{
    static const char info[] = SBX_SEAL_INFO; /* with its NUL */
    const uint8_t *enc = header + SBX_ENVELOPE_HEADER_BYTES;
    struct sbx_hpke_open context;
    int result = sbx_hpke_open_derive(key, enc, info, sizeof info, &context);
    if (result == 0) {
        result = sbx_hpke_open_message(&context, header, SBX_SEAL_AAD_BYTES, enc + SBX_SEAL_KEY_BYTES,
                                       body_bytes - SBX_SEAL_KEY_BYTES, opened);
    }
    explicit_bzero(&context, sizeof context);
    return result;
}

/* Check the length before the frame, and the zeroes after it. Returns the frame's length, or -1. */
static int64_t frame_length(const uint8_t *opened, size_t bytes)
{
    uint32_t length = read_u32(opened);
    if (length > bytes - SBX_SEAL_LENGTH_BYTES) {
        return -1;
    }
    for (size_t i = SBX_SEAL_LENGTH_BYTES + length; i < bytes; i++) {
        if (opened[i] != 0) {
            return -1; /* room for bytes that are not checked */
        }
    }
    return length;
}

int sbx_sealed_open(const struct sbx_unseal_keys *keys, const void *envelope, size_t bytes, uint8_t **plain_out,
                    size_t *plain_bytes_out, char *why, size_t why_bytes)
{
    const uint8_t *header = envelope;
    const struct sbx_unseal_key *key = NULL;
    struct sbx_sealed sealed;
    int result = sbx_sealed_look(envelope, bytes, &sealed, why, why_bytes);
    if (result != 0) {
        return result;
    }
    for (uint32_t i = 0; i < keys->count; i++) {
        if (memcmp(keys->keys[i].id, sealed.key_id, sizeof sealed.key_id) == 0) {
            key = &keys->keys[i];
        }
    }
    if (key == NULL) {
        uint64_t number = 0; /* printed in the order of the bytes */
        for (size_t i = 0; i < sizeof sealed.key_id; i++) {
            number = number << 8 | sealed.key_id[i];
        }
        snprintf(why, why_bytes, "sealed to key %016llx, which is not here", (unsigned long long)number);
        return -ENOKEY;
    }
    size_t body_bytes = bytes - SBX_ENVELOPE_HEADER_BYTES;
    size_t opened_bytes = body_bytes - SBX_SEAL_KEY_BYTES - SBX_SEAL_TAG_BYTES;
    uint8_t *plain = malloc(SBX_ENVELOPE_HEADER_BYTES + opened_bytes);
    if (plain == NULL) {
        return -ENOMEM;
    }
    /* Opened at such an address that the frame after the length is where the plain envelope has it. */
    uint8_t *opened = plain + SBX_ENVELOPE_HEADER_BYTES - SBX_SEAL_LENGTH_BYTES;
    result = open_body(key, header, body_bytes, opened);
    int64_t length = result == 0 ? frame_length(opened, opened_bytes) : -1;
    if (result == -ENOMEM) {
        snprintf(why, why_bytes, "out of memory");
    } else if (length < 0) { /* one answer for all errors: an attacker learns nothing by trying */
        snprintf(why, why_bytes, "does not open: damaged, or not sealed to this key");
        result = -EPROTO;
    }
    if (result != 0) {
        free(plain);
        return result;
    }
    memset(plain, 0, SBX_ENVELOPE_HEADER_BYTES);
    memcpy(plain, SBX_ENVELOPE_MAGIC, 4);
    plain[4] = SBX_ENVELOPE_VERSION;
    memcpy(plain + ID_AT, sealed.id, SBX_PAYLOAD_ID_BYTES);
    write_u32(plain + BODY_BYTES_AT, (uint32_t)length);
    uint32_t crc = sbx_stall_crc32c(0, plain, CRC_AT);
    write_u32(plain + CRC_AT, sbx_stall_crc32c(crc, plain + SBX_ENVELOPE_HEADER_BYTES, (size_t)length));
    *plain_out = plain;
    *plain_bytes_out = SBX_ENVELOPE_HEADER_BYTES + (size_t)length;
    return 0;
}

int sbx_sealed_digest(const void *envelope, size_t bytes, uint8_t digest_out[SBX_SEALED_DIGEST_BYTES])
{
    return mbedtls_sha256_ret(envelope, bytes, digest_out, 0) == 0 ? 0 : -EIO;
}

int sbx_rotating_id_of_proof(const uint8_t proof[SBX_ERASURE_PROOF_BYTES], uint8_t id_out[SBX_ROTATING_ID_BYTES])
{
    uint8_t text[sizeof SBX_ROTATING_LABEL + SBX_ERASURE_PROOF_BYTES] = SBX_ROTATING_LABEL, digest[32];
    memcpy(text + sizeof SBX_ROTATING_LABEL, proof, SBX_ERASURE_PROOF_BYTES);
    if (mbedtls_sha256_ret(text, sizeof text, digest, 0) != 0) {
        return -EIO;
    }
    memcpy(id_out, digest, SBX_ROTATING_ID_BYTES);
    return 0;
}

void sbx_unseal_keys_wipe(struct sbx_unseal_keys *keys)
{
    explicit_bzero(keys, sizeof *keys);
}
