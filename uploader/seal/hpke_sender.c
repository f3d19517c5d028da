/* SPDX-License-Identifier: Apache-2.0 */
/* hpke_sender.c - RFC 9180, sections 4.1, 5.1 and 5.2, over mbedTLS 2.28's X25519, HKDF and ChaCha20-Poly1305. */
#include "hpke_sender.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <mbedtls/chachapoly.h>
#include <mbedtls/ecp.h>
#include <mbedtls/hkdf.h>
#include <mbedtls/md.h>
#include <mbedtls/sha256.h>

#include "signature.h"

enum {
    HASH_BYTES = 32,
    INFO_BYTES_MAX = 128, /* ours has 17 bytes */
    LABELED_MAX = 256,    /* "HPKE-v1", suite, label and the longest part after them */
    KEM_SUITE_BYTES = 5,
    HPKE_SUITE_BYTES = 10,
};

/* Sections 4.1 and 5.1: prefixes that separate the derivations of different suites. */
static const uint8_t kem_suite[KEM_SUITE_BYTES] = {'K', 'E', 'M', 0x00, 0x20};
static const uint8_t hpke_suite[HPKE_SUITE_BYTES] = {'H', 'P', 'K', 'E', 0x00, 0x20, 0x00, 0x01, 0x00, 0x03};

/* ---- X25519 (RFC 7748) ---- */

/* Separates errors that concern the key from temporary ones. */
static int result_of(int error)
{
    return error == 0                                                                        ? 0
           : error == MBEDTLS_ERR_ECP_INVALID_KEY || error == MBEDTLS_ERR_ECP_BAD_INPUT_DATA ? -EINVAL
                                                                                             : -ENOMEM;
}

/* Computes secret * point, or secret * base point if `key` is NULL. */
static int multiply(const uint8_t secret[SBX_SEAL_KEY_BYTES], const uint8_t *key, uint8_t out[SBX_SEAL_KEY_BYTES])
{
    mbedtls_ecp_keypair pair; /* for mbedtls_ecp_read_key(), which clamps */
    mbedtls_ecp_point point, product;
    size_t written = 0;
    mbedtls_ecp_keypair_init(&pair);
    mbedtls_ecp_point_init(&point);
    mbedtls_ecp_point_init(&product);
    int error = mbedtls_ecp_read_key(MBEDTLS_ECP_DP_CURVE25519, &pair, secret, SBX_SEAL_KEY_BYTES);
    if (error == 0 && key != NULL) {
        error = mbedtls_ecp_point_read_binary(&pair.grp, &point, key, SBX_SEAL_KEY_BYTES);
        if (error == 0) {
            error = mbedtls_ecp_check_pubkey(&pair.grp, &point); /* refuses points of low order */
        }
    }
    if (error == 0) {
        error =
            mbedtls_ecp_mul(&pair.grp, &product, &pair.d, key != NULL ? &point : &pair.grp.G, sbx_random_bytes, NULL);
    }
    if (error == 0) {
        error = mbedtls_ecp_point_write_binary(&pair.grp, &product, MBEDTLS_ECP_PF_UNCOMPRESSED, &written, out,
                                               SBX_SEAL_KEY_BYTES);
    }
    mbedtls_ecp_point_free(&product);
    mbedtls_ecp_point_free(&point);
    mbedtls_ecp_keypair_free(&pair); /* this wipes the secret */
    return error == 0 && written != SBX_SEAL_KEY_BYTES ? -EINVAL : result_of(error);
}

int sbx_x25519_public(const uint8_t secret[SBX_SEAL_KEY_BYTES], uint8_t key_out[SBX_SEAL_KEY_BYTES])
{
    return multiply(secret, NULL, key_out);
}

int sbx_x25519_shared(const uint8_t secret[SBX_SEAL_KEY_BYTES], const uint8_t key[SBX_SEAL_KEY_BYTES],
                      uint8_t shared_out[32])
{
    int result = multiply(secret, key, shared_out);
    uint8_t any = 0;
    for (size_t i = 0; i < 32 && result == 0; i++) {
        any |= shared_out[i];
    }
    /* RFC 9180, 7.1.4: checked here, too, in case the library lets one pass. */
    return result == 0 && any == 0 ? -EINVAL : result;
}

int sbx_x25519_make(uint8_t secret_out[SBX_SEAL_KEY_BYTES], uint8_t key_out[SBX_SEAL_KEY_BYTES])
{
    if (sbx_random_bytes(NULL, secret_out, SBX_SEAL_KEY_BYTES) != 0) {
        return -EIO;
    }
    return sbx_x25519_public(secret_out, key_out);
}

int sbx_seal_key_id(const uint8_t key[SBX_SEAL_KEY_BYTES], uint8_t id_out[SBX_SEAL_KEY_ID_BYTES])
{
    uint8_t digest[HASH_BYTES];
    if (mbedtls_sha256_ret(key, SBX_SEAL_KEY_BYTES, digest, 0) != 0) {
        return -EIO;
    }
    memcpy(id_out, digest, SBX_SEAL_KEY_ID_BYTES);
    return 0;
}

/* ---- labels (section 4) ---- */

struct labeled {
    uint8_t bytes[LABELED_MAX];
    size_t count;
    bool is_full;
};

static void put(struct labeled *labeled, const void *bytes, size_t count)
{
    if (count > sizeof labeled->bytes - labeled->count) {
        labeled->is_full = true;
    } else if (count != 0) {
        memcpy(labeled->bytes + labeled->count, bytes, count);
        labeled->count += count;
    }
}

static int extract(const uint8_t *suite, size_t suite_bytes, const uint8_t *salt, size_t salt_bytes, const char *label,
                   const void *material, size_t material_bytes, uint8_t out[HASH_BYTES])
{
    const mbedtls_md_info_t *sha256 = mbedtls_md_info_from_type(MBEDTLS_MD_SHA256);
    struct labeled input = {.count = 0};
    put(&input, "HPKE-v1", 7);
    put(&input, suite, suite_bytes);
    put(&input, label, strlen(label));
    put(&input, material, material_bytes);
    int error = input.is_full ? -1 : mbedtls_hkdf_extract(sha256, salt, salt_bytes, input.bytes, input.count, out);
    explicit_bzero(&input, sizeof input);
    return error == 0 ? 0 : -ENOMEM;
}

static int expand(const uint8_t *suite, size_t suite_bytes, const uint8_t key[HASH_BYTES], const char *label,
                  const void *context, size_t context_bytes, uint8_t *out, size_t out_bytes)
{
    const mbedtls_md_info_t *sha256 = mbedtls_md_info_from_type(MBEDTLS_MD_SHA256);
    const uint8_t length[2] = {(uint8_t)(out_bytes >> 8), (uint8_t)out_bytes};
    struct labeled info = {.count = 0};
    put(&info, length, 2);
    put(&info, "HPKE-v1", 7);
    put(&info, suite, suite_bytes);
    put(&info, label, strlen(label));
    put(&info, context, context_bytes);
    int error =
        info.is_full ? -1 : mbedtls_hkdf_expand(sha256, key, HASH_BYTES, info.bytes, info.count, out, out_bytes);
    return error == 0 ? 0 : -ENOMEM;
}

/* ---- the key schedule (sections 4.1 and 5.1) ---- */

int sbx_hpke_seal_derive_with(const uint8_t ephemeral[SBX_SEAL_KEY_BYTES], const uint8_t recipient[SBX_SEAL_KEY_BYTES],
                              const void *info, size_t info_bytes, struct sbx_hpke_seal *seal_out)
{
    struct {
        uint8_t shared[32], key[HASH_BYTES], secret[HASH_BYTES], kem_context[2 * SBX_SEAL_KEY_BYTES];
        uint8_t schedule[1 + 2 * HASH_BYTES]; /* mode, psk_id_hash, info_hash */
    } step;
    if (info_bytes > INFO_BYTES_MAX) {
        return -EINVAL;
    }
    int result = sbx_x25519_public(ephemeral, seal_out->enc);
    if (result == 0) {
        result = sbx_x25519_shared(ephemeral, recipient, step.shared);
    }
    memcpy(step.kem_context, seal_out->enc, SBX_SEAL_KEY_BYTES);
    memcpy(step.kem_context + SBX_SEAL_KEY_BYTES, recipient, SBX_SEAL_KEY_BYTES);
    if (result == 0) {
        result = extract(kem_suite, KEM_SUITE_BYTES, NULL, 0, "eae_prk", step.shared, sizeof step.shared, step.key);
    }
    if (result == 0) {
        result = expand(kem_suite, KEM_SUITE_BYTES, step.key, "shared_secret", step.kem_context,
                        sizeof step.kem_context, step.shared, sizeof step.shared);
    }
    step.schedule[0] = 0; /* base mode: no pre-shared key, no authentication */
    if (result == 0) {
        result = extract(hpke_suite, HPKE_SUITE_BYTES, NULL, 0, "psk_id_hash", NULL, 0, step.schedule + 1);
    }
    if (result == 0) {
        result = extract(hpke_suite, HPKE_SUITE_BYTES, NULL, 0, "info_hash", info, info_bytes,
                         step.schedule + 1 + HASH_BYTES);
    }
    if (result == 0) {
        result = extract(hpke_suite, HPKE_SUITE_BYTES, step.shared, sizeof step.shared, "secret", NULL, 0, step.secret);
    }
    if (result == 0) {
        result = expand(hpke_suite, HPKE_SUITE_BYTES, step.secret, "key", step.schedule, sizeof step.schedule,
                        seal_out->key, sizeof seal_out->key);
    }
    if (result == 0) {
        result = expand(hpke_suite, HPKE_SUITE_BYTES, step.secret, "base_nonce", step.schedule, sizeof step.schedule,
                        seal_out->nonce, sizeof seal_out->nonce);
    }
    explicit_bzero(&step, sizeof step);
    if (result != 0) {
        explicit_bzero(seal_out, sizeof *seal_out);
    }
    return result;
}

int sbx_hpke_ephemeral(const uint8_t random[SBX_SEAL_KEY_BYTES], const void *message, size_t bytes,
                       uint8_t secret_out[SBX_SEAL_KEY_BYTES])
{
    int error = mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), random, SBX_SEAL_KEY_BYTES, message,
                                bytes, secret_out);
    return error == 0 ? 0 : error == MBEDTLS_ERR_MD_ALLOC_FAILED ? -ENOMEM : -EIO;
}

int sbx_hpke_seal_derive(const uint8_t recipient[SBX_SEAL_KEY_BYTES], const void *info, size_t info_bytes,
                         const void *message, size_t bytes, struct sbx_hpke_seal *seal_out)
{
    uint8_t random[SBX_SEAL_KEY_BYTES], ephemeral[SBX_SEAL_KEY_BYTES];
    explicit_bzero(seal_out, sizeof *seal_out);
    if (sbx_random_bytes(NULL, random, sizeof random) != 0) {
        return -EIO;
    }
    int result = sbx_hpke_ephemeral(random, message, bytes, ephemeral);
    if (result == 0) {
        result = sbx_hpke_seal_derive_with(ephemeral, recipient, info, info_bytes, seal_out);
    }
    explicit_bzero(random, sizeof random);
    explicit_bzero(ephemeral, sizeof ephemeral);
    return result;
}

int sbx_hpke_seal_message(struct sbx_hpke_seal *seal, const void *aad, size_t aad_bytes, const uint8_t *plain,
                          size_t bytes, uint8_t *out)
{
    mbedtls_chachapoly_context context;
    mbedtls_chachapoly_init(&context);
    int error = mbedtls_chachapoly_setkey(&context, seal->key);
    if (error == 0) { /* sequence number 0: the nonce is the base nonce */
        error =
            mbedtls_chachapoly_encrypt_and_tag(&context, bytes, seal->nonce, aad, aad_bytes, plain, out, out + bytes);
    }
    mbedtls_chachapoly_free(&context); /* this wipes it */
    explicit_bzero(seal, sizeof *seal);
    return error == 0 ? 0 : -EIO;
}
