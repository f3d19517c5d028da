/* SPDX-License-Identifier: Apache-2.0 */
/* method.h - what HotSpot keeps of a method: its bytecodes, its names, its lines.
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

/* Read it. False: what lies there is no method. */
SBX_SIGNAL_SAFE bool sbx_method_read(struct sbx_method *method_out, const struct sbx_vm_layout *layout,
                                     uint64_t address);

/* What a walk has to know of each method that it meets: fewer looks than the whole. */
struct sbx_method_glance {
    uint64_t const_method;
    uint64_t code; /* bytecodes */
    uint32_t code_bytes;
    uint64_t key; /* never 0; another one when another method comes to lie at the address, or the class is redefined */
};

/* False: what lies there is no method. `pages`: NULL, or what the walk knows of memory. */
SBX_SIGNAL_SAFE bool sbx_method_look(struct sbx_method_glance *glance_out, const struct sbx_vm_layout *layout,
                                     uint64_t address, struct sbx_vm_pages *pages);

/* The line of a bytecode; 0 where there is none to be told: a native method, a class compiled without. */
SBX_SIGNAL_SAFE uint32_t sbx_method_line(const struct sbx_method *method, const struct sbx_vm_layout *layout,
                                         int32_t bci);

/* Symbol* of the file that the class was compiled from, as its compiler called it; 0: not told. */
SBX_SIGNAL_SAFE uint64_t sbx_method_source(const struct sbx_method *method, const struct sbx_vm_layout *layout);

/* The bytes of a symbol, in Java's own UTF-8; none when it cannot be read. */
SBX_SIGNAL_SAFE struct sbx_vm_bytes sbx_symbol_bytes(const struct sbx_vm_layout *layout, uint64_t symbol);

#endif
