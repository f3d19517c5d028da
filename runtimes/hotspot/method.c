/* SPDX-License-Identifier: Apache-2.0 */
/* method.c - reads what HotSpot stores about a method. */
#include "method.h"

#include "line_table.h"

/* Returns the symbol in a slot of a constant pool. */
static bool pool_symbol(const struct sbx_vm_layout *layout, uint64_t pool, uint32_t index, uint64_t *symbol_out)
{
    uint32_t length = 0;
    return index != 0 && sbx_vm_number(pool + layout->pool_length, 4, &length) && index < length &&
           sbx_vm_word(pool + layout->pool_bytes + (uint64_t)index * 8, symbol_out) && *symbol_out != 0;
}

SBX_SIGNAL_SAFE bool sbx_method_read(struct sbx_method *method_out, const struct sbx_vm_layout *layout,
                                     uint64_t address)
{
    struct sbx_method method = {.method = address};
    uint32_t words = 0;
    if (!sbx_vm_word(address + layout->const_method, &method.const_method) ||
        !sbx_vm_word(method.const_method + layout->constants, &method.pool) ||
        !sbx_vm_number(method.const_method + layout->name_index, 2, &method.name_index) ||
        !sbx_vm_number(method.const_method + layout->code_size, 2, &method.code_bytes) ||
        !sbx_vm_number(method.const_method + layout->const_flags, 2, &method.flags) ||
        !sbx_vm_number(method.const_method + layout->const_size, 4, &words) ||
        !sbx_vm_word(method.pool + layout->pool_holder, &method.holder) ||
        !sbx_vm_word(method.holder + layout->klass_name, &method.holder_name) ||
        !pool_symbol(layout, method.pool, method.name_index, &method.name)) {
        return false;
    }
    method.bytes = words > UINT32_MAX / 8 ? 0 : words * 8;
    method.code = method.const_method + layout->const_bytes;
    if (method.bytes < layout->const_bytes + method.code_bytes) {
        return false;
    }
    *method_out = method;
    return true;
}

/* Reads through guarded loads. */
static bool ask_for_head(const struct sbx_vm_layout *layout, uint64_t address, struct sbx_method_head *head_out)
{
    uint64_t words[SBX_METHOD_HEAD_WORDS] = {0};
    if (layout->constants / 8 >= SBX_METHOD_HEAD_WORDS || layout->const_size / 8 >= SBX_METHOD_HEAD_WORDS ||
        layout->code_size / 8 >= SBX_METHOD_HEAD_WORDS || !sbx_vm_words(address, words, SBX_METHOD_HEAD_WORDS)) {
        return false;
    }
    *head_out = (struct sbx_method_head){words[layout->constants / 8], words[layout->const_size / 8],
                                         words[layout->code_size / 8]};
    return true;
}

SBX_SIGNAL_SAFE bool sbx_method_look(struct sbx_method_glance *glance_out, const struct sbx_vm_layout *layout,
                                     uint64_t address, struct sbx_vm_pages *pages)
{
    uint64_t slot = address + layout->const_method, at = 0;
    struct sbx_method_head head;
    if (sbx_method_look_again(glance_out, layout, address, pages)) {
        return true;
    }
    if (!sbx_vm_word(slot, &at) || !ask_for_head(layout, at, &head)) {
        return false;
    }
    sbx_vm_know(pages, slot); /* ask_for_head() has checked the layout: plain loads may use it */
    sbx_vm_know(pages, at);
    return sbx_method_glance(glance_out, layout, address, at, &head);
}

SBX_SIGNAL_SAFE uint32_t sbx_method_line(const struct sbx_method *method, const struct sbx_vm_layout *layout,
                                         int32_t bci)
{
    if ((method->flags & layout->has_line_table) == 0 || method->code_bytes == 0) {
        return 0;
    }
    struct sbx_vm_bytes table = {
        .at = method->code + method->code_bytes,
        .left = method->bytes - layout->const_bytes - method->code_bytes,
    };
    return sbx_line_of(table, layout->packed_number_excess, bci < 0 ? 0 : bci);
}

SBX_SIGNAL_SAFE uint64_t sbx_method_source(const struct sbx_method *method, const struct sbx_vm_layout *layout)
{
    uint32_t index = 0;
    uint64_t symbol = 0;
    if (!sbx_vm_number(method->pool + layout->pool_source_file, 2, &index) ||
        !pool_symbol(layout, method->pool, index, &symbol)) {
        return 0;
    }
    return symbol;
}

SBX_SIGNAL_SAFE struct sbx_vm_bytes sbx_symbol_bytes(const struct sbx_vm_layout *layout, uint64_t symbol)
{
    uint32_t length = 0;
    if (symbol == 0 || !sbx_vm_number(symbol + layout->symbol_length, 2, &length)) {
        length = 0;
    }
    return (struct sbx_vm_bytes){.at = symbol + layout->symbol_body, .left = length};
}
