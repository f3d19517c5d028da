/* SPDX-License-Identifier: Apache-2.0 */
/* machine_sample.c - the hash of a machine. */
#include "machine_sample.h"

#include <errno.h>

#include "unseal.h"

/* The first 63 bits of the SHA-256. PostgreSQL computes the same for stores of older servers
 * (store_schema_postgres.c). */
int sbx_machine_hash(const uint8_t id[SBX_ID_BYTES], int64_t *hash_out)
{
    uint8_t digest[SBX_SEALED_DIGEST_BYTES];
    uint64_t bits = 0;
    if (sbx_sealed_digest(id, SBX_ID_BYTES, digest) < 0)
        return -EIO;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | digest[i];
    *hash_out = (int64_t)(bits >> 1);
    return 0;
}
