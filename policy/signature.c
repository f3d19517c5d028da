/* SPDX-License-Identifier: Apache-2.0 */
/* signature.c - ECDSA P-256 with mbedTLS 2.28's libmbedcrypto.
 *
 * Neither its pk layer is used, which parses other curves and other key formats, nor PSA. Random bytes come directly
 * from getrandom(2), because the library's generator returns the same bytes in a parent and its forked child. */
#include "signature.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

#include <mbedtls/ecdsa.h>
#include <mbedtls/ecp.h>
#include <mbedtls/md.h>
#include <mbedtls/sha256.h>

int sbx_random_bytes(void *context, unsigned char *bytes, size_t count)
{
    (void)context;
    for (size_t done = 0; done < count;) {
        ssize_t got = getrandom(bytes + done, count - done, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return MBEDTLS_ERR_ECP_RANDOM_FAILED;
        }
        done += (size_t)got;
    }
    return 0;
}

int sbx_digest(const struct sbx_digest_piece *pieces, size_t piece_count, uint8_t digest_out[SBX_DIGEST_BYTES])
{
    mbedtls_sha256_context context;
    mbedtls_sha256_init(&context);
    int error = mbedtls_sha256_starts_ret(&context, 0);
    for (size_t i = 0; i < piece_count && error == 0; i++) {
        error = mbedtls_sha256_update_ret(&context, pieces[i].bytes, pieces[i].count);
    }
    if (error == 0) {
        error = mbedtls_sha256_finish_ret(&context, digest_out);
    }
    mbedtls_sha256_free(&context);
    return error == 0 ? 0 : -EIO;
}

int sbx_keyed_digest(const void *key, size_t key_bytes, const void *bytes, size_t count,
                     uint8_t digest_out[SBX_DIGEST_BYTES])
{
    const mbedtls_md_info_t *sha256 = mbedtls_md_info_from_type(MBEDTLS_MD_SHA256);
    return sha256 != NULL && mbedtls_md_hmac(sha256, key, key_bytes, bytes, count, digest_out) == 0 ? 0 : -ENOMEM;
}

int sbx_key_id(const uint8_t key[SBX_PUBLIC_KEY_BYTES], uint8_t id_out[SBX_KEY_ID_BYTES])
{
    uint8_t digest[SBX_DIGEST_BYTES];
    int result = sbx_digest(&(struct sbx_digest_piece){key, SBX_PUBLIC_KEY_BYTES}, 1, digest);
    if (result == 0) {
        memcpy(id_out, digest, SBX_KEY_ID_BYTES);
    }
    return result;
}

/* Is the error about the bytes, and not about the present situation? A code may be the sum of a module's code and that
 * of a lower module. Any other code counts as "not now". */
static bool is_about_bytes(int error)
{
    return error == MBEDTLS_ERR_ECP_VERIFY_FAILED || error == MBEDTLS_ERR_ECP_INVALID_KEY ||
           error == MBEDTLS_ERR_ECP_BAD_INPUT_DATA || error == MBEDTLS_ERR_ECP_FEATURE_UNAVAILABLE;
}

/* Read a point and check that it lies on the curve. 0 or the library's error. */
static int read_point(const mbedtls_ecp_group *group, mbedtls_ecp_point *point, const uint8_t key[SBX_PUBLIC_KEY_BYTES])
{
    if (key[0] != 0x04) {
        return MBEDTLS_ERR_ECP_INVALID_KEY;
    }
    int error = mbedtls_ecp_point_read_binary(group, point, key, SBX_PUBLIC_KEY_BYTES);
    return error == 0 ? mbedtls_ecp_check_pubkey(group, point) : error;
}

int sbx_key_check(const uint8_t key[SBX_PUBLIC_KEY_BYTES])
{
    mbedtls_ecp_group group;
    mbedtls_ecp_point point;
    mbedtls_ecp_group_init(&group);
    mbedtls_ecp_point_init(&point);
    int error = mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1);
    bool is_loaded = error == 0;
    if (is_loaded) {
        error = read_point(&group, &point, key);
    }
    mbedtls_ecp_point_free(&point);
    mbedtls_ecp_group_free(&group);
    return error == 0 ? 0 : is_loaded && is_about_bytes(error) ? -EINVAL : -ENOMEM;
}

/* Is s at most half of the group's order? Returns 1, 0, or the library's error (negative). */
static int is_low(const mbedtls_ecp_group *group, const mbedtls_mpi *s)
{
    mbedtls_mpi twice;
    mbedtls_mpi_init(&twice);
    int error = mbedtls_mpi_add_mpi(&twice, s, s);
    int low = error != 0 ? error : mbedtls_mpi_cmp_mpi(&twice, &group->N) <= 0;
    mbedtls_mpi_free(&twice);
    return low;
}

int sbx_signature_verify(const uint8_t key[SBX_PUBLIC_KEY_BYTES], const uint8_t digest[SBX_DIGEST_BYTES],
                         const uint8_t signature[SBX_SIGNATURE_BYTES])
{
    mbedtls_ecp_group group;
    mbedtls_ecp_point point;
    mbedtls_mpi r, s;
    mbedtls_ecp_group_init(&group);
    mbedtls_ecp_point_init(&point);
    mbedtls_mpi_init(&r);
    mbedtls_mpi_init(&s);
    bool is_judged = false; /* the bytes are the cause of a failure */
    int error = mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1);
    if (error == 0) {
        error = read_point(&group, &point, key);
        is_judged = is_about_bytes(error);
    }
    if (error == 0) {
        error = mbedtls_mpi_read_binary(&r, signature, SBX_SIGNATURE_BYTES / 2);
    }
    if (error == 0) {
        error = mbedtls_mpi_read_binary(&s, signature + SBX_SIGNATURE_BYTES / 2, SBX_SIGNATURE_BYTES / 2);
    }
    if (error == 0) {
        int low = is_low(&group, &s);
        is_judged = low >= 0;
        error = low == 1 ? 0 : low == 0 ? MBEDTLS_ERR_ECP_VERIFY_FAILED : low;
    }
    if (error == 0) {
        error = mbedtls_ecdsa_verify(&group, digest, SBX_DIGEST_BYTES, &point, &r, &s);
        is_judged = is_about_bytes(error);
    }
    mbedtls_mpi_free(&s);
    mbedtls_mpi_free(&r);
    mbedtls_ecp_point_free(&point);
    mbedtls_ecp_group_free(&group);
    return error == 0 ? 0 : is_judged ? -EBADMSG : -ENOMEM;
}

/* The secret as a number of this group: 0 or the library's error. */
static int read_secret(const mbedtls_ecp_group *group, mbedtls_mpi *number, const uint8_t secret[SBX_SECRET_KEY_BYTES])
{
    int error = mbedtls_mpi_read_binary(number, secret, SBX_SECRET_KEY_BYTES);
    return error == 0 ? mbedtls_ecp_check_privkey(group, number) : error;
}

int sbx_key_of_secret(const uint8_t secret[SBX_SECRET_KEY_BYTES], uint8_t key_out[SBX_PUBLIC_KEY_BYTES])
{
    mbedtls_ecp_group group;
    mbedtls_ecp_point point;
    mbedtls_mpi number;
    size_t written = 0;
    mbedtls_ecp_group_init(&group);
    mbedtls_ecp_point_init(&point);
    mbedtls_mpi_init(&number);
    int error = mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1);
    if (error == 0) {
        error = read_secret(&group, &number, secret);
    }
    if (error == 0) {
        error = mbedtls_ecp_mul(&group, &point, &number, &group.G, sbx_random_bytes, NULL);
    }
    if (error == 0) {
        error = mbedtls_ecp_point_write_binary(&group, &point, MBEDTLS_ECP_PF_UNCOMPRESSED, &written, key_out,
                                               SBX_PUBLIC_KEY_BYTES);
    }
    mbedtls_mpi_free(&number); /* this also wipes it */
    mbedtls_ecp_point_free(&point);
    mbedtls_ecp_group_free(&group);
    return error == 0 && written == SBX_PUBLIC_KEY_BYTES ? 0 : is_about_bytes(error) ? -EINVAL : -ENOMEM;
}

int sbx_key_make(uint8_t secret_out[SBX_SECRET_KEY_BYTES], uint8_t key_out[SBX_PUBLIC_KEY_BYTES])
{
    /* With a chance of 2^-32 a random string is no key (it is larger than the order): then another one is tried. */
    for (int i = 0; i < 8; i++) {
        if (sbx_random_bytes(NULL, secret_out, SBX_SECRET_KEY_BYTES) != 0) {
            return -EIO;
        }
        int result = sbx_key_of_secret(secret_out, key_out);
        if (result != -EINVAL) {
            return result;
        }
    }
    return -EIO;
}

int sbx_signature_make(const uint8_t secret[SBX_SECRET_KEY_BYTES], const uint8_t digest[SBX_DIGEST_BYTES],
                       uint8_t signature_out[SBX_SIGNATURE_BYTES])
{
    mbedtls_ecp_group group;
    mbedtls_mpi number, r, s;
    uint8_t key[SBX_PUBLIC_KEY_BYTES];
    mbedtls_ecp_group_init(&group);
    mbedtls_mpi_init(&number);
    mbedtls_mpi_init(&r);
    mbedtls_mpi_init(&s);
    int error = mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1);
    if (error == 0) {
        error = read_secret(&group, &number, secret);
    }
    if (error == 0) {
        error = mbedtls_ecdsa_sign_det_ext(&group, &r, &s, &number, digest, SBX_DIGEST_BYTES, MBEDTLS_MD_SHA256,
                                           sbx_random_bytes, NULL);
    }
    if (error == 0) {
        int low = is_low(&group, &s);
        error = low == 1 ? 0 : low == 0 ? mbedtls_mpi_sub_mpi(&s, &group.N, &s) : low;
    }
    if (error == 0) {
        error = mbedtls_mpi_write_binary(&r, signature_out, SBX_SIGNATURE_BYTES / 2);
    }
    if (error == 0) {
        error = mbedtls_mpi_write_binary(&s, signature_out + SBX_SIGNATURE_BYTES / 2, SBX_SIGNATURE_BYTES / 2);
    }
    mbedtls_mpi_free(&s);
    mbedtls_mpi_free(&r);
    mbedtls_mpi_free(&number);
    mbedtls_ecp_group_free(&group);
    if (error != 0) {
        return is_about_bytes(error) ? -EINVAL : -ENOMEM;
    }
    /* Before 2.28.5 the library could make a wrong signature without an error when memory ran out. */
    int result = sbx_key_of_secret(secret, key);
    if (result == 0) {
        result = sbx_signature_verify(key, digest, signature_out);
    }
    return result == -EBADMSG ? -EIO : result;
}
