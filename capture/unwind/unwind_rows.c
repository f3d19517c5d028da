/* SPDX-License-Identifier: Apache-2.0 */
/* unwind_rows.c - compiles .eh_frame into sorted rows, and finds the row of an address.
 *
 * Building runs on a thread of this library inside the application. So memory is mapped, never malloc'ed, and nothing
 * is sorted with qsort, which calls malloc. Building has three steps: list the functions (from the search table, or by
 * walking the section when there is no table); compile each, in order of address, into growing arrays; copy the result
 * into one mapping:
 *
 *     pages    [ buckets: bucket_count + 1 ] [ offsets: count ] [ rules: count ]      all uint32_t
 *
 *   I1  offsets rise strictly, and neighbours' rules differ
 *   I2  the last rule is SBX_RULE_NONE: no row covers code behind the last function
 *   I3  buckets[i] is the first row at or behind i * 4 KiB; buckets[bucket_count] is count */
#include "unwind_rows.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "cfa_program.h"
#include "eh_frame.h"
#include "pages.h"
#include "sealed_pages.h"
#include "stub_rows.h"
#include "unwind_rule.h"

enum {
    FIRST_CAPACITY = 4096, /* rows */
    ROWS_MAX = 1 << 28,    /* 2 GiB of rows: no program has so many, so it is damage */
    WORK_FACTOR = 4,       /* a section whose programs are read more than this many times over counts as malicious */
};

/* A mapped array of words that grows. */
struct words {
    uint32_t *at;
    size_t capacity; /* elements */
};

struct builder {
    struct sbx_eh_section section;
    uint64_t text_begin, text_end;
    const uint8_t *text;
    size_t text_bytes, stub_bytes_left;
    uint64_t text_address;
    uint64_t *functions;    /* code offset << 32 | position of its FDE, sorted */
    size_t functions_bytes; /* mapped */
    uint32_t function_count;
    struct words offsets, rules;
    uint32_t count;
    uint32_t skipped;
};

static void *map_pages(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static void unmap_words(struct words *words)
{
    if (words->at != NULL) {
        munmap(words->at, words->capacity * sizeof(uint32_t));
    }
}

static int grow_words(struct words *words, size_t used)
{
    struct words grown = {.capacity = words->capacity == 0 ? FIRST_CAPACITY : words->capacity * 2};
    grown.at = map_pages(grown.capacity * sizeof(uint32_t));
    if (grown.at == NULL) {
        return -ENOMEM;
    }
    if (used > 0) {
        memcpy(grown.at, words->at, used * sizeof(uint32_t));
    }
    unmap_words(words);
    *words = grown;
    return 0;
}

/* ---- the list of functions ---- */

static void sift_down(uint64_t *keys, size_t root, size_t count)
{
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count) {
            return;
        }
        if (child + 1 < count && keys[child + 1] > keys[child]) {
            child++;
        }
        if (keys[root] >= keys[child]) {
            return;
        }
        uint64_t swapped = keys[root];
        keys[root] = keys[child];
        keys[child] = swapped;
        root = child;
    }
}

/* Heapsort: in place, no recursion, no allocation, and no input makes it slow. */
static void sort_keys(uint64_t *keys, size_t count)
{
    for (size_t i = count / 2; i-- > 0;) {
        sift_down(keys, i, count);
    }
    for (size_t end = count; end-- > 1;) {
        uint64_t largest = keys[0];
        keys[0] = keys[end];
        keys[end] = largest;
        sift_down(keys, 0, end);
    }
}

static int reserve_functions(struct builder *builder, size_t count)
{
    builder->functions_bytes = (count == 0 ? 1 : count) * sizeof(uint64_t);
    builder->functions = map_pages(builder->functions_bytes);
    return builder->functions == NULL ? -ENOMEM : 0;
}

static void add_function(struct builder *builder, uint64_t begin, uint64_t position)
{
    if (begin < builder->text_begin || begin >= builder->text_end || position >= builder->section.size) {
        builder->skipped++; /* usually a function that the linker dropped: its address is 0 */
        return;
    }
    builder->functions[builder->function_count++] = (begin - builder->text_begin) << 32 | position;
}

static int list_from_table(struct builder *builder, const struct sbx_eh_search_table *table)
{
    int result = reserve_functions(builder, table->count);
    if (result != 0) {
        return result;
    }
    for (uint32_t i = 0; i < table->count; i++) {
        uint64_t begin, fde_address;
        sbx_eh_search_table_entry(table, i, &begin, &fde_address);
        add_function(builder, begin, fde_address - builder->section.address); /* below its start wraps: is refused */
    }
    return 0;
}

/* Read the CIE that the FDE at `position` names, unless *cie is that CIE already. `initial` may be NULL. */
static int follow_cie(const struct sbx_eh_section *section, uint32_t position, struct sbx_eh_cie *cie,
                      struct sbx_frame_state *initial)
{
    uint32_t cie_position;
    if (sbx_eh_fde_cie(section, position, &cie_position) != 0) {
        return -EINVAL;
    }
    if (cie->program != NULL && cie->position == cie_position) {
        return 0;
    }
    if (sbx_eh_cie_read(section, cie_position, cie) != 0 ||
        (initial != NULL && sbx_cfa_initial_state(cie, initial) != 0)) {
        cie->program = NULL;
        return -EINVAL;
    }
    return 0;
}

static int list_from_section(struct builder *builder)
{
    const struct sbx_eh_section *section = &builder->section;
    struct sbx_eh_entry entry;
    uint32_t count = 0;
    int result;
    for (uint32_t position = 0; (result = sbx_eh_frame_next(section, &position, &entry)) == 1 || result == -ENOTSUP;) {
        count += result == 1 && entry.is_fde;
    }
    result = reserve_functions(builder, count);
    if (result != 0) {
        return result;
    }
    struct sbx_eh_cie cie = {0};
    for (uint32_t position = 0; (result = sbx_eh_frame_next(section, &position, &entry)) == 1 || result == -ENOTSUP;) {
        struct sbx_eh_fde fde;
        if (result == 1 && !entry.is_fde) {
            continue;
        }
        if (result == -ENOTSUP || follow_cie(section, entry.position, &cie, NULL) != 0 ||
            sbx_eh_fde_read(section, entry.position, &cie, &fde) != 0) {
            builder->skipped++;
            continue;
        }
        add_function(builder, fde.begin, entry.position);
    }
    builder->skipped += result != 0; /* the length is bad, so the rest of the section cannot be read */
    return 0;
}

/* ---- from functions to rows ---- */

/* sbx_rule_put: append a row; keeps I1. */
static int put_row(void *context, uint64_t address, uint32_t rule)
{
    struct builder *builder = context;
    uint32_t offset = (uint32_t)(address - builder->text_begin);
    uint32_t count = builder->count;
    while (count > 0 && builder->offsets.at[count - 1] >= offset) {
        count--; /* the gap before a function that follows directly, or a function that overlaps this one */
    }
    if (count > 0 && builder->rules.at[count - 1] == rule) {
        builder->count = count;
        return 0;
    }
    if (count == ROWS_MAX) {
        return -E2BIG;
    }
    if (count == builder->offsets.capacity) {
        int result = grow_words(&builder->offsets, count);
        if (result == 0) {
            result = grow_words(&builder->rules, count);
        }
        if (result != 0) {
            return result;
        }
    }
    builder->offsets.at[count] = offset;
    builder->rules.at[count] = rule;
    builder->count = count + 1;
    return 0;
}

/* Put rows for the stubs that the linker wrote between two functions. */
static int put_stubs(struct builder *builder, uint64_t begin, uint64_t end)
{
    begin = begin < builder->text_address ? builder->text_address : begin;
    uint64_t at = begin - builder->text_address;
    if (builder->text == NULL || end <= begin || end - begin < SBX_STUBS_MIN_BYTES || at >= builder->text_bytes) {
        return 0;
    }
    size_t bytes = builder->text_bytes - at;
    bytes = end - begin < bytes ? end - begin : bytes;
    if (bytes > builder->stub_bytes_left) { /* keep the part next to the function behind it */
        at += bytes - builder->stub_bytes_left;
        begin += bytes - builder->stub_bytes_left;
        bytes = builder->stub_bytes_left;
    }
    builder->stub_bytes_left -= bytes;
    return sbx_stub_rows_put(builder->text + at, bytes, begin, put_row, builder);
}

static int compile_functions(struct builder *builder)
{
    const struct sbx_eh_section *section = &builder->section;
    struct sbx_eh_cie cie = {0};
    struct sbx_frame_state initial;
    uint64_t budget = (uint64_t)section->size * WORK_FACTOR;
    uint64_t last_begin = 0, last_end = builder->text_begin;
    for (uint32_t i = 0; i < builder->function_count; i++) {
        uint32_t position = (uint32_t)builder->functions[i];
        struct sbx_eh_fde fde;
        if (follow_cie(section, position, &cie, &initial) != 0 || sbx_eh_fde_read(section, position, &cie, &fde) != 0 ||
            fde.begin < builder->text_begin || fde.end > builder->text_end || fde.begin < last_begin) {
            builder->skipped++;
            continue;
        }
        if (fde.program_bytes > budget) {
            return -EINVAL; /* entries overlap, and would be read again and again */
        }
        budget -= fde.program_bytes;
        last_begin = fde.begin;
        int result = put_stubs(builder, last_end, fde.begin);
        if (result != 0) {
            return result;
        }
        last_end = fde.end > last_end ? fde.end : last_end;
        result = sbx_cfa_program_run(section, &cie, &initial, &fde, put_row, builder);
        if (result == -EINVAL) {
            builder->skipped++; /* its rows end in SBX_RULE_UNSUPPORTED */
        } else if (result != 0) {
            return result;
        }
        result = put_row(builder, fde.end, SBX_RULE_NONE);
        if (result != 0) {
            return result;
        }
    }
    if (builder->count == 0) {
        return -ENOENT;
    }
    return put_stubs(builder, last_end, builder->text_end);
}

static int publish(const struct builder *builder, struct sbx_unwind_rows *rows_out)
{
    uint32_t count = builder->count;
    uint32_t bucket_count = (builder->offsets.at[count - 1] >> SBX_ROWS_BUCKET_SHIFT) + 1;
    size_t bytes = ((size_t)bucket_count + 1 + 2 * (size_t)count) * sizeof(uint32_t);
    uint32_t *buckets = sbx_pages_map(bytes);
    if (buckets == NULL) {
        return -ENOMEM;
    }
    uint32_t row = 0;
    for (uint32_t i = 0; i < bucket_count; i++) {
        while (row < count && builder->offsets.at[row] >> SBX_ROWS_BUCKET_SHIFT < i) {
            row++;
        }
        buckets[i] = row;
    }
    buckets[bucket_count] = count;
    uint32_t *offsets = buckets + bucket_count + 1;
    memcpy(offsets, builder->offsets.at, count * sizeof(uint32_t));
    memcpy(offsets + count, builder->rules.at, count * sizeof(uint32_t));
    buckets = sbx_pages_seal(buckets, bytes);
    offsets = buckets + bucket_count + 1;
    *rows_out = (struct sbx_unwind_rows){
        .offsets = offsets,
        .rules = offsets + count,
        .count = count,
        .base = builder->text_begin,
        .buckets = buckets,
        .bucket_count = bucket_count,
        .pages = buckets,
        .pages_bytes = bytes,
    };
    return 0;
}

/* ---- public functions ---- */

/* Find where .eh_frame lies, from the data the caller gave. */
static int find_section(const struct sbx_unwind_source *source, const struct sbx_eh_search_table *table,
                        struct sbx_eh_section *section_out)
{
    if (source->eh_frame != NULL) {
        *section_out = (struct sbx_eh_section){source->eh_frame, source->eh_frame_bytes, source->eh_frame_address};
    } else if (table->eh_frame_address == 0) {
        return -ENOENT;
    } else {
        uint64_t at = table->eh_frame_address - source->image_address; /* an address below the image wraps: refused */
        if (source->image == NULL || at >= source->image_bytes) {
            return -EINVAL;
        }
        *section_out = (struct sbx_eh_section){source->image + at, source->image_bytes - at, table->eh_frame_address};
    }
    if (section_out->size > UINT32_MAX) {
        section_out->size = UINT32_MAX; /* positions have 32 bits, so entries behind that are not read */
    }
    return section_out->size == 0 ? -ENOENT : 0;
}

int sbx_unwind_rows_build(const struct sbx_unwind_source *source, struct sbx_unwind_rows *rows_out,
                          uint32_t *skipped_out)
{
    *rows_out = (struct sbx_unwind_rows){0};
    *skipped_out = 0;
    if (source->text_begin >= source->text_end) {
        return -EINVAL;
    }
    if (source->text_end - source->text_begin > UINT32_MAX) {
        return -E2BIG;
    }
    struct builder builder = {.text_begin = source->text_begin,
                              .text_end = source->text_end,
                              .text = source->text,
                              .text_bytes = source->text_bytes,
                              .text_address = source->text_address,
                              .stub_bytes_left = SBX_STUBS_MAX_BYTES};
    struct sbx_eh_search_table table = {0};
    if (source->eh_frame_hdr != NULL) {
        struct sbx_eh_section header = {source->eh_frame_hdr, source->eh_frame_hdr_bytes, source->eh_frame_hdr_address};
        if (sbx_eh_search_table_read(&header, &table) != 0 && source->eh_frame == NULL) {
            return -EINVAL;
        }
    }
    int result = find_section(source, &table, &builder.section);
    if (result != 0) {
        return result;
    }
    result = table.entries != NULL && table.count > 0 ? list_from_table(&builder, &table) : list_from_section(&builder);
    if (result != 0) {
        goto unmap_functions;
    }
    for (uint32_t i = 1; i < builder.function_count; i++) {
        if (builder.functions[i] < builder.functions[i - 1]) {
            sort_keys(builder.functions, builder.function_count);
            break;
        }
    }
    result = compile_functions(&builder);
    if (result == 0) {
        result = publish(&builder, rows_out);
    }
    *skipped_out = builder.skipped;
    unmap_words(&builder.rules);
    unmap_words(&builder.offsets);
unmap_functions:
    if (builder.functions != NULL) {
        munmap(builder.functions, builder.functions_bytes);
    }
    return result;
}

void sbx_unwind_rows_release(struct sbx_unwind_rows *rows)
{
    if (rows == NULL) {
        return;
    }
    if (rows->pages != NULL) {
        munmap(rows->pages, rows->pages_bytes);
    }
    *rows = (struct sbx_unwind_rows){0};
}

uint32_t sbx_unwind_rows_find(const struct sbx_unwind_rows *rows, uint64_t address)
{
    uint64_t offset = address - rows->base; /* an address below the base wraps, and is then behind every bucket */
    uint64_t bucket = offset >> SBX_ROWS_BUCKET_SHIFT;
    if (bucket >= rows->bucket_count) {
        return SBX_RULE_NONE; /* I2 */
    }
    uint32_t low = rows->buckets[bucket];
    uint32_t high = rows->buckets[bucket + 1];
    while (low < high) { /* first row behind the offset */
        uint32_t middle = low + (high - low) / 2;
        if (rows->offsets[middle] <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == 0 ? SBX_RULE_NONE : rows->rules[low - 1];
}
