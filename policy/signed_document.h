/* SPDX-License-Identifier: Apache-2.0 */
/* signed_document.h - the container of a signed document: its bounds can be told before anything in it is believed.
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
 * What is signed is "stallbox-signed-document" NUL, format, role, payload length (4, little-endian), payload: role,
 * format and length inside it keep a signature from being used for anything else. The number of signatures is not part of
 * it, so that keys in different hands can add theirs.
 *
 * A bundle is such documents one behind the other: KEYSETs in the order of their versions, then at most one KILL and one
 * POLICY in any order. */
#ifndef SBX_SIGNED_DOCUMENT_H
#define SBX_SIGNED_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "signature.h"
#include "verified_signatures.h"

#define SBX_SIGNED_MAGIC  "SBXP"                     /* 4 bytes */
#define SBX_SIGNED_DOMAIN "stallbox-signed-document" /* with its NUL */

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
    SBX_BUNDLE_BYTES_MAX = 65536, /* what is read from a server or a file at most */
};

/* A document where it lies. Points into the bytes it was parsed from. */
struct sbx_signed_document {
    enum sbx_signed_role role;
    uint32_t signature_count;
    const uint8_t *bytes, *payload, *signatures;
    size_t byte_count, payload_bytes;
};

/* Look at the first document of `bytes`. Reads nothing but its header and lengths. Returns NULL and the document (borrowed
 * from `bytes`), or what is wrong with it, a sentence fragment. Pure. */
const char *sbx_signed_document_parse(const uint8_t *bytes, size_t count, struct sbx_signed_document *document_out);

struct sbx_bundle {
    uint32_t count;
    struct sbx_signed_document documents[SBX_BUNDLE_DOCUMENTS_MAX];
};

/* All documents of a bundle, to its last byte. Returns NULL, or what is wrong: then none of it is to be used. Pure. */
const char *sbx_bundle_parse(const uint8_t *bytes, size_t count, struct sbx_bundle *bundle_out);

/* The digest that the document's signatures are over. Returns 0 or -EIO. */
SBX_MUST_CHECK int sbx_signed_document_digest(const struct sbx_signed_document *document,
                                              uint8_t digest_out[SBX_DIGEST_BYTES]);

/* SHA-256 of the payload alone: the document's identity. Not of its bytes: the same payload may carry other signatures. */
SBX_MUST_CHECK int sbx_signed_document_hash(const struct sbx_signed_document *document,
                                            uint8_t hash_out[SBX_DIGEST_BYTES]);

/* How many of `keys` signed it: each key counts once, whatever id it comes under and however often. *signers_out (may be
 * NULL) gets a bit for each key. `verified` (may be NULL) is what needs no second look. Returns the count, or -ENOMEM
 * when that could not be found out now. */
SBX_MUST_CHECK int sbx_signed_document_signers(const struct sbx_signed_document *document,
                                               const uint8_t (*keys)[SBX_PUBLIC_KEY_BYTES], uint32_t key_count,
                                               struct sbx_verified_signatures *verified, uint32_t *signers_out);

/* Write a document with one more signature: `payload` under `role`, behind the `old_count` slots at `old_slots` (0: it is
 * the first). `room` bytes are there; SBX_SIGNED_BYTES_MAX always suffice. Returns the bytes written, -EINVAL for bounds
 * that are not kept or a secret that is no key, -EEXIST when this key has signed it, -ENOMEM or -EIO. */
SBX_MUST_CHECK int sbx_signed_document_write(enum sbx_signed_role role, const void *payload, size_t payload_bytes,
                                             const uint8_t *old_slots, uint32_t old_count,
                                             const uint8_t secret[SBX_SECRET_KEY_BYTES], uint8_t *bytes_out,
                                             size_t room);

/* "KEYSET", "POLICY", "KILL", or "unknown". */
const char *sbx_signed_role_name(uint32_t role);

#endif
