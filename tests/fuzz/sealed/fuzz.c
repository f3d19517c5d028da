/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - hostile sealed envelopes.
 *
 * The input is tried in three ways: unchanged; as the body of an envelope with a correct header and checksum; and as
 * the plain text, because a fuzzer does not find a tag: sealed by the sender's code, opened by the receiver's. The
 * result of opening is a plain envelope or nothing, and never bytes beyond it. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "envelope.h"
#include "fuzz_target.h"
#include "hpke_sender.h"
#include "stall.h"
#include "unseal.h"

#define CHECK(condition)  \
    do {                  \
        if (!(condition)) \
            abort();      \
    } while (0)

static const uint8_t id[16] = {1};

static const struct sbx_unseal_keys *the_keys(void)
{
    static struct sbx_unseal_keys keys;
    if (keys.count == 0) {
        static const uint8_t secret[32] = {7};
        CHECK(sbx_unseal_key_init(secret, &keys.keys[0]) == 0);
        keys.count = 1;
    }
    return &keys;
}

static const char info[] = SBX_SEAL_INFO;
static const uint8_t ephemeral[32] = {9};

/* The context that every run seals with: deriving it is 2 ms of public-key work, some 40 times the rest of a run. */
static const struct sbx_hpke_seal *the_seal(void)
{
    static struct sbx_hpke_seal seal;
    static int is_derived;
    if (!is_derived) {
        CHECK(sbx_hpke_seal_derive_with(ephemeral, the_keys()->keys[0].key, info, sizeof info, &seal) == 0);
        is_derived = 1;
    }
    return &seal;
}

int __real_sbx_hpke_open_derive(const struct sbx_unseal_key *key, const uint8_t enc[SBX_SEAL_KEY_BYTES], const void *of,
                                size_t of_bytes, struct sbx_hpke_open *open_out);
int __wrap_sbx_hpke_open_derive(const struct sbx_unseal_key *key, const uint8_t enc[SBX_SEAL_KEY_BYTES], const void *of,
                                size_t of_bytes, struct sbx_hpke_open *open_out);

/* The receiver derives once for the key that the runs above seal with. For all other keys it derives really only for
 * one in 256, and for keys that are small numbers or near the prime, as keys of low order are. For the rest it returns
 * the first context again, because their tag fits neither way. The result depends only on the input. */
int __wrap_sbx_hpke_open_derive(const struct sbx_unseal_key *key, const uint8_t enc[SBX_SEAL_KEY_BYTES], const void *of,
                                size_t of_bytes, struct sbx_hpke_open *open_out)
{
    static struct sbx_hpke_open known;
    static int is_derived;
    const struct sbx_hpke_seal *seal = the_seal();
    if (!is_derived) {
        CHECK(__real_sbx_hpke_open_derive(key, seal->enc, of, of_bytes, &known) == 0);
        is_derived = 1;
    }
    uint8_t sum = 0, middle = enc[1];
    for (size_t i = 0; i < SBX_SEAL_KEY_BYTES; i++) {
        sum = (uint8_t)(sum * 31 + enc[i]);
        middle = i > 0 && i < 31 && enc[i] != middle ? 1 : middle;
    }
    bool is_special = middle == 0 || middle == 0xff;
    if (memcmp(enc, seal->enc, SBX_SEAL_KEY_BYTES) != 0 && (sum == 0 || is_special)) {
        return __real_sbx_hpke_open_derive(key, enc, of, of_bytes, open_out);
    }
    *open_out = known;
    return 0;
}

/* Look, open, decode. Returns whether the envelope could be opened. */
static int open_all(const uint8_t *envelope, size_t bytes)
{
    struct sbx_sealed sealed;
    uint8_t *plain = NULL;
    size_t plain_bytes = 0;
    char why[200] = "";
    int looked = sbx_sealed_look(envelope, bytes, &sealed, why, sizeof why);
    CHECK(looked == 0 || why[0] != '\0');
    int result = sbx_sealed_open(the_keys(), envelope, bytes, &plain, &plain_bytes, why, sizeof why);
    if (result != 0) {
        CHECK(plain == NULL && (result == -EPROTO || result == -ENOTSUP || result == -ENOKEY));
        return 0;
    }
    CHECK(looked == 0 && plain_bytes >= 40 && plain_bytes < bytes && memcmp(plain + 16, sealed.id, 16) == 0);
    struct sbx_stall *stall;
    if (sbx_stall_decode(plain, plain_bytes, &stall, why, sizeof why) == 0) {
        sbx_stall_destroy(stall);
    }
    free(plain);
    return 1;
}

static uint8_t *with_header(const uint8_t *body, size_t body_bytes)
{
    uint8_t *envelope = malloc(40 + body_bytes);
    CHECK(envelope != NULL);
    if (body_bytes != 0) {
        memcpy(envelope + 40, body, body_bytes);
    }
    sbx_envelope_put_header(envelope, id, the_keys()->keys[0].id, envelope + 40, body_bytes);
    return envelope;
}

/* Seal `text` unchanged, whatever length is written at its begin. */
static void open_as_text(const uint8_t *text, size_t bytes)
{
    struct sbx_hpke_seal seal = *the_seal(); /* sealing wipes it */
    size_t body_bytes = 32 + bytes + 16;
    uint8_t *body = calloc(1, body_bytes);
    CHECK(body != NULL);
    memcpy(body, seal.enc, 32);
    uint8_t *envelope = with_header(body, body_bytes);
    CHECK(sbx_hpke_seal_message(&seal, envelope, 36, text, bytes, body + 32) == 0);
    free(envelope);
    envelope = with_header(body, body_bytes);
    int opened = open_all(envelope, 40 + body_bytes);
    uint32_t length = 0;
    if (bytes > 4) {
        length = (uint32_t)text[0] | (uint32_t)text[1] << 8 | (uint32_t)text[2] << 16 | (uint32_t)text[3] << 24;
    }
    CHECK(!opened || (bytes > 4 && length <= bytes - 4));
    free(envelope);
    free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes > 1 << 16) {
        return 0; /* padding is in steps; longer messages have no other length */
    }
    (void)open_all(data, bytes);
    uint8_t *envelope = with_header(data, bytes);
    CHECK(!open_all(envelope, 40 + bytes)); /* a fuzzer cannot guess a tag */
    free(envelope);
    open_as_text(data, bytes);
    return 0;
}
