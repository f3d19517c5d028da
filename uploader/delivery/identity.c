/* SPDX-License-Identifier: Apache-2.0 */
/* identity.c - SPOOL/identity, and the ids and proofs that are derived from it. */
#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "durable_file.h"
#include "signature.h"
#include "spool_folders.h"

static const char identity_name[] = "identity", lock_name[] = ".identity.lock";
static const uint8_t magic[8] = {'S', 'B', 'X', 'I', 'D', 'v', '1', '\n'};
enum {
    SECRET_AT = 8,
    FIRST_AT = 40,
    LAST_AT = 44,
    FILE_BYTES = 48
};

static void put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

static uint32_t get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

int sbx_identity_read(struct sbx_spool *spool, const char *name, struct sbx_identity *identity_out)
{
    uint8_t *bytes;
    size_t count;
    int result = sbx_durable_file_read(spool->root, name, FILE_BYTES, &bytes, &count);
    if (result != 0) {
        return result == -EFBIG ? -EPROTO : result;
    }
    if (count == FILE_BYTES && memcmp(bytes, magic, sizeof magic) == 0) {
        memcpy(identity_out->secret, bytes + SECRET_AT, sizeof identity_out->secret);
        identity_out->first_period = get_u32(bytes + FIRST_AT);
        identity_out->last_period = get_u32(bytes + LAST_AT);
    } else {
        result = -EPROTO;
    }
    explicit_bzero(bytes, count);
    free(bytes);
    return result;
}

static int write_identity(struct sbx_spool *spool, const struct sbx_identity *identity)
{
    uint8_t bytes[FILE_BYTES];
    memcpy(bytes, magic, sizeof magic);
    memcpy(bytes + SECRET_AT, identity->secret, sizeof identity->secret);
    put_u32(bytes + FIRST_AT, identity->first_period);
    put_u32(bytes + LAST_AT, identity->last_period);
    int result = sbx_durable_file_write(spool->root, identity_name, bytes, sizeof bytes);
    explicit_bzero(bytes, sizeof bytes);
    return result;
}

/* Gets the secret, and adds `period` to the periods in which it is used. Locked, so that two processes do not create
 * two secrets. */
static int take_identity(struct sbx_spool *spool, uint32_t period, struct sbx_identity *identity)
{
    int lock = openat(spool->root, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) != 0) {
        int error = errno;
        if (lock >= 0) {
            close(lock);
        }
        return -error;
    }
    int result = sbx_identity_read(spool, identity_name, identity);
    bool is_fresh = result == -ENOENT || result == -EPROTO; /* the former content of a damaged file is not known */
    if (is_fresh) {
        *identity = (struct sbx_identity){.first_period = period, .last_period = period};
        result = getrandom(identity->secret, sizeof identity->secret, 0) == (ssize_t)sizeof identity->secret ? 0 : -EIO;
    }
    if (result == 0 && (is_fresh || period < identity->first_period || period > identity->last_period)) {
        identity->first_period = period < identity->first_period ? period : identity->first_period;
        identity->last_period = period > identity->last_period ? period : identity->last_period;
        result = write_identity(spool, identity);
    }
    close(lock); /* this releases the lock */
    return result;
}

int sbx_identity_proof(const struct sbx_identity *identity, uint32_t period, uint8_t proof_out[SBX_ERASURE_PROOF_BYTES])
{
    uint8_t text[sizeof SBX_ERASURE_LABEL + 4] = SBX_ERASURE_LABEL; /* including its NUL */
    put_u32(text + sizeof SBX_ERASURE_LABEL, period);
    return sbx_keyed_digest(identity->secret, sizeof identity->secret, text, sizeof text, proof_out);
}

int sbx_identity_id_of_proof(const uint8_t proof[SBX_ERASURE_PROOF_BYTES], uint8_t id_out[SBX_ROTATING_ID_BYTES])
{
    uint8_t digest[SBX_DIGEST_BYTES];
    const struct sbx_digest_piece pieces[] = {{SBX_ROTATING_LABEL, sizeof SBX_ROTATING_LABEL},
                                              {proof, SBX_ERASURE_PROOF_BYTES}};
    int result = sbx_digest(pieces, 2, digest);
    if (result == 0) {
        memcpy(id_out, digest, SBX_ROTATING_ID_BYTES);
    }
    return result;
}

int sbx_identity_rotating_id(struct sbx_spool *spool, uint32_t period, uint8_t id_out[SBX_ROTATING_ID_BYTES])
{
    struct sbx_identity identity;
    uint8_t proof[SBX_ERASURE_PROOF_BYTES];
    int result = take_identity(spool, period, &identity);
    if (result == 0) {
        result = sbx_identity_proof(&identity, period, proof);
    }
    if (result == 0) {
        result = sbx_identity_id_of_proof(proof, id_out);
    }
    explicit_bzero(&identity, sizeof identity);
    explicit_bzero(proof, sizeof proof);
    return result;
}
