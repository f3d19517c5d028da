/* SPDX-License-Identifier: Apache-2.0 */
/* code_cache.c - finds the piece of generated code that contains an address. */
#include "code_cache.h"

#include <string.h>

#include "order.h"

enum {
    SEGMENT_FREE = 0xff,
    HOPS_MAX = 1 << 14, /* to a block's first segment: at most 254 segments a hop, some 10,000 segments a block */
    BLOB_BYTES_MAX = 64 << 20,
    FRAME_WORDS_MAX = 1 << 20,
};

bool sbx_code_cache_open(struct sbx_code_cache *cache_out, const struct sbx_vm_layout *layout)
{
    struct sbx_code_cache cache = {.heap_count = 0};
    uint64_t high = 0, array = 0, data = 0, queue = 0, buffer = 0;
    uint32_t count = 0, bytes = 0;
    if (!sbx_vm_word(layout->code_low_bound, &cache.low) || !sbx_vm_word(layout->code_high_bound, &high) ||
        !sbx_vm_word(layout->code_heaps, &array) || !sbx_vm_word(layout->interpreter_code, &queue) ||
        !sbx_vm_word(layout->call_stub_return, &cache.call_stub_return) || cache.call_stub_return == 0 || queue == 0) {
        return false;
    }
    if (!sbx_vm_number(array, 4, &count) || !sbx_vm_word(array + layout->array_data, &data) || count == 0 ||
        count > SBX_CODE_HEAPS_MAX || high <= cache.low) {
        return false;
    }
    cache.bytes = high - cache.low;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t space = 0;
        if (!sbx_vm_word(data + i * 8, &cache.heaps[i]) ||
            !sbx_vm_word(cache.heaps[i] + layout->heap_memory + layout->space_low, &space) ||
            !sbx_code_cache_holds(&cache, space)) {
            return false;
        }
    }
    cache.heap_count = count;
    if (!sbx_vm_word(queue + layout->stub_buffer, &buffer) ||
        !sbx_vm_number(queue + layout->stub_buffer_limit, 4, &bytes) || !sbx_code_cache_holds(&cache, buffer)) {
        return false;
    }
    cache.interpreter = (struct sbx_vm_span){.low = buffer, .bytes = bytes};
    *cache_out = cache;
    return true;
}

static uint64_t plain_word(uint64_t address)
{
    uint64_t word = 0;
    memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
    return word;
}

static uint32_t plain_number(uint64_t address)
{
    uint32_t number = 0;
    memcpy(&number, (const void *)(uintptr_t)address, sizeof number);
    return number;
}

/* Returns the block of `heap` that contains `pc`, 0 for none. *end_out is the end of the heap, *segment_out the block's
 * byte in the segment map. */
static uint64_t find_block(const struct sbx_vm_layout *layout, uint64_t heap, uint64_t pc, uint64_t *end_out,
                           uint64_t *segment_out)
{
    uint64_t memory = heap + layout->heap_memory, segmap = heap + layout->heap_segmap;
    uint64_t low = plain_word(memory + layout->space_low), high = plain_word(memory + layout->space_high);
    if (pc < low || pc >= high) {
        return 0;
    }
    uint32_t log2 = plain_number(heap + layout->heap_log2_segment) & 31;
    uint64_t map = plain_word(segmap + layout->space_low);
    uint64_t segment = (pc - low) >> log2;
    if (segment >= plain_word(segmap + layout->space_high) - map) {
        return 0;
    }
    const uint8_t *hops = (const uint8_t *)(uintptr_t)map;
    for (uint32_t i = 0; i < HOPS_MAX; i++) {
        uint8_t back = hops[segment];
        if (back == 0) {
            *end_out = high;
            *segment_out = map + segment;
            return low + (segment << log2);
        }
        if (back == SEGMENT_FREE || back > segment) {
            return 0;
        }
        segment -= back;
    }
    return 0;
}

/* Addresses of names that were read before. They are literals in the JVM's library, one of each. relaxed: right or 0 */
static uint64_t compiled_name, wrapper_name;

/* Does the name begin with `text`? If `length` includes the final 0, the name must end there, too. */
static bool begins(uint64_t name, const char *text, uint32_t length)
{
    struct sbx_vm_bytes bytes = {.at = name, .left = length};
    for (uint32_t i = 0; i < length; i++) {
        if (sbx_vm_next_byte(&bytes) != (uint8_t)text[i]) {
            return false;
        }
    }
    return true;
}

static enum sbx_code_kind read_kind(uint64_t name)
{
    static const char compiled[] = "nmethod", wrapper[] = "native n", continuation[] = "StubRoutines (continuation";
    return begins(name, compiled, sizeof compiled)               ? SBX_CODE_COMPILED
           : begins(name, wrapper, sizeof wrapper - 1)           ? SBX_CODE_WRAPPER
           : begins(name, continuation, sizeof continuation - 1) ? SBX_CODE_CONTINUATION
                                                                 : SBX_CODE_STUB;
}

/* The kind from CodeBlob::_name. Compiled methods have "nmethod" and "native nmethod". All other blobs have frames of
 * another kind, or none. */
static enum sbx_code_kind kind_by_name(uint64_t name)
{
    if (SBX_LIKELY(name == sbx_load_relaxed(&compiled_name) && name != 0)) {
        return SBX_CODE_COMPILED;
    }
    if (name == sbx_load_relaxed(&wrapper_name) && name != 0) {
        return SBX_CODE_WRAPPER;
    }
    enum sbx_code_kind kind = read_kind(name);
    if (kind == SBX_CODE_COMPILED || kind == SBX_CODE_WRAPPER) {
        sbx_store_relaxed(kind == SBX_CODE_COMPILED ? &compiled_name : &wrapper_name, name); /* relaxed: as above */
    }
    return kind;
}

/* From which offset of the instructions on a frame has its full size. "Never" is -1 there, which is out of reach as an
 * unsigned number. */
static uint32_t frame_complete(const struct sbx_vm_layout *layout, uint64_t blob)
{
    uint32_t number = plain_number(blob + layout->blob_frame_complete);
    return layout->frame_complete_bytes == 2 ? (uint32_t)(int32_t)(int16_t)number : number;
}

SBX_SIGNAL_SAFE struct sbx_code sbx_code_find(const struct sbx_code_cache *cache, const struct sbx_vm_layout *layout,
                                              uint64_t pc)
{
    struct sbx_code code = {.kind = SBX_CODE_NONE};
    if (!sbx_code_cache_holds(cache, pc)) {
        return code;
    }
    if (pc == cache->call_stub_return) {
        code.kind = SBX_CODE_ENTRY;
        return code;
    }
    if (sbx_code_cache_interprets(cache, pc)) {
        code.kind = SBX_CODE_INTERPRETER;
        return code;
    }
    uint64_t block = 0, end = 0, segment = 0;
    for (uint32_t i = 0; i < cache->heap_count && block == 0; i++) {
        block = find_block(layout, cache->heaps[i], pc, &end, &segment);
    }
    uint64_t blob = block + layout->block_bytes;
    if (block == 0 || end - block < layout->block_bytes + 512 ||
        *(const volatile uint8_t *)(uintptr_t)(block + layout->block_used) == 0) {
        return code; /* 512: no blob has a longer header */
    }
    uint32_t bytes = plain_number(blob + layout->blob_size);
    uint32_t frame_words = plain_number(blob + layout->blob_frame_size);
    uint64_t begin = sbx_blob_place(blob, 0, layout->code_begin);
    if (bytes > BLOB_BYTES_MAX || bytes > end - blob || pc - blob >= bytes || begin - blob >= bytes) {
        return code;
    }
    code = (struct sbx_code){
        .kind = kind_by_name(plain_word(blob + layout->blob_name)),
        .bytes = bytes,
        .frame_words = frame_words > FRAME_WORDS_MAX ? 0 : frame_words,
        .blob = blob,
        .segment = segment,
        .code = begin,
        .frame_is_set = begin + frame_complete(layout, blob),
    };
    return code;
}
