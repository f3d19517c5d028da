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

/* Three words of a ConstMethod: the pool; the sizes and flags; the code's size with the indexes of name and signature. */
struct head {
    uint64_t pool, sizes, names;
};

/* Through the door. */
static __attribute__((noinline)) bool ask_for_head(const struct sbx_vm_layout *layout, uint64_t address,
                                                   struct sbx_vm_pages *pages, struct head *head_out)
{
    uint64_t words[HEAD_WORDS] = {0};
    if (layout->constants / 8 >= HEAD_WORDS || layout->const_size / 8 >= HEAD_WORDS ||
        layout->code_size / 8 >= HEAD_WORDS || !sbx_vm_words(address, words, HEAD_WORDS)) {
        return false;
    }
    *head_out =
        (struct head){words[layout->constants / 8], words[layout->const_size / 8], words[layout->code_size / 8]};
    sbx_vm_know(pages, address);
    return true;
}

static uint64_t plain_word(uint64_t address)
{
    return *(const uint64_t *)(uintptr_t)address;
}

SBX_SIGNAL_SAFE bool sbx_method_look(struct sbx_method_glance *glance_out, const struct sbx_vm_layout *layout,
                                     uint64_t address, struct sbx_vm_pages *pages)
{
    const uint64_t aligned = ~UINT64_C(7);
    uint64_t slot = address + layout->const_method, at = 0;
    struct head head;
    if (SBX_LIKELY(sbx_vm_is_known(pages, slot, 8))) {
        at = plain_word(slot);
    } else if (sbx_vm_word(slot, &at)) {
        sbx_vm_know(pages, slot);
    } else {
        return false;
    }
    if (SBX_LIKELY(sbx_vm_is_known(pages, at, HEAD_WORDS * 8))) { /* so the layout was looked at */
        head.pool = plain_word(at + (layout->constants & aligned));
        head.sizes = plain_word(at + (layout->const_size & aligned));
        head.names = plain_word(at + (layout->code_size & aligned));
    } else if (!ask_for_head(layout, at, pages, &head)) {
        return false;
    }
    if (head.pool < 4096 || (head.pool & 7) != 0) {
        return false;
    }
    uint32_t words = (uint32_t)(head.sizes >> ((layout->const_size & 7) * 8));
    uint32_t code_bytes = (uint32_t)(head.names >> ((layout->code_size & 7) * 8)) & 0xffff;
    if (words > UINT32_MAX / 8 || words * 8 < layout->const_bytes + code_bytes) {
        return false;
    }
    /* Each part by an odd number of its own, so that the processor multiplies them side by side; then mixed. */
    uint64_t key = address * UINT64_C(0x9e3779b97f4a7c15) + at * UINT64_C(0xbf58476d1ce4e5b9) +
                   head.pool * UINT64_C(0x94d049bb133111eb) + head.sizes * UINT64_C(0xd6e8feb86659fd93) +
                   head.names * UINT64_C(0xff51afd7ed558ccd);
    key = (key ^ key >> 32) * UINT64_C(0xc4ceb9fe1a85ec53);
    key ^= key >> 29;
    glance_out->const_method = at;
    glance_out->code = at + layout->const_bytes;
    glance_out->code_bytes = code_bytes;
    glance_out->key = key | (key == 0);
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
