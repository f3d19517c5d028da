/* SPDX-License-Identifier: Apache-2.0 */
/* signed_document.c - bounds, digest and signatures of a document; its payload is not read. */
#include "signed_document.h"

#include <errno.h>
#include <string.h>

static uint32_t read_le32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void write_le32(uint8_t *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(value >> 8 * i);
    }
}

const char *sbx_signed_role_name(uint32_t role)
{
    static const char *const names[] = {"unknown", "KEYSET", "POLICY", "KILL"};
    return role < sizeof names / sizeof names[0] ? names[role] : names[0];
}

const char *sbx_signed_document_parse(const uint8_t *bytes, size_t count, struct sbx_signed_document *document_out)
{
    if (count < SBX_SIGNED_BYTES_MIN) {
        return "shorter than any document";
    }
    if (memcmp(bytes, SBX_SIGNED_MAGIC, 4) != 0) {
        return "no signed document (its first four bytes are not SBXP)";
    }
    if (bytes[4] != SBX_SIGNED_FORMAT) {
        return "a format this version does not know";
    }
    if (bytes[5] < SBX_ROLE_KEYSET || bytes[5] > SBX_ROLE_KILL) {
        return "a role this version does not know";
    }
    if (bytes[6] < 1 || bytes[6] > SBX_SIGNED_SIGNATURES_MAX) {
        return "the number of signatures is not 1 to 6";
    }
    if (bytes[7] != 0) {
        return "a reserved byte is not 0";
    }
    uint32_t payload_bytes = read_le32(bytes + 8);
    if (payload_bytes < 1 || payload_bytes > SBX_SIGNED_PAYLOAD_MAX) {
        return "the payload's length is not 1 to 32768";
    }
    size_t whole = SBX_SIGNED_HEADER_BYTES + (size_t)payload_bytes + (size_t)bytes[6] * SBX_SIGNED_SLOT_BYTES;
    if (whole > count) {
        return "it ends before its last signature does";
    }
    *document_out = (struct sbx_signed_document){
        .role = (enum sbx_signed_role)bytes[5],
        .signature_count = bytes[6],
        .bytes = bytes,
        .payload = bytes + SBX_SIGNED_HEADER_BYTES,
        .signatures = bytes + SBX_SIGNED_HEADER_BYTES + payload_bytes,
        .byte_count = whole,
        .payload_bytes = payload_bytes,
    };
    return NULL;
}

const char *sbx_bundle_parse(const uint8_t *bytes, size_t count, struct sbx_bundle *bundle_out)
{
    uint32_t roles_seen = 0;
    bundle_out->count = 0;
    if (count == 0) {
        return "empty";
    }
    if (count > SBX_BUNDLE_BYTES_MAX) {
        return "larger than 64 KiB";
    }
    while (count > 0) {
        if (bundle_out->count == SBX_BUNDLE_DOCUMENTS_MAX) {
            return "more than 18 documents";
        }
        struct sbx_signed_document *document = &bundle_out->documents[bundle_out->count];
        const char *wrong = sbx_signed_document_parse(bytes, count, document);
        if (wrong != NULL) {
            return bundle_out->count > 0 && count < SBX_SIGNED_BYTES_MIN ? "bytes behind the last document" : wrong;
        }
        uint32_t role_bit = UINT32_C(1) << document->role;
        if (document->role == SBX_ROLE_KEYSET ? (roles_seen & ~role_bit) != 0 : (roles_seen & role_bit) != 0) {
            return "documents in the wrong order: KEYSETs, then at most one KILL and one POLICY";
        }
        roles_seen |= role_bit;
        bundle_out->count++;
        bytes += document->byte_count;
        count -= document->byte_count;
    }
    return NULL;
}

static int digest_of(uint8_t role, const void *payload, size_t payload_bytes, uint8_t digest_out[SBX_DIGEST_BYTES])
{
    uint8_t head[6] = {SBX_SIGNED_FORMAT, role};
    write_le32(head + 2, (uint32_t)payload_bytes);
    const struct sbx_digest_piece pieces[] = {
        {SBX_SIGNED_DOMAIN, sizeof SBX_SIGNED_DOMAIN}, {head, sizeof head}, {payload, payload_bytes}};
    return sbx_digest(pieces, 3, digest_out);
}

int sbx_signed_document_digest(const struct sbx_signed_document *document, uint8_t digest_out[SBX_DIGEST_BYTES])
{
    return digest_of((uint8_t)document->role, document->payload, document->payload_bytes, digest_out);
}

int sbx_signed_document_hash(const struct sbx_signed_document *document, uint8_t hash_out[SBX_DIGEST_BYTES])
{
    return sbx_digest(&(struct sbx_digest_piece){document->payload, document->payload_bytes}, 1, hash_out);
}

/* Does an earlier key of the list have the same bytes? */
static bool is_repeated(const uint8_t (*keys)[SBX_PUBLIC_KEY_BYTES], uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (memcmp(keys[i], keys[index], SBX_PUBLIC_KEY_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

/* Is one of the document's signatures made with this key? 1, 0 or -ENOMEM. */
static int has_signed(const struct sbx_signed_document *document, const uint8_t digest[SBX_DIGEST_BYTES],
                      const uint8_t key[SBX_PUBLIC_KEY_BYTES], struct sbx_verified_signatures *verified)
{
    uint8_t id[SBX_KEY_ID_BYTES];
    if (sbx_key_id(key, id) != 0) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < document->signature_count; i++) {
        const uint8_t *slot = document->signatures + (size_t)i * SBX_SIGNED_SLOT_BYTES;
        if (memcmp(slot, id, sizeof id) != 0) {
            continue;
        }
        int result = sbx_verified_signatures_check(verified, key, digest, slot + SBX_KEY_ID_BYTES);
        if (result == 0) {
            return 1;
        }
        if (result != -EBADMSG) {
            return result;
        }
    }
    return 0;
}

int sbx_signed_document_signers(const struct sbx_signed_document *document, const uint8_t (*keys)[SBX_PUBLIC_KEY_BYTES],
                                uint32_t key_count, struct sbx_verified_signatures *verified, uint32_t *signers_out)
{
    uint8_t digest[SBX_DIGEST_BYTES];
    uint32_t signers = 0;
    int count = 0;
    if (sbx_signed_document_digest(document, digest) != 0) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < key_count && i < 32; i++) {
        int signed_it = is_repeated(keys, i) ? 0 : has_signed(document, digest, keys[i], verified);
        if (signed_it < 0) {
            return signed_it;
        }
        signers |= (uint32_t)signed_it << i;
        count += signed_it;
    }
    if (signers_out != NULL) {
        *signers_out = signers;
    }
    return count;
}

int sbx_signed_document_write(enum sbx_signed_role role, const void *payload, size_t payload_bytes,
                              const uint8_t *old_slots, uint32_t old_count, const uint8_t secret[SBX_SECRET_KEY_BYTES],
                              uint8_t *bytes_out, size_t room)
{
    size_t whole = SBX_SIGNED_HEADER_BYTES + payload_bytes + ((size_t)old_count + 1) * SBX_SIGNED_SLOT_BYTES;
    if (payload_bytes < 1 || payload_bytes > SBX_SIGNED_PAYLOAD_MAX || old_count >= SBX_SIGNED_SIGNATURES_MAX ||
        whole > room) {
        return -EINVAL;
    }
    uint8_t digest[SBX_DIGEST_BYTES], key[SBX_PUBLIC_KEY_BYTES], slot[SBX_SIGNED_SLOT_BYTES];
    int result = digest_of((uint8_t)role, payload, payload_bytes, digest);
    if (result == 0) {
        result = sbx_key_of_secret(secret, key);
    }
    if (result == 0) {
        result = sbx_key_id(key, slot);
    }
    for (uint32_t i = 0; i < old_count && result == 0; i++) {
        if (memcmp(old_slots + (size_t)i * SBX_SIGNED_SLOT_BYTES, slot, SBX_KEY_ID_BYTES) == 0) {
            result = -EEXIST;
        }
    }
    if (result == 0) {
        result = sbx_signature_make(secret, digest, slot + SBX_KEY_ID_BYTES);
    }
    if (result != 0) {
        return result;
    }
    uint8_t *end = bytes_out + SBX_SIGNED_HEADER_BYTES;
    memmove(end, payload, payload_bytes);
    end += payload_bytes;
    if (old_count > 0) {
        memmove(end, old_slots, (size_t)old_count * SBX_SIGNED_SLOT_BYTES);
        end += (size_t)old_count * SBX_SIGNED_SLOT_BYTES;
    }
    memcpy(end, slot, sizeof slot);
    memcpy(bytes_out, SBX_SIGNED_MAGIC, 4);
    bytes_out[4] = SBX_SIGNED_FORMAT;
    bytes_out[5] = (uint8_t)role;
    bytes_out[6] = (uint8_t)(old_count + 1);
    bytes_out[7] = 0;
    write_le32(bytes_out + 8, (uint32_t)payload_bytes);
    return (int)whole;
}
