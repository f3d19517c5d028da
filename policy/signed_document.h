/* SPDX-License-Identifier: Apache-2.0 */
/* signed_document.h - the container of a signed document: its bounds can be checked before anything in it is trusted.
 *
 *     off size
 *      0   4   magic "SBXP"
 *      4   1   format = 1
 *      5   1   role: 1 KEYSET, 2 POLICY, 3 KILL
 *      6   1   number of signatures, 1..6
 *      7   1   0
 *      8   4   bytes of the payload, little-endian, 1..32768
 *     12   n   payload (protobuf; proto/stallbox/v1/policy.proto)
 *     ..  72 * signatures: key id (8), r (32), s (32), big-endian
 *
 * The signed bytes are "stallbox-signed-document" NUL, format, role, payload length (4, little-endian), payload. Role,
 * format and length are included so that a signature cannot be used for any other document. The number of signatures is
 * not included, so that the holders of several keys can add their signatures one after the other.
 *
 * A bundle is a sequence of such documents: KEYSETs in the order of their versions, then at most one KILL and one
 * POLICY in any order. */
#ifndef SBX_SIGNED_DOCUMENT_H
#define SBX_SIGNED_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "signature.h"
#include "verified_signatures.h"

#define SBX_SIGNED_MAGIC  "SBXP"                     /* 4 bytes */
#define SBX_SIGNED_DOMAIN "stallbox-signed-document" /* including its NUL */

enum sbx_signed_role {
    SBX_ROLE_KEYSET = 1,
    SBX_ROLE_POLICY = 2,
    SBX_ROLE_KILL = 3
};

enum {
    SBX_SIGNED_FORMAT = 1,
    SBX_SIGNED_HEADER_BYTES = 12,
    SBX_SIGNED_PAYLOAD_MAX = 32768,
    SBX_SIGNED_SIGNATURES_MAX = 6,
    SBX_SIGNED_SLOT_BYTES = SBX_KEY_ID_BYTES + SBX_SIGNATURE_BYTES,
    SBX_SIGNED_BYTES_MIN = SBX_SIGNED_HEADER_BYTES + 1 + SBX_SIGNED_SLOT_BYTES, /* 85 */
    SBX_SIGNED_BYTES_MAX = SBX_SIGNED_HEADER_BYTES + SBX_SIGNED_PAYLOAD_MAX +
                           SBX_SIGNED_SIGNATURES_MAX * SBX_SIGNED_SLOT_BYTES, /* 33212 */
    SBX_BUNDLE_DOCUMENTS_MAX = 18,
    SBX_BUNDLE_BYTES_MAX = 65536, /* limit for reading from a server or a file */
};

/* A parsed document. Points into the bytes from which it was parsed. */
struct sbx_signed_document {
    enum sbx_signed_role role;
    uint32_t signature_count;
    const uint8_t *bytes, *payload, *signatures;
    size_t byte_count, payload_bytes;
};

/* Parse the first document of `bytes`. Reads only its header and lengths. Returns NULL and the document (borrowed from
 * `bytes`), or a sentence fragment that says what is wrong. Pure. */
const char *sbx_signed_document_parse(const uint8_t *bytes, size_t count, struct sbx_signed_document *document_out);

struct sbx_bundle {
    uint32_t count;
    struct sbx_signed_document documents[SBX_BUNDLE_DOCUMENTS_MAX];
};

/* Parse all documents of a bundle, up to its last byte. Returns NULL, or what is wrong: then no part of it may be used.
 * Pure. */
const char *sbx_bundle_parse(const uint8_t *bytes, size_t count, struct sbx_bundle *bundle_out);

/* The digest that the document's signatures sign. Returns 0 or -EIO. */
SBX_MUST_CHECK int sbx_signed_document_digest(const struct sbx_signed_document *document,
                                              uint8_t digest_out[SBX_DIGEST_BYTES]);

/* SHA-256 of the payload alone: it identifies the document. The whole document is not hashed, because the same payload
 * may have other signatures. */
SBX_MUST_CHECK int sbx_signed_document_hash(const struct sbx_signed_document *document,
                                            uint8_t hash_out[SBX_DIGEST_BYTES]);

/* How many of `keys` signed the document? Each key counts once, whatever ids and how many signatures it has.
 * *signers_out (may be NULL) gets a bit for each key. `verified` (may be NULL) contains signatures that need not be
 * verified again. Returns the count, or -ENOMEM when this could not be checked now. */
SBX_MUST_CHECK int sbx_signed_document_signers(const struct sbx_signed_document *document,
                                               const uint8_t (*keys)[SBX_PUBLIC_KEY_BYTES], uint32_t key_count,
                                               struct sbx_verified_signatures *verified, uint32_t *signers_out);

/* Write a document with one more signature: `payload` under `role`, after the `old_count` signatures at `old_slots` (0:
 * it is the first). bytes_out has `room` bytes; SBX_SIGNED_BYTES_MAX are always enough. Returns the bytes written;
 * -EINVAL when a bound is exceeded or the secret is no key; -EEXIST when this key has signed it already; -ENOMEM or
 * -EIO. */
SBX_MUST_CHECK int sbx_signed_document_write(enum sbx_signed_role role, const void *payload, size_t payload_bytes,
                                             const uint8_t *old_slots, uint32_t old_count,
                                             const uint8_t secret[SBX_SECRET_KEY_BYTES], uint8_t *bytes_out,
                                             size_t room);

/* "KEYSET", "POLICY", "KILL", or "unknown". */
const char *sbx_signed_role_name(uint32_t role);

#endif
