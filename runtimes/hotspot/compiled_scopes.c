/* SPDX-License-Identifier: Apache-2.0 */
/* compiled_scopes.c - which methods an instruction of a compiled method belongs to.
 *
 * The blob is in memory that stays mapped, but it may be rewritten while it is read. So every offset is checked against
 * the blob's size. Each scope must be before the one that led to it, so the loop ends. Data outside of the blob exists
 * while a thread has a frame of the method. But words that only look like such a frame may lead to freed memory, so all
 * of this data is read through guarded loads. */
#include "compiled_scopes.h"

#include <string.h>

#include "packed_numbers.h"

enum {
    SCOPE_NUMBERS = 3,
    SCOPE_WORDS = 3, /* of at most five bytes each, beginning anywhere in the first word */
    PIECE_BYTES_MAX = 64 << 20
};

/* Where the tables are. */
struct tables {
    struct sbx_scopes scopes;
    uint64_t pcs;
    uint32_t pcs_bytes;
};

static uint32_t number_at(uint64_t address)
{
    uint32_t number = 0;
    memcpy(&number, (const void *)(uintptr_t)address, sizeof number);
    return number;
}

static uint64_t word_at(uint64_t address)
{
    uint64_t word = 0;
    memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
    return word;
}

/* JDK 17: the tables are in the blob. */
static bool tables_in_blob(struct tables *tables_out, const struct sbx_vm_layout *layout, const struct sbx_code *code)
{
    uint64_t data = word_at(code->blob + layout->scopes_data) - code->blob;
    uint32_t metadata = number_at(code->blob + layout->metadata), pcs = number_at(code->blob + layout->scopes_pcs);
    uint32_t end = number_at(code->blob + layout->dependencies);
    if (end > code->bytes || pcs > end || data > pcs || metadata > data || (data & 7) != 0) {
        return false;
    }
    *tables_out = (struct tables){
        .scopes = {.data = code->blob + data,
                   .metadata = code->blob + metadata,
                   .data_bytes = pcs - (uint32_t)data,
                   .metadata_count = ((uint32_t)data - metadata) / 8,
                   .is_in_blob = true},
        .pcs = code->blob + pcs,
        .pcs_bytes = end - pcs,
    };
    return true;
}

/* JDK 25: the tables are outside. The data after the scopes and after the metadata is not needed, because nothing
 * refers to it. */
static bool tables_outside(struct tables *tables_out, const struct sbx_vm_layout *layout, const struct sbx_code *code)
{
    uint64_t immutable = word_at(code->blob + layout->immutable_data),
             changing = word_at(code->blob + layout->mutable_data);
    uint32_t pcs = number_at(code->blob + layout->scopes_pcs), data = number_at(code->blob + layout->scopes_data);
    uint32_t end = number_at(code->blob + layout->immutable_bytes);
    uint32_t metadata = number_at(code->blob + layout->relocation_bytes),
             metadata_end = number_at(code->blob + layout->mutable_bytes);
    if (end > PIECE_BYTES_MAX || data > end || pcs > data || ((immutable + pcs) & 7) != 0 ||
        metadata_end > PIECE_BYTES_MAX || metadata > metadata_end || ((changing + metadata) & 7) != 0) {
        return false;
    }
    *tables_out = (struct tables){
        .scopes = {.data = immutable + data,
                   .metadata = changing + metadata,
                   .data_bytes = end - data,
                   .metadata_count = (metadata_end - metadata) / 8},
        .pcs = immutable + pcs,
        .pcs_bytes = data - pcs,
    };
    return true;
}

static bool load_number(bool is_in_blob, uint64_t address, uint32_t *number_out)
{
    if (is_in_blob) {
        *number_out = number_at(address);
        return true;
    }
    return sbx_vm_number(address, sizeof *number_out, number_out);
}

SBX_SIGNAL_SAFE enum sbx_scopes_at sbx_scopes_find(struct sbx_scopes *scopes_out, const struct sbx_vm_layout *layout,
                                                   const struct sbx_code *code, uint64_t pc)
{
    struct tables tables;
    uint32_t stride = layout->pc_desc_bytes;
    bool is_told =
        layout->has_outside_scopes ? tables_outside(&tables, layout, code) : tables_in_blob(&tables, layout, code);
    if (!is_told || stride < 8) {
        return SBX_SCOPES_NONE;
    }
    bool is_in_blob = tables.scopes.is_in_blob;
    /* Finds the first PcDesc at or after the instruction. The table begins with a PcDesc before all instructions and
     * ends with one after all of them. */
    uint32_t count = tables.pcs_bytes / stride, low = 0, high = count, wanted = (uint32_t)(pc - code->code), at = 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (!load_number(is_in_blob, tables.pcs + (uint64_t)middle * stride + layout->pc_desc_pc, &at)) {
            return SBX_SCOPES_NONE;
        }
        if ((int32_t)at < (int32_t)wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    uint64_t found = tables.pcs + (uint64_t)low * stride;
    uint32_t scope = 0;
    if (low >= count || !load_number(is_in_blob, found + layout->pc_desc_scope, &scope) ||
        !load_number(is_in_blob, found + layout->pc_desc_pc, &at) || scope == 0 || scope >= tables.scopes.data_bytes) {
        return SBX_SCOPES_NONE;
    }
    *scopes_out = tables.scopes;
    scopes_out->next = scope;
    return at == wanted ? SBX_SCOPES_EXACT : SBX_SCOPES_BEHIND;
}

/* Returns the bytes of the next scope, up to *end_out: in the blob, or in `copy`. NULL: they cannot be read. */
static const uint8_t *scope_bytes(const struct sbx_scopes *scopes, uint64_t copy[static SCOPE_WORDS],
                                  const uint8_t **end_out)
{
    uint64_t at = scopes->data + scopes->next, end = scopes->data + scopes->data_bytes;
    if (scopes->is_in_blob) {
        *end_out = (const uint8_t *)(uintptr_t)end;
        return (const uint8_t *)(uintptr_t)at;
    }
    uint64_t first = at & ~UINT64_C(7), words = (end - first + 7) / 8;
    words = words < SCOPE_WORDS ? words : SCOPE_WORDS;
    if (!sbx_vm_words(first, copy, (uint32_t)words)) {
        return NULL;
    }
    *end_out = (const uint8_t *)copy + (end - first < words * 8 ? end - first : words * 8);
    return (const uint8_t *)copy + (at - first);
}

SBX_SIGNAL_SAFE bool sbx_scopes_next(struct sbx_scopes *scopes, const struct sbx_vm_layout *layout,
                                     uint64_t *method_out, int32_t *bci_out)
{
    *method_out = 0;
    if (scopes->next == 0) {
        return false;
    }
    uint64_t copy[SCOPE_WORDS];
    const uint8_t *end = NULL, *at = scope_bytes(scopes, copy, &end);
    uint32_t numbers[SCOPE_NUMBERS];
    for (uint32_t i = 0; i < SCOPE_NUMBERS; i++) {
        numbers[i] = sbx_packed_read(&at, end, layout->packed_number_excess);
    }
    uint32_t sender = numbers[0], index = numbers[1];
    if (at == NULL || sender >= scopes->next || index == 0 || index > scopes->metadata_count) {
        scopes->next = 0;
        return false;
    }
    uint64_t slot = scopes->metadata + (uint64_t)(index - 1) * 8;
    if (scopes->is_in_blob) {
        *method_out = word_at(slot);
    } else if (!sbx_vm_word(slot, method_out)) {
        *method_out = 0;
    }
    *bci_out = (int32_t)numbers[2] + layout->invocation_entry;
    scopes->next = sender;
    return *method_out != 0;
}
