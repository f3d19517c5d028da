/* SPDX-License-Identifier: Apache-2.0 */
/* method.c - what HotSpot keeps of a method. */
#include "method.h"

#include "line_table.h"

enum {
    HEAD_WORDS = 5 /* of a ConstMethod, in which all lies that is looked at often */
};

/* The symbol in a slot of a constant pool. */
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

SBX_SIGNAL_SAFE bool sbx_method_look(struct sbx_method_glance *glance_out, const struct sbx_vm_layout *layout,
                                     uint64_t address)
{
    struct sbx_method_glance glance = {.const_method = 0};
    uint64_t head[HEAD_WORDS] = {0};
    if (!sbx_vm_word(address + layout->const_method, &glance.const_method) || layout->constants / 8 >= HEAD_WORDS ||
        layout->const_size / 8 >= HEAD_WORDS || layout->code_size / 8 >= HEAD_WORDS ||
        !sbx_vm_words(glance.const_method, head, HEAD_WORDS)) {
        return false;
    }
    /* The pool; the sizes and flags; the code's size with the indexes of name and signature. */
    uint64_t pool = head[layout->constants / 8], sizes = head[layout->const_size / 8],
             names = head[layout->code_size / 8];
    if (pool < 4096 || (pool & 7) != 0) {
        return false;
    }
    uint32_t words = (uint32_t)(sizes >> ((layout->const_size & 7) * 8));
    glance.code_bytes = (uint32_t)(names >> ((layout->code_size & 7) * 8)) & 0xffff;
    glance.code = glance.const_method + layout->const_bytes;
    if (words > UINT32_MAX / 8 || words * 8 < layout->const_bytes + glance.code_bytes) {
        return false;
    }
    const uint64_t parts[] = {address, glance.const_method, pool, sizes, names};
    for (uint32_t i = 0; i < SBX_COUNT_OF(parts); i++) {
        glance.key = (glance.key ^ parts[i]) * UINT64_C(0x9e3779b97f4a7c15);
        glance.key ^= glance.key >> 29;
    }
    glance.key |= glance.key == 0;
    *glance_out = glance;
    return true;
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
