/* SPDX-License-Identifier: Apache-2.0 */
/* method.h - what HotSpot stores about a method: its bytecodes, its names, its lines.
 *
 *     Method --> ConstMethod [ header | bytecodes | lines ]          all of it metaspace, which lives as long as the class
 *                    '--> ConstantPool [ header | slots: Symbol* ... ]
 *                              '--> InstanceKlass --> Symbol "java/lang/String" */
#ifndef SBX_METHOD_H
#define SBX_METHOD_H

#include "vm_memory.h"
#include "vm_structs.h"

struct sbx_method {
    uint64_t method, const_method, pool, holder;
    uint64_t name, holder_name; /* Symbol* */
    uint64_t code;              /* bytecodes */
    uint32_t code_bytes;        /* 0: a native method */
    uint32_t name_index;
    uint32_t flags, bytes; /* of the ConstMethod */
};

/* Reads a method. Returns false if there is no method at `address`. */
SBX_SIGNAL_SAFE bool sbx_method_read(struct sbx_method *method_out, const struct sbx_vm_layout *layout,
                                     uint64_t address);

/* What a walk needs of each method that it meets. This takes fewer loads than the whole. */
struct sbx_method_glance {
    uint64_t const_method;
    uint64_t code; /* bytecodes */
    uint32_t code_bytes;
    uint64_t key; /* never 0; differs when another method is at this address later, or the class is redefined */
};

/* Three words of a ConstMethod that contain all that is read often: the pool; the sizes and flags; the size of the code
 * with the indexes of name and signature. */
struct sbx_method_head {
    uint64_t pool, sizes, names;
};
enum {
    SBX_METHOD_HEAD_WORDS = 5 /* the three words are within so many words */
};

/* Decodes the words. Returns false if they are not those of a method. */
SBX_SIGNAL_SAFE static inline bool sbx_method_glance(struct sbx_method_glance *glance_out,
                                                     const struct sbx_vm_layout *layout, uint64_t address,
                                                     uint64_t const_method, const struct sbx_method_head *head)
{
    uint32_t words = (uint32_t)(head->sizes >> ((layout->const_size & 7) * 8));
    uint32_t code_bytes = (uint32_t)(head->names >> ((layout->code_size & 7) * 8)) & 0xffff;
    if (head->pool < 4096 || (head->pool & 7) != 0 || words > UINT32_MAX / 8 ||
        words * 8 < layout->const_bytes + code_bytes) {
        return false;
    }
    /* Each part is multiplied by an odd number of its own, so that the CPU multiplies them in parallel. Then the sum is
     * mixed. */
    uint64_t key = address * UINT64_C(0x9e3779b97f4a7c15) + const_method * UINT64_C(0xbf58476d1ce4e5b9) +
                   head->pool * UINT64_C(0x94d049bb133111eb) + head->sizes * UINT64_C(0xd6e8feb86659fd93) +
                   head->names * UINT64_C(0xff51afd7ed558ccd);
    key = (key ^ key >> 32) * UINT64_C(0xc4ceb9fe1a85ec53);
    key ^= key >> 29;
    glance_out->const_method = const_method;
    glance_out->code = const_method + layout->const_bytes;
    glance_out->code_bytes = code_bytes;
    glance_out->key = key | (key == 0);
    return true;
}

/* Reads with plain loads if the walk has tested all of the memory. Returns false if it has not, or if there is no
 * method. */
SBX_SIGNAL_SAFE static inline bool sbx_method_look_again(struct sbx_method_glance *glance_out,
                                                         const struct sbx_vm_layout *layout, uint64_t address,
                                                         const struct sbx_vm_pages *pages)
{
    const uint64_t aligned = ~UINT64_C(7);
    uint64_t slot = address + layout->const_method;
    if (!sbx_vm_is_known(pages, slot, 8)) {
        return false;
    }
    uint64_t at = *(const uint64_t *)(uintptr_t)slot;
    if (!sbx_vm_is_known(pages, at, SBX_METHOD_HEAD_WORDS * 8)) {
        return false;
    }
    const struct sbx_method_head head = {
        .pool = *(const uint64_t *)(uintptr_t)(at + (layout->constants & aligned)),
        .sizes = *(const uint64_t *)(uintptr_t)(at + (layout->const_size & aligned)),
        .names = *(const uint64_t *)(uintptr_t)(at + (layout->code_size & aligned)),
    };
    return sbx_method_glance(glance_out, layout, address, at, &head);
}

/* Returns false if there is no method at `address`. `pages`: NULL, or the memory that the walk has tested; this
 * function adds to it. */
SBX_SIGNAL_SAFE bool sbx_method_look(struct sbx_method_glance *glance_out, const struct sbx_vm_layout *layout,
                                     uint64_t address, struct sbx_vm_pages *pages);

/* Returns the line of a bytecode. 0: none, because the method is native or the class was compiled without lines. */
SBX_SIGNAL_SAFE uint32_t sbx_method_line(const struct sbx_method *method, const struct sbx_vm_layout *layout,
                                         int32_t bci);

/* Returns the Symbol* of the source file's name, as the compiler noted it; 0: none. */
SBX_SIGNAL_SAFE uint64_t sbx_method_source(const struct sbx_method *method, const struct sbx_vm_layout *layout);

/* Returns the bytes of a symbol in Java's modified UTF-8; none if it cannot be read. */
SBX_SIGNAL_SAFE struct sbx_vm_bytes sbx_symbol_bytes(const struct sbx_vm_layout *layout, uint64_t symbol);

#endif
