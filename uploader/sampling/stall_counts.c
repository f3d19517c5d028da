/* SPDX-License-Identifier: Apache-2.0 */
/* stall_counts.c - the table, and its bytes in the file.
 *
 * All numbers are little endian: "SBXSTC1\n", u32 kinds, u32 decisions, u64 decided, order, seed, lost, forgotten; for
 * each kind u64 signature, seen, carried, order; for each decision, oldest first, 16 bytes id, u64 weight, u32 one_in,
 * u32 fate; u64 FNV-1a of everything before. */
#include "stall_counts.h"

#include <string.h>

static const char magic[8] = {'S', 'B', 'X', 'S', 'T', 'C', '1', '\n'};
enum {
    HEAD_BYTES = 56,
    ENTRY_BYTES = 32,
    SUM_BYTES = 8
};

static struct sbx_stall_kind *find_kind(struct sbx_stall_counts *counts, uint64_t signature)
{
    for (size_t i = 0; i < SBX_STALL_KINDS_KEPT; i++) {
        if (counts->kinds[i].signature == signature) {
            return &counts->kinds[i];
        }
    }
    return NULL;
}

/* Finds a place for one more kind: a free place, else that of the kind that was not seen for longest. */
static struct sbx_stall_kind *make_room(struct sbx_stall_counts *counts)
{
    struct sbx_stall_kind *oldest = &counts->kinds[0];
    for (size_t i = 0; i < SBX_STALL_KINDS_KEPT; i++) {
        struct sbx_stall_kind *kind = &counts->kinds[i];
        if (kind->signature == 0) {
            return kind;
        }
        oldest = kind->order < oldest->order ? kind : oldest;
    }
    counts->lost += oldest->carried;
    counts->forgotten++;
    return oldest;
}

enum sbx_stall_fate sbx_stall_counts_find(const struct sbx_stall_counts *counts, const uint8_t id[16],
                                          struct sbx_sampled *sampled_out)
{
    for (size_t i = 0; i < SBX_STALL_DECISIONS_KEPT; i++) {
        const struct sbx_stall_decision *decision = &counts->decisions[i];
        if (decision->fate != SBX_FATE_UNKNOWN && memcmp(decision->id, id, sizeof decision->id) == 0) {
            *sampled_out = decision->sampled;
            return decision->fate;
        }
    }
    return SBX_FATE_UNKNOWN;
}

bool sbx_stall_counts_see(struct sbx_stall_counts *counts, uint64_t signature, uint32_t trigger_kind,
                          const struct sbx_sampling_terms *terms, uint32_t *one_in_out)
{
    struct sbx_stall_kind *kind = find_kind(counts, signature);
    if (kind == NULL) {
        kind = make_room(counts);
        *kind = (struct sbx_stall_kind){.signature = signature};
    }
    kind->seen += kind->seen != UINT64_MAX;
    kind->order = counts->order++;
    struct sbx_sampling_block block = sbx_sampling_block_of(terms, trigger_kind, kind->seen);
    *one_in_out = block.one_in;
    return sbx_sampling_picks(&block, kind->seen, counts->seed, signature);
}

void sbx_stall_counts_decide(struct sbx_stall_counts *counts, uint64_t signature, const uint8_t id[16],
                             enum sbx_stall_fate fate, uint32_t one_in, struct sbx_sampled *sampled_out)
{
    struct sbx_stall_kind *kind = find_kind(counts, signature);
    struct sbx_sampled sampled = {.weight = one_in, .one_in = one_in};
    if (kind != NULL && fate == SBX_FATE_TOLD) {
        uint64_t room = SBX_WEIGHT_MAX - sampled.weight; /* the rest is for the next payload */
        uint64_t taken = kind->carried < room ? kind->carried : room;
        sampled.weight += taken;
        kind->carried -= taken;
    } else if (kind != NULL && fate == SBX_FATE_WITHHELD) {
        kind->carried += one_in;
    }
    struct sbx_stall_decision *decision = &counts->decisions[counts->decided++ % SBX_STALL_DECISIONS_KEPT];
    *decision = (struct sbx_stall_decision){.fate = (uint8_t)fate, .sampled = sampled};
    memcpy(decision->id, id, sizeof decision->id);
    *sampled_out = sampled;
}

/* ---- as bytes ---- */

static void put(uint8_t **at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        *(*at)++ = (uint8_t)(value >> 8 * i);
    }
}

static uint64_t take(const uint8_t **at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) {
        value |= (uint64_t) * (*at)++ << 8 * i;
    }
    return value;
}

static uint64_t sum_of(const uint8_t *bytes, size_t count)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

size_t sbx_stall_counts_print(const struct sbx_stall_counts *counts, uint8_t bytes_out[SBX_STALL_COUNTS_BYTES_MAX])
{
    uint8_t *at = bytes_out + sizeof magic, *count_at = at;
    uint32_t kinds = 0, decisions = 0;
    memcpy(bytes_out, magic, sizeof magic);
    at += 8;
    put(&at, counts->decided, 8);
    put(&at, counts->order, 8);
    put(&at, counts->seed, 8);
    put(&at, counts->lost, 8);
    put(&at, counts->forgotten, 8);
    for (size_t i = 0; i < SBX_STALL_KINDS_KEPT; i++) {
        const struct sbx_stall_kind *kind = &counts->kinds[i];
        if (kind->signature != 0) {
            put(&at, kind->signature, 8);
            put(&at, kind->seen, 8);
            put(&at, kind->carried, 8);
            put(&at, kind->order, 8);
            kinds++;
        }
    }
    for (uint64_t i = 0; i < SBX_STALL_DECISIONS_KEPT; i++) {
        const struct sbx_stall_decision *decision =
            &counts->decisions[(counts->decided + i) % SBX_STALL_DECISIONS_KEPT];
        if (decision->fate != SBX_FATE_UNKNOWN) {
            memcpy(at, decision->id, sizeof decision->id);
            at += sizeof decision->id;
            put(&at, decision->sampled.weight, 8);
            put(&at, decision->sampled.one_in, 4);
            put(&at, decision->fate, 4);
            decisions++;
        }
    }
    put(&count_at, kinds, 4);
    put(&count_at, decisions, 4);
    put(&at, sum_of(bytes_out, (size_t)(at - bytes_out)), 8);
    return (size_t)(at - bytes_out);
}

static bool take_kind(const uint8_t **at, struct sbx_stall_counts *counts, size_t index)
{
    struct sbx_stall_kind kind;
    kind.signature = take(at, 8);
    kind.seen = take(at, 8);
    kind.carried = take(at, 8);
    kind.order = take(at, 8);
    if (kind.signature == 0 || find_kind(counts, kind.signature) != NULL || kind.order >= counts->order) {
        return false;
    }
    counts->kinds[index] = kind;
    return true;
}

bool sbx_stall_counts_parse(const uint8_t *bytes, size_t count, struct sbx_stall_counts *counts_out)
{
    memset(counts_out, 0, sizeof *counts_out);
    if (count < HEAD_BYTES + SUM_BYTES || memcmp(bytes, magic, sizeof magic) != 0) {
        return false;
    }
    const uint8_t *at = bytes + sizeof magic, *sum_at = bytes + count - SUM_BYTES;
    uint64_t kinds = take(&at, 4), decisions = take(&at, 4);
    counts_out->decided = take(&at, 8);
    counts_out->order = take(&at, 8);
    counts_out->seed = take(&at, 8);
    counts_out->lost = take(&at, 8);
    counts_out->forgotten = take(&at, 8);
    bool is_whole = kinds <= SBX_STALL_KINDS_KEPT && decisions <= SBX_STALL_DECISIONS_KEPT &&
                    decisions <= counts_out->decided &&
                    count == HEAD_BYTES + (kinds + decisions) * ENTRY_BYTES + SUM_BYTES &&
                    take(&sum_at, 8) == sum_of(bytes, count - SUM_BYTES);
    for (size_t i = 0; is_whole && i < kinds; i++) {
        is_whole = take_kind(&at, counts_out, i);
    }
    for (uint64_t i = 0; is_whole && i < decisions; i++) {
        struct sbx_stall_decision *decision =
            &counts_out->decisions[(counts_out->decided - decisions + i) % SBX_STALL_DECISIONS_KEPT];
        memcpy(decision->id, at, sizeof decision->id);
        at += sizeof decision->id;
        decision->sampled.weight = take(&at, 8);
        decision->sampled.one_in = (uint32_t)take(&at, 4);
        uint32_t fate = (uint32_t)take(&at, 4);
        decision->fate = (uint8_t)fate;
        is_whole = fate >= SBX_FATE_TOLD && fate <= SBX_FATE_WITHHELD && decision->sampled.weight <= SBX_WEIGHT_MAX;
    }
    if (!is_whole) {
        memset(counts_out, 0, sizeof *counts_out);
    }
    return is_whole;
}
