/* SPDX-License-Identifier: Apache-2.0 */
/* compiled_scopes.h - which methods, inlined ones too, an instruction of a compiled method belongs to.
 *
 *     JDK 17   nmethod: [ header | instructions ... | metadata: Method* ... | scopes data: packed numbers | PcDesc ... | ... ]
 *
 *     JDK 25   nmethod: [ header | instructions ... ]            these two are of the allocator, and are freed
 *                 |'--> immutable data: [ ... | PcDesc ... | scopes data ... ]                with the nmethod
 *                 '---> mutable data:   [ relocations | metadata ... ]
 *
 * A PcDesc leads from an instruction to a scope: {sender, method, bytecode}. The sender is the scope that this one was inlined
 * into, nearer the begin of the data; 0: none. */
#ifndef SBX_COMPILED_SCOPES_H
#define SBX_COMPILED_SCOPES_H

#include "code_cache.h"

struct sbx_scopes {
    uint64_t data, metadata; /* addresses */
    uint32_t data_bytes, metadata_count;
    bool is_in_blob; /* memory that stays mapped; else behind the door */
    uint32_t next;   /* scope, offset into the data; 0: no more */
};

enum sbx_scopes_at {
    SBX_SCOPES_NONE,   /* no debug information covers it, or it makes no sense */
    SBX_SCOPES_BEHIND, /* for the next place behind the instruction that has some */
    SBX_SCOPES_EXACT   /* for that very place: a call returns to it */
};

/* Scopes of the instruction at `pc` of a compiled method, the innermost first. */
SBX_SIGNAL_SAFE enum sbx_scopes_at sbx_scopes_find(struct sbx_scopes *scopes_out, const struct sbx_vm_layout *layout,
                                                   const struct sbx_code *code, uint64_t pc);

/* The next method and bytecode. False: that was all; *method_out is 0 where the data made no sense. */
SBX_SIGNAL_SAFE bool sbx_scopes_next(struct sbx_scopes *scopes, const struct sbx_vm_layout *layout,
                                     uint64_t *method_out, int32_t *bci_out);

#endif
