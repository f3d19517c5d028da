/* SPDX-License-Identifier: Apache-2.0 */
/* vm_structs.h - where the fields of HotSpot's structures lie, from the tables that libjvm.so exports for its debuggers.
 *
 * gHotSpotVMStructs and its sisters name every field that the serviceability agent reads, with offset or address. A field that is
 * missing means that this machine is none we know: then nothing is read at all. Never a guess, and never offset 0 for "absent".
 *
 * Fields move, go and change their sort between versions. So each version that is known has a list of its own of what is asked of the tables, and
 * constants for what they do not say (vm_versions.c). Versions that were not tested are refused. */
#ifndef SBX_VM_STRUCTS_H
#define SBX_VM_STRUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a blob tells a place in itself. */
enum sbx_vm_told {
    SBX_VM_TOLD_ADDRESS,   /* eight bytes: the address */
    SBX_VM_TOLD_FROM_BLOB, /* four bytes: how far behind the blob's begin */
    SBX_VM_TOLD_FROM_CODE, /* two bytes: how far behind its first instruction */
};
struct sbx_vm_place {
    uint32_t at; /* offset of what tells it */
    enum sbx_vm_told told;
};

/* Offsets in bytes, but where said otherwise. What a version does not have is 0. Written once, before the first walk. */
struct sbx_vm_layout {
    uint32_t major; /* of the JDK: 17, 25 */

    /* Addresses of variables. */
    uint64_t code_heaps, code_low_bound, code_high_bound; /* CodeCache */
    uint64_t interpreter_code;                            /* AbstractInterpreter::_code */
    uint64_t call_stub_return;                            /* StubRoutines::_call_stub_return_address */
    uint64_t java_thread_list;                            /* ThreadsSMRSupport::_java_thread_list */
    uint64_t continuation_return;                         /* ContinuationEntry::_return_pc; 0: no virtual threads */

    uint32_t array_data;                                  /* GrowableArray: its length is first */
    uint32_t heap_memory, heap_segmap, heap_log2_segment; /* CodeHeap */
    uint32_t space_low, space_high;                       /* VirtualSpace */
    uint32_t block_used, block_bytes;                     /* HeapBlock: offset of the flag, size of the whole header */
    uint32_t blob_name, blob_size, blob_frame_complete;   /* CodeBlob */
    uint32_t blob_frame_size;                             /* in words */
    struct sbx_vm_place code_begin;
    uint32_t method_of_code; /* CompiledMethod, nmethod */
    struct sbx_vm_place deopt_begin, deopt_mh_begin, verified_entry;
    uint32_t orig_pc, compile_id, compile_level; /* nmethod; the level is 4 bytes or 1 */
    /* What describes the instructions of an nmethod. In the blob: offsets from its begin, that of the scopes an address. Else in two pieces
     * of memory of their own, and offsets from their begin. */
    uint32_t scopes_data, metadata, scopes_pcs, dependencies;
    uint32_t immutable_data, immutable_bytes;               /* a piece, and its size: PcDesc and scopes */
    uint32_t mutable_data, mutable_bytes, relocation_bytes; /* the other: relocations, then metadata */
    uint32_t pc_desc_pc, pc_desc_scope, pc_desc_bytes;
    uint32_t stub_buffer, stub_buffer_limit;                       /* StubQueue */
    uint32_t wrapper_anchor, anchor_sp, anchor_pc, anchor_fp;      /* JavaCallWrapper, JavaFrameAnchor */
    uint32_t thread_anchor, thread_state, thread_os, thread_frame; /* JavaThread; thread_frame: _vframe_array_head */
    uint32_t thread_stack_base, thread_stack_size;
    uint32_t thread_pending_monitor, thread_waiting_monitor;
    uint32_t thread_bytes;                    /* of a JavaThread */
    uint32_t thread_allocated, thread_buffer; /* Thread: what was allocated before its buffer, and that buffer */
    uint32_t buffer_start, buffer_top;        /* ThreadLocalAllocBuffer */
    uint32_t os_thread_id;
    uint32_t list_length, list_threads; /* ThreadsList */
    uint32_t monitor_owner, monitor_object;
    uint32_t thread_owner_id, thread_lock_stack; /* JavaThread: what is noted as owner; objects that it has locked */
    uint32_t lock_stack_top,
        lock_stack_first;                  /* LockStack: where the last one ends, from the JavaThread on; the first */
    uint32_t const_method;                 /* Method */
    uint32_t method_counters, method_code; /* Method: what is counted of it; compiled code of it that is in use */
    uint32_t counters_mask;                /* MethodCounters: _backedge_mask, see counters_levels */
    uint32_t constants, code_size, name_index, const_flags, const_size, const_bytes; /* ConstMethod */
    uint32_t pool_holder, pool_source_file, pool_length, pool_bytes;                 /* ConstantPool */
    uint32_t klass_name;
    uint32_t class_init_state, class_init_thread; /* InstanceKlass; the state is one byte */
    uint32_t symbol_length, symbol_body;

    /* Values. */
    int32_t state_in_java;        /* JavaThreadState: _thread_in_Java */
    int32_t state_blocked_trans;  /* the largest there is */
    int32_t being_initialized;    /* of a class: its initialiser runs */
    int32_t entry_wrapper_slot;   /* words from an entry frame's fp to its JavaCallWrapper */
    int32_t frame_sender_sp_slot; /* words from an interpreted frame's fp to its caller's sp */
    uint32_t has_line_table;      /* bit of ConstMethod::_flags */
    int32_t invocation_entry;     /* InvocationEntryBci */

    /* Not in the tables, by version. */
    int32_t frame_method_slot;     /* words from fp to the Method* */
    int32_t frame_bytecode_slot;   /* and to the bytecode pointer, which is in r13 while the frame runs */
    uint32_t packed_number_excess; /* UNSIGNED5: what is subtracted of each byte; 0 up to JDK 19 */
    uint32_t frame_complete_bytes; /* of CodeBlob::_frame_complete_offset: 4, 2 */
    uint32_t
        counters_levels; /* from counters_mask to MethodCounters::_highest_comp_level and _highest_osr_comp_level, one byte each */
    bool has_outside_scopes; /* `immutable_data` and `mutable_data` count */
    bool has_owner_ids; /* a monitor's owner is a number, and an object that nobody waited for is in a lock stack */
};

/* What is asked of the tables. */
enum sbx_vm_wanted_kind {
    SBX_VM_FIELD,    /* its offset, 4 bytes */
    SBX_VM_VARIABLE, /* its address, 8 bytes */
    SBX_VM_SIZE,     /* of a type, 4 bytes */
    SBX_VM_INTEGER   /* a constant, 4 bytes */
};
struct sbx_vm_wanted {
    enum sbx_vm_wanted_kind kind;
    const char *type, *name;
    size_t at; /* in struct sbx_vm_layout */
};

/* A version that is known: a layout that holds what the tables do not say, and what they are asked, in two lists: what all versions have alike, and
 * what this one has. */
struct sbx_vm_version {
    struct sbx_vm_layout constants;
    const struct sbx_vm_wanted *wanted;
    size_t wanted_count;
};
extern const struct sbx_vm_wanted sbx_vm_wanted_always[];
extern const size_t sbx_vm_wanted_always_count;

/* NULL: it was not tested. */
const struct sbx_vm_version *sbx_vm_version_find(uint32_t major);

/* Find `name` in the machine's library: the address of the variable, NULL without it. */
typedef const void *(*sbx_vm_find_symbol)(void *library, const char *name);

enum sbx_vm_read_result {
    SBX_VM_READ,
    SBX_VM_NOT_READY, /* the library's constructors have not run: ask again later */
    SBX_VM_UNKNOWN    /* none of ours: `reason` has the name of what is missing, or the version */
};

enum {
    SBX_VM_REASON_BYTES = 96
};

/* Read the layout of the machine in `library`. On SBX_VM_UNKNOWN `reason` holds a sentence without its end, and the layout the version, if that is told. Our own threads only. */
enum sbx_vm_read_result sbx_vm_layout_read(struct sbx_vm_layout *layout_out, sbx_vm_find_symbol find, void *library,
                                           char reason[static SBX_VM_REASON_BYTES]);

#endif
