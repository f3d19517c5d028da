/* SPDX-License-Identifier: Apache-2.0 */
/* compiled_scopes.c - which methods an instruction of a compiled method belongs to.
 *
 * The blob lies in memory that stays mapped, and may be rewritten meanwhile: every offset is checked against its size as it is
 * used, and each scope lies before the one that led to it, so this ends. */
#include "compiled_scopes.h"

#include <string.h>

#include "packed_numbers.h"

static uint32_t number_at(const uint8_t *at)
{
    uint32_t number = 0;
    memcpy(&number, at, sizeof number);
    return number;
}

SBX_SIGNAL_SAFE enum sbx_scopes_at sbx_scopes_find(struct sbx_scopes *scopes_out, const struct sbx_vm_layout *layout,
                                                   const struct sbx_code *code, uint64_t pc)
{
    const uint8_t *blob = (const uint8_t *)(uintptr_t)code->blob;
    uint64_t data_begin = 0;
    memcpy(&data_begin, blob + layout->scopes_data_begin, sizeof data_begin);
    uint32_t metadata = number_at(blob + layout->metadata), pcs = number_at(blob + layout->scopes_pcs);
    uint32_t end = number_at(blob + layout->dependencies), stride = layout->pc_desc_bytes;
    uint64_t data = data_begin - code->blob;
    if (end > code->bytes || pcs > end || data > pcs || metadata > data || stride < 8 || (data & 7) != 0) {
        return SBX_SCOPES_NONE;
    }
    /* The first description at or behind the instruction. The table begins with one before and ends with one behind all. */
    uint32_t low = 0, high = (end - pcs) / stride, wanted = (uint32_t)(pc - code->code);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int32_t at = (int32_t)number_at(blob + pcs + middle * stride + layout->pc_desc_pc);
        if (at < (int32_t)wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low >= (end - pcs) / stride) {
        return SBX_SCOPES_NONE;
    }
    const uint8_t *found = blob + pcs + low * stride;
    uint32_t scope = number_at(found + layout->pc_desc_scope);
    if (scope == 0 || scope >= pcs - data) {
        return SBX_SCOPES_NONE;
    }
    *scopes_out = (struct sbx_scopes){
        .blob = blob,
        .bytes = code->bytes,
        .data = (uint32_t)data,
        .data_bytes = pcs - (uint32_t)data,
        .metadata = metadata,
        .metadata_count = ((uint32_t)data - metadata) / 8,
        .next = scope,
    };
    return number_at(found + layout->pc_desc_pc) == wanted ? SBX_SCOPES_EXACT : SBX_SCOPES_BEHIND;
}

SBX_SIGNAL_SAFE bool sbx_scopes_next(struct sbx_scopes *scopes, const struct sbx_vm_layout *layout,
                                     uint64_t *method_out, int32_t *bci_out)
{
    *method_out = 0;
    if (scopes->next == 0) {
        return false;
    }
    const uint8_t *at = scopes->blob + scopes->data + scopes->next,
                  *end = scopes->blob + scopes->data + scopes->data_bytes;
    uint32_t numbers[3];
    for (uint32_t i = 0; i < 3; i++) {
        numbers[i] = sbx_packed_read(&at, end, layout->packed_number_excess);
    }
    uint32_t sender = numbers[0], index = numbers[1];
    if (at == NULL || sender >= scopes->next || index == 0 || index > scopes->metadata_count) {
        scopes->next = 0;
        return false;
    }
    memcpy(method_out, scopes->blob + scopes->metadata + (size_t)(index - 1) * 8, 8);
    *bci_out = (int32_t)numbers[2] + layout->invocation_entry;
    scopes->next = sender;
    return *method_out != 0;
}
