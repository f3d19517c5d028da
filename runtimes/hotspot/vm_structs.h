/* SPDX-License-Identifier: Apache-2.0 */
/* vm_structs.h - the offsets of the fields of HotSpot's structures, from the tables that libjvm.so exports for its
 * debuggers.
 *
 * gHotSpotVMStructs and similar tables name every field that the serviceability agent reads, with offset or address. If
 * a field is missing, the JVM is not one that we know, and nothing is read. Offsets are never guessed, and offset 0
 * never means "absent".
 *
 * Fields move, disappear and change type between versions. So each known version has its own list of what to read from
 * the tables, and constants for what the tables do not contain (vm_versions.c). Versions that were not tested are
 * refused. */
#ifndef SBX_VM_STRUCTS_H
#define SBX_VM_STRUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a blob gives a place in itself. */
enum sbx_vm_told {
    SBX_VM_TOLD_ADDRESS,   /* eight bytes: the address */
    SBX_VM_TOLD_FROM_BLOB, /* four bytes: offset from the start of the blob */
    SBX_VM_TOLD_FROM_CODE, /* two bytes: offset from the first instruction */
};
struct sbx_vm_place {
    uint32_t at; /* offset of the field that gives it */
    enum sbx_vm_told told;
};

/* Offsets in bytes, unless stated otherwise. 0 for what a version does not have. Written once, before the first
 * walk. */
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
    uint32_t block_used, block_bytes;                     /* HeapBlock: offset of the flag, size of the header */
    uint32_t blob_name, blob_size, blob_frame_complete;   /* CodeBlob */
    uint32_t blob_frame_size;                             /* in words */
    struct sbx_vm_place code_begin;
    uint32_t method_of_code; /* CompiledMethod, nmethod */
    struct sbx_vm_place deopt_begin, deopt_mh_begin, verified_entry;
    uint32_t orig_pc, compile_id, compile_level; /* nmethod; the level is 4 bytes or 1 */
    /* The description of an nmethod's instructions. If it is in the blob, these are offsets from the blob's start, and
     * `scopes_data` is the offset of an address. Otherwise it is in two separate blocks of memory, and these are
     * offsets from their starts. */
    uint32_t scopes_data, metadata, scopes_pcs, dependencies;
    uint32_t immutable_data, immutable_bytes;               /* first block and its size: PcDesc and scopes */
    uint32_t mutable_data, mutable_bytes, relocation_bytes; /* second block: relocations, then metadata */
    uint32_t pc_desc_pc, pc_desc_scope, pc_desc_bytes;
    uint32_t stub_buffer, stub_buffer_limit;                       /* StubQueue */
    uint32_t wrapper_anchor, anchor_sp, anchor_pc, anchor_fp;      /* JavaCallWrapper, JavaFrameAnchor */
    uint32_t thread_anchor, thread_state, thread_os, thread_frame; /* JavaThread; thread_frame: _vframe_array_head */
    uint32_t thread_stack_base, thread_stack_size;
    uint32_t thread_pending_monitor, thread_waiting_monitor;
    uint32_t thread_bytes;                    /* of a JavaThread */
    uint32_t thread_allocated, thread_buffer; /* Thread: bytes allocated before its current buffer, and this buffer */
    uint32_t buffer_start, buffer_top;        /* ThreadLocalAllocBuffer */
    uint32_t os_thread_id;
    uint32_t list_length, list_threads; /* ThreadsList */
    uint32_t monitor_owner, monitor_object;
    uint32_t thread_owner_id, thread_lock_stack; /* JavaThread: the number noted as owner; objects it locked */
    uint32_t lock_stack_top,
        lock_stack_first;                  /* LockStack: end of the last entry, from the JavaThread on; first entry */
    uint32_t const_method;                 /* Method */
    uint32_t method_counters, method_code; /* Method: its counters; its compiled code in use */
    uint32_t counters_mask;                /* MethodCounters: _backedge_mask, see counters_levels */
    uint32_t constants, code_size, name_index, const_flags, const_size, const_bytes; /* ConstMethod */
    uint32_t pool_holder, pool_source_file, pool_length, pool_bytes;                 /* ConstantPool */
    uint32_t klass_name;
    uint32_t class_init_state, class_init_thread; /* InstanceKlass; the state is one byte */
    uint32_t symbol_length, symbol_body;

    /* Values. */
    int32_t state_in_java;        /* JavaThreadState: _thread_in_Java */
    int32_t state_blocked_trans;  /* the largest state */
    int32_t being_initialized;    /* of a class: its initialiser runs */
    int32_t entry_wrapper_slot;   /* words from an entry frame's fp to its JavaCallWrapper */
    int32_t frame_sender_sp_slot; /* words from an interpreted frame's fp to its caller's sp */
    uint32_t has_line_table;      /* bit of ConstMethod::_flags */
    int32_t invocation_entry;     /* InvocationEntryBci */

    /* Not in the tables, by version. */
    int32_t frame_method_slot;     /* words from fp to the Method* */
    int32_t frame_bytecode_slot;   /* words from fp to the bytecode pointer, which is in r13 while the frame runs */
    uint32_t packed_number_excess; /* UNSIGNED5: subtracted from each byte; 0 up to JDK 19 */
    uint32_t frame_complete_bytes; /* size of CodeBlob::_frame_complete_offset: 4 or 2 */
    uint32_t
        counters_levels; /* from counters_mask to MethodCounters::_highest_comp_level and _highest_osr_comp_level, one byte each */
    bool has_outside_scopes; /* `immutable_data` and `mutable_data` are used */
    bool has_owner_ids;      /* a monitor's owner is a number, and an object without waiters is in a lock stack */
};

/* What is read from the tables. */
enum sbx_vm_wanted_kind {
    SBX_VM_FIELD,    /* its offset, to 4 bytes */
    SBX_VM_VARIABLE, /* its address, to 8 bytes */
    SBX_VM_SIZE,     /* size of a type, to 4 bytes */
    SBX_VM_INTEGER   /* a constant, to 4 bytes */
};
struct sbx_vm_wanted {
    enum sbx_vm_wanted_kind kind;
    const char *type, *name;
    size_t at; /* offset in struct sbx_vm_layout */
};

/* A known version: a layout with the values that the tables do not contain, and two lists of what to read from the
 * tables. One list is the same for all versions, the other is for this version. */
struct sbx_vm_version {
    struct sbx_vm_layout constants;
    const struct sbx_vm_wanted *wanted;
    size_t wanted_count;
};
extern const struct sbx_vm_wanted sbx_vm_wanted_always[];
extern const size_t sbx_vm_wanted_always_count;

/* Returns NULL if this version was not tested. */
const struct sbx_vm_version *sbx_vm_version_find(uint32_t major);

/* Find `name` in the JVM's library. Returns the address of the variable; NULL: there is none. */
typedef const void *(*sbx_vm_find_symbol)(void *library, const char *name);

enum sbx_vm_read_result {
    SBX_VM_READ,
    SBX_VM_NOT_READY, /* the library's constructors have not run: ask again later */
    SBX_VM_UNKNOWN    /* not a known JVM: `reason` has the name of what is missing, or the version */
};

enum {
    SBX_VM_REASON_BYTES = 96
};

/* Reads the layout of the JVM in `library`. On SBX_VM_UNKNOWN, `reason` holds a sentence without its final mark, and
 * the layout holds the version if it is known. For our own threads only. */
enum sbx_vm_read_result sbx_vm_layout_read(struct sbx_vm_layout *layout_out, sbx_vm_find_symbol find, void *library,
                                           char reason[static SBX_VM_REASON_BYTES]);

#endif
