/* SPDX-License-Identifier: Apache-2.0 */
/* hpke_receiver.c - RFC 9180, sections 4.1, 5.1 and 5.2, with mbedTLS 2.28's X25519, HKDF and ChaCha20-Poly1305.
 *
 * `enc` comes from a stranger: it is checked before it is used in a computation, and the result is checked, too. */
#include "hpke_receiver.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

#include <mbedtls/chachapoly.h>
#include <mbedtls/ecp.h>
#include <mbedtls/hkdf.h>
#include <mbedtls/md.h>
#include <mbedtls/sha256.h>

enum {
    HASH_BYTES = 32,
    INFO_BYTES_MAX = 128, /* ours has 17 bytes */
    TEXT_BYTES_MAX = 256, /* of one labeled input */
};

/* The prefix of every derivation's input: the protocol, and the suite within it. */
struct suite {
    uint8_t id[10];
    size_t bytes;
};
static const struct suite kem = {{'K', 'E', 'M', 0x00, 0x20}, 5};
static const struct suite hpke = {{'H', 'P', 'K', 'E', 0x00, 0x20, 0x00, 0x01, 0x00, 0x03}, 10};

/* Blinds the multiplication against timing attacks. */
static int blinding_bytes(void *context, unsigned char *bytes, size_t count)
{
    (void)context;
    for (size_t done = 0; done < count;) {
        ssize_t got = getrandom(bytes + done, count - done, 0);
        if (got <= 0 && errno != EINTR) {
            return MBEDTLS_ERR_ECP_RANDOM_FAILED;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

/* X25519 (RFC 7748): secret * point, or secret * base point when `point_bytes` is NULL. */
static int x25519(const uint8_t secret[SBX_SEAL_KEY_BYTES], const uint8_t *point_bytes, uint8_t out[SBX_SEAL_KEY_BYTES])
{
    mbedtls_ecp_keypair pair;
    mbedtls_ecp_point point, product;
    size_t written = 0;
    uint8_t any = 0;
    mbedtls_ecp_keypair_init(&pair);
    mbedtls_ecp_point_init(&point);
    mbedtls_ecp_point_init(&product);
    int error = mbedtls_ecp_read_key(MBEDTLS_ECP_DP_CURVE25519, &pair, secret, SBX_SEAL_KEY_BYTES); /* clamps */
    if (error == 0 && point_bytes != NULL) {
        error = mbedtls_ecp_point_read_binary(&pair.grp, &point, point_bytes, SBX_SEAL_KEY_BYTES);
        if (error == 0) {
            error = mbedtls_ecp_check_pubkey(&pair.grp, &point); /* refuses points of low order */
        }
    }
    if (error == 0) {
        error = mbedtls_ecp_mul(&pair.grp, &product, &pair.d, point_bytes != NULL ? &point : &pair.grp.G,
                                blinding_bytes, NULL);
    }
    if (error == 0) {
        error = mbedtls_ecp_point_write_binary(&pair.grp, &product, MBEDTLS_ECP_PF_UNCOMPRESSED, &written, out,
                                               SBX_SEAL_KEY_BYTES);
    }
    mbedtls_ecp_point_free(&product);
    mbedtls_ecp_point_free(&point);
    mbedtls_ecp_keypair_free(&pair); /* which wipes the secret */
    for (size_t i = 0; i < SBX_SEAL_KEY_BYTES && error == 0; i++) {
        any |= out[i];
    }
    bool is_about_key = error == MBEDTLS_ERR_ECP_INVALID_KEY || error == MBEDTLS_ERR_ECP_BAD_INPUT_DATA;
    return error != 0 ? (is_about_key ? -EINVAL : -ENOMEM) : written == SBX_SEAL_KEY_BYTES && any != 0 ? 0 : -EINVAL;
}

int sbx_unseal_key_init(const uint8_t secret[SBX_SEAL_KEY_BYTES], struct sbx_unseal_key *key_out)
{
    uint8_t digest[HASH_BYTES];
    memcpy(key_out->secret, secret, SBX_SEAL_KEY_BYTES);
    int result = x25519(secret, NULL, key_out->key);
    if (result == 0 && mbedtls_sha256_ret(key_out->key, SBX_SEAL_KEY_BYTES, digest, 0) != 0) {
        result = -ENOMEM;
    }
    if (result != 0) {
        explicit_bzero(key_out, sizeof *key_out);
        return -ENOMEM;
    }
    memcpy(key_out->id, digest, SBX_SEAL_KEY_ID_BYTES);
    return 0;
}

/* Append to an input. There is always room, because all lengths here are known. */
static uint8_t *append(uint8_t *at, const void *bytes, size_t count)
{
    if (count != 0) {
        memcpy(at, bytes, count);
    }
    return at + count;
}

/* LabeledExtract() of section 4; `salt` NULL: none. */
static int labeled_extract(const struct suite *suite, const uint8_t *salt, const char *label, const void *material,
                           size_t material_bytes, uint8_t out[HASH_BYTES])
{
    uint8_t text[TEXT_BYTES_MAX], *end = append(text, "HPKE-v1", 7);
    end = append(end, suite->id, suite->bytes);
    end = append(end, label, strlen(label));
    end = append(end, material, material_bytes);
    int error = mbedtls_hkdf_extract(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), salt, salt != NULL ? HASH_BYTES : 0,
                                     text, (size_t)(end - text), out);
    explicit_bzero(text, sizeof text);
    return error == 0 ? 0 : -ENOMEM;
}

/* LabeledExpand() of section 4. */
static int labeled_expand(const struct suite *suite, const uint8_t key[HASH_BYTES], const char *label,
                          const void *context, size_t context_bytes, uint8_t *out, uint8_t out_bytes)
{
    uint8_t text[TEXT_BYTES_MAX] = {0, out_bytes}, *end = append(text + 2, "HPKE-v1", 7);
    end = append(end, suite->id, suite->bytes);
    end = append(end, label, strlen(label));
    end = append(end, context, context_bytes);
    int error = mbedtls_hkdf_expand(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), key, HASH_BYTES, text,
                                    (size_t)(end - text), out, out_bytes);
    return error == 0 ? 0 : -ENOMEM;
}

/* Decap() of DHKEM, section 4.1. */
static int decapsulate(const struct sbx_unseal_key *key, const uint8_t enc[SBX_SEAL_KEY_BYTES],
                       uint8_t shared_out[HASH_BYTES])
{
    uint8_t exchange[HASH_BYTES], prk[HASH_BYTES], context[2 * SBX_SEAL_KEY_BYTES];
    append(append(context, enc, SBX_SEAL_KEY_BYTES), key->key, SBX_SEAL_KEY_BYTES);
    int result = x25519(key->secret, enc, exchange);
    if (result == 0) {
        result = labeled_extract(&kem, NULL, "eae_prk", exchange, sizeof exchange, prk);
    }
    if (result == 0) {
        result = labeled_expand(&kem, prk, "shared_secret", context, sizeof context, shared_out, HASH_BYTES);
    }
    explicit_bzero(exchange, sizeof exchange);
    explicit_bzero(prk, sizeof prk);
    return result;
}

int sbx_hpke_open_derive(const struct sbx_unseal_key *key, const uint8_t enc[SBX_SEAL_KEY_BYTES], const void *info,
                         size_t info_bytes, struct sbx_hpke_open *open_out)
{
    uint8_t shared[HASH_BYTES], secret[HASH_BYTES];
    uint8_t schedule[1 + 2 * HASH_BYTES] = {0}; /* base mode, hash of an empty pre-shared key id, hash of info */
    int result = info_bytes > INFO_BYTES_MAX ? -EINVAL : decapsulate(key, enc, shared);
    if (result == 0) {
        result = labeled_extract(&hpke, NULL, "psk_id_hash", NULL, 0, schedule + 1);
    }
    if (result == 0) {
        result = labeled_extract(&hpke, NULL, "info_hash", info, info_bytes, schedule + 1 + HASH_BYTES);
    }
    if (result == 0) {
        result = labeled_extract(&hpke, shared, "secret", NULL, 0, secret);
    }
    if (result == 0) {
        result = labeled_expand(&hpke, secret, "key", schedule, sizeof schedule, open_out->key, sizeof open_out->key);
    }
    if (result == 0) {
        result = labeled_expand(&hpke, secret, "base_nonce", schedule, sizeof schedule, open_out->nonce,
                                sizeof open_out->nonce);
    }
    explicit_bzero(shared, sizeof shared);
    explicit_bzero(secret, sizeof secret);
    if (result != 0) {
        explicit_bzero(open_out, sizeof *open_out);
    }
    return result;
}

int sbx_hpke_open_message(const struct sbx_hpke_open *open, const void *aad, size_t aad_bytes, const uint8_t *sealed,
                          size_t bytes, uint8_t *out)
{
    mbedtls_chachapoly_context context;
    if (bytes < SBX_SEAL_TAG_BYTES) {
        return -EBADMSG;
    }
    size_t plain_bytes = bytes - SBX_SEAL_TAG_BYTES;
    mbedtls_chachapoly_init(&context);
    int error = mbedtls_chachapoly_setkey(&context, open->key);
    if (error == 0) {
        error = mbedtls_chachapoly_auth_decrypt(&context, plain_bytes, open->nonce, aad, aad_bytes,
                                                sealed + plain_bytes, sealed, out);
    }
    mbedtls_chachapoly_free(&context);
    if (error != 0 && plain_bytes != 0) {
        memset(out, 0, plain_bytes);
    }
    return error == 0 ? 0 : error == MBEDTLS_ERR_CHACHAPOLY_AUTH_FAILED ? -EBADMSG : -ENOMEM;
}
