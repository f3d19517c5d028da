/* SPDX-License-Identifier: Apache-2.0 */
/* logical_splice.c - logical frames put where the interpreter that runs them stands. */
#include "logical_splice.h"

#include <stdbool.h>
#include <string.h>

static bool is_cut(uint64_t word)
{
    return word >> SBX_FRAME_MODULE_SHIFT == SBX_MODULE_CUT;
}

static uint32_t provider_of(uint64_t word)
{
    return (uint32_t)(word >> SBX_FRAME_MODULE_SHIFT) - SBX_MODULE_LOGICAL;
}

/* How many words at the leaf end are logical, marks of what was left out between them included. */
static size_t logical_count(const uint64_t *words, size_t count)
{
    size_t logical = 0;
    for (size_t i = 0; i < count && (sbx_is_logical(words[i]) || is_cut(words[i])); i++) {
        logical = sbx_is_logical(words[i]) ? i + 1 : logical; /* a mark behind the last of them is the native stack's */
    }
    return logical;
}

/* Is the native frame in the code that the provider named? */
static bool is_interpreter(const struct sbx_snapshot *snapshot, const struct sbx_provider_entry *provider,
                           uint64_t word)
{
    uint64_t module = word >> SBX_FRAME_MODULE_SHIFT;
    if (provider->code_begin == 0 || module >= snapshot->module_count) {
        return false;
    }
    const struct sbx_module_entry *entry = &snapshot->modules[module];
    if (provider->code_end == 0) {
        return provider->code_begin >= entry->start && provider->code_begin < entry->end;
    }
    /* A return address lies behind the call, perhaps behind the code. */
    uint64_t address = entry->bias + (word & SBX_FRAME_OFFSET_MASK) - ((word & SBX_FRAME_EXACT) == 0);
    return address >= provider->code_begin && address < provider->code_end;
}

/* The innermost native frame of the provider's interpreter in words[0..count); SIZE_MAX: none. */
static size_t find_interpreter(const struct sbx_snapshot *snapshot, uint32_t provider, const uint64_t *words,
                               size_t count)
{
    for (size_t i = 0; i < count && provider < snapshot->header.provider_count; i++) {
        if (is_interpreter(snapshot, &snapshot->header.providers[provider], words[i])) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* `room` holds the result so far, `have` words; the group words[0..length) goes on top of its interpreter there. Returns
 * the new number. */
static size_t place_group(const struct sbx_snapshot *snapshot, const uint64_t *group, size_t length, uint64_t *room,
                          size_t have)
{
    bool is_safepoint = (group[length - 1] & SBX_FRAME_EXACT) != 0;
    size_t at = find_interpreter(snapshot, provider_of(group[length - 1]), room, have);
    size_t inner = at == SIZE_MAX || is_safepoint ? 0 : at; /* native frames that stay further in */
    size_t outer_from = at == SIZE_MAX ? 0 : at;
    memmove(room + inner + length, room + outer_from, (have - outer_from) * sizeof *room);
    for (size_t i = 0; i < length; i++) {
        room[inner + i] = group[i] & ~(is_cut(group[i]) ? 0 : SBX_FRAME_EXACT);
    }
    return inner + length + have - outer_from;
}

size_t sbx_logical_splice(const struct sbx_snapshot *snapshot, uint64_t *words, size_t count, uint64_t *room)
{
    size_t end = logical_count(words, count);
    if (end == 0) {
        return count;
    }
    size_t have = count - end;
    memcpy(room, words + end, have * sizeof *room);
    while (end > 0) { /* from the outermost group in */
        uint32_t provider = provider_of(words[end - 1]);
        size_t begin = end - 1;
        while (begin > 0 && (is_cut(words[begin - 1]) || provider_of(words[begin - 1]) == provider)) {
            begin--;
        }
        while (is_cut(words[begin])) {
            begin++; /* a mark at a group's leaf end is no part of it. Ends: the last word is logical */
        }
        have = place_group(snapshot, words + begin, end - begin, room, have);
        while (begin > 0 && is_cut(words[begin - 1])) {
            begin--;
        }
        end = begin;
    }
    memcpy(words, room, have * sizeof *words);
    return have;
}
