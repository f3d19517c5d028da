/* SPDX-License-Identifier: Apache-2.0 */
/* logical_splice.c - puts logical frames at the places of the interpreter that runs them. */
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

/* How many words at the leaf end are logical, including marks of omitted frames between them. */
static size_t logical_count(const uint64_t *words, size_t count)
{
    size_t logical = 0;
    for (size_t i = 0; i < count && (sbx_is_logical(words[i]) || is_cut(words[i])); i++) {
        logical = sbx_is_logical(words[i]) ? i + 1 : logical; /* a mark after the last one is the native stack's */
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
    /* A return address lies after the call, and so perhaps after the end of the code. */
    uint64_t address = entry->bias + (word & SBX_FRAME_OFFSET_MASK) - ((word & SBX_FRAME_EXACT) == 0);
    return address >= provider->code_begin && address < provider->code_end;
}

/* One native entry into a runtime: words[from..to) of a native stack; empty when `from` is the end of the stack. */
struct entry {
    size_t from, to;
    bool is_generated; /* frames of generated code, which the logical frames describe better */
};

/* If the provider named one function of the interpreter, each frame of it is one entry. If it named a whole module, and
 * for generated code, adjacent frames are one entry. */
static struct entry next_entry(const struct sbx_snapshot *snapshot, uint32_t provider, const uint64_t *words,
                               size_t from, size_t count)
{
    if (provider >= snapshot->header.provider_count) {
        return (struct entry){count, count, false};
    }
    const struct sbx_provider_entry *told = &snapshot->header.providers[provider];
    const uint64_t generated = sbx_generated_word(provider);
    while (from < count && words[from] != generated && !is_interpreter(snapshot, told, words[from])) {
        from++;
    }
    struct entry entry = {from, from, from < count && words[from] == generated};
    bool is_one_each = told->code_end != 0 && !entry.is_generated;
    do {
        entry.to += entry.to < count;
    } while (!is_one_each && entry.to < count &&
             (entry.is_generated ? words[entry.to] == generated : is_interpreter(snapshot, told, words[entry.to])));
    return entry;
}

static bool is_border(uint64_t word)
{
    return !is_cut(word) && (word & SBX_FRAME_BORDER) != 0;
}

/* The end of the run that begins at group[from]. Without border marks all frames are one run. */
static size_t run_end(const uint64_t *group, size_t length, size_t from, bool has_borders)
{
    size_t to = from + 1;
    while (to < length && !(has_borders && (is_border(group[to - 1]) || is_cut(group[to])))) {
        to++;
    }
    return to;
}

/* Which native entry belongs to each run. Both lists are counted from the leaf. But the native list may have one more
 * entry at the leaf, which has just begun or is about to return. So if the native stack is complete, both are counted
 * from the root. After a mark of omitted frames they are always counted from the root. */
struct pairing {
    size_t runs, leaf_runs, entries, skip;
};

static struct pairing pair(const struct sbx_snapshot *snapshot, uint32_t provider, const uint64_t *group, size_t length,
                           const uint64_t *native, size_t have, bool has_borders)
{
    struct pairing found = {0};
    bool is_cut_short = false;
    for (size_t from = 0; from < length; from = run_end(group, length, from, has_borders)) {
        is_cut_short |= is_cut(group[from]);
        found.leaf_runs += !is_cut_short;
        found.runs++;
    }
    bool is_whole = have > 0 && native[have - 1] >> SBX_FRAME_MODULE_SHIFT != SBX_MODULE_END;
    for (size_t i = 0; i < have; i++) {
        is_whole = is_whole && !is_cut(native[i]);
    }
    for (struct entry at = next_entry(snapshot, provider, native, 0, have); at.from < have;
         at = next_entry(snapshot, provider, native, at.to, have)) {
        found.entries++;
    }
    bool has_more = has_borders && is_whole && !is_cut_short && found.entries > found.runs;
    found.skip = has_more ? found.entries - found.runs : 0;
    return found;
}

static size_t target_of(const struct pairing *pairing, size_t run)
{
    size_t from_root = pairing->runs - run;
    if (run < pairing->leaf_runs) {
        return pairing->skip + run;
    }
    return pairing->entries >= from_root ? pairing->entries - from_root : pairing->entries;
}

/* Puts the runs of `group` onto their entries of `native`, and everything into `out`. Returns the number of words in
 * `out`. A run without an entry of its own follows the next inner run. */
static size_t merge(const struct sbx_snapshot *snapshot, const uint64_t *group, size_t length, const uint64_t *native,
                    size_t have, uint64_t *out)
{
    uint32_t provider = provider_of(group[length - 1]);
    bool is_safepoint = (group[length - 1] & SBX_FRAME_EXACT) != 0, has_borders = false;
    for (size_t i = 0; i < length; i++) {
        has_borders |= is_border(group[i]);
    }
    struct pairing pairing = pair(snapshot, provider, group, length, native, have, has_borders);
    struct entry at = next_entry(snapshot, provider, native, 0, have);
    size_t number = 0, used = 0, count = 0, run = 0;
    for (size_t from = 0; from < length; run++) {
        for (; number < target_of(&pairing, run) && at.from < have; number++) {
            at = next_entry(snapshot, provider, native, at.to, have);
        }
        size_t until = at.from < have ? at.from : used;
        for (; used < until; used++) {
            if (run != 0 || !is_safepoint) { /* otherwise these frames are the provider's own */
                out[count++] = native[used];
            }
        }
        size_t to = run_end(group, length, from, has_borders);
        for (; from < to; from++) {
            out[count++] = group[from] & ~(is_cut(group[from]) ? 0 : SBX_FRAME_EXACT | SBX_FRAME_BORDER);
        }
        if (at.from < have) {
            used = at.is_generated ? at.to : used;
            at = next_entry(snapshot, provider, native, at.to, have);
            number++;
        }
    }
    for (; used < have; used++) {
        out[count++] = native[used];
    }
    return count;
}

size_t sbx_logical_splice(const struct sbx_snapshot *snapshot, uint64_t *words, size_t count, uint64_t *room)
{
    size_t end = logical_count(words, count);
    if (end == 0) {
        return count;
    }
    size_t have = count - end;
    memcpy(room, words + end, have * sizeof *room);
    while (end > 0) { /* from the outermost group inwards */
        uint32_t provider = provider_of(words[end - 1]);
        size_t begin = end - 1;
        while (begin > 0 && (is_cut(words[begin - 1]) || provider_of(words[begin - 1]) == provider)) {
            begin--;
        }
        while (is_cut(words[begin])) {
            begin++; /* a mark at a group's leaf end is not part of it. Ends: the last word is logical */
        }
        memcpy(words + end, room, have * sizeof *words); /* there is space: these words came from there */
        have = merge(snapshot, words + begin, end - begin, words + end, have, room);
        while (begin > 0 && is_cut(words[begin - 1])) {
            begin--;
        }
        end = begin;
    }
    memcpy(words, room, have * sizeof *words);
    return have;
}
