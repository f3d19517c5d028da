/* SPDX-License-Identifier: Apache-2.0 */
/* stall_counts/fuzz.c - any bytes as a spool's file of counts.
 *
 * The property: what is read has the same value after it is written and read again, and counting continues within its
 * bounds. A fuzzer does not get past the checksum at the end, so the checksum is also set right. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "stall_counts.h"

static void check(const uint8_t *data, size_t bytes)
{
    static struct sbx_stall_counts counts, again;
    static uint8_t written[SBX_STALL_COUNTS_BYTES_MAX];
    static const struct sbx_sampling_terms terms = {.first = 3};
    if (!sbx_stall_counts_parse(data, bytes, &counts)) {
        return;
    }
    size_t count = sbx_stall_counts_print(&counts, written);
    if (count > sizeof written || !sbx_stall_counts_parse(written, count, &again) || again.decided != counts.decided ||
        again.lost != counts.lost || memcmp(again.decisions, counts.decisions, sizeof counts.decisions) != 0) {
        abort();
    }
    for (uint64_t i = 1; i <= 4; i++) {
        uint32_t one_in;
        uint8_t id[16] = {(uint8_t)i};
        struct sbx_sampled sampled;
        bool is_picked = sbx_stall_counts_see(&counts, i * counts.seed | 1, SBX_TRIGGER_ANR, &terms, &one_in);
        sbx_stall_counts_decide(&counts, i * counts.seed | 1, id, is_picked ? SBX_FATE_TOLD : SBX_FATE_THINNED, one_in,
                                &sampled);
        if (one_in == 0 || sampled.weight < one_in || sampled.weight > SBX_WEIGHT_MAX ||
            sbx_stall_counts_find(&counts, id, &sampled) == SBX_FATE_UNKNOWN) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    check(data, bytes);
    if (bytes >= 8 && bytes <= 2 * SBX_STALL_COUNTS_BYTES_MAX) {
        uint8_t *mended = malloc(bytes);
        uint64_t hash = UINT64_C(14695981039346656037);
        if (mended == NULL) {
            return 0;
        }
        memcpy(mended, data, bytes);
        for (size_t i = 0; i < bytes - 8; i++) {
            hash = (hash ^ mended[i]) * UINT64_C(1099511628211);
        }
        for (unsigned i = 0; i < 8; i++) {
            mended[bytes - 8 + i] = (uint8_t)(hash >> 8 * i);
        }
        check(mended, bytes);
        free(mended);
    }
    return 0;
}
