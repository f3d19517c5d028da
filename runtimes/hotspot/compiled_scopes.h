/* SPDX-License-Identifier: Apache-2.0 */
/* compiled_scopes.h - which methods, with inlined ones, an instruction of a compiled method belongs to.
 *
 *     JDK 17   nmethod: [ header | instructions ... | metadata: Method* ... | scopes data: packed numbers | PcDesc ... | ... ]
 *
 *     JDK 25   nmethod: [ header | instructions ... ]          these two are allocated apart, and are freed
 *                 |'--> immutable data: [ ... | PcDesc ... | scopes data ... ]              with the nmethod
 *                 '---> mutable data:   [ relocations | metadata ... ]
 *
 * A PcDesc leads from an instruction to a scope: {sender, method, bytecode}. The sender is the scope into which this
 * one was inlined, and is nearer to the start of the data; 0: none. */
#ifndef SBX_COMPILED_SCOPES_H
#define SBX_COMPILED_SCOPES_H

#include "code_cache.h"

struct sbx_scopes {
    uint64_t data, metadata; /* addresses */
    uint32_t data_bytes, metadata_count;
    bool is_in_blob; /* in memory that stays mapped; else read through guarded loads */
    uint32_t next;   /* the next scope, as an offset into the data; 0: no more */
};

enum sbx_scopes_at {
    SBX_SCOPES_NONE,   /* no debug information covers the instruction, or it is not valid */
    SBX_SCOPES_BEHIND, /* for the next place after the instruction that has some */
    SBX_SCOPES_EXACT   /* for exactly this place: a call returns to it */
};

/* Finds the scopes of the instruction at `pc` of a compiled method, innermost first. */
SBX_SIGNAL_SAFE enum sbx_scopes_at sbx_scopes_find(struct sbx_scopes *scopes_out, const struct sbx_vm_layout *layout,
                                                   const struct sbx_code *code, uint64_t pc);

/* Gets the next method and bytecode. Returns false if there are no more; *method_out is 0 if the data is not valid. */
SBX_SIGNAL_SAFE bool sbx_scopes_next(struct sbx_scopes *scopes, const struct sbx_vm_layout *layout,
                                     uint64_t *method_out, int32_t *bci_out);

#endif
