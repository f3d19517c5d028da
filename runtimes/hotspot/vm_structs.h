/* SPDX-License-Identifier: Apache-2.0 */
/* vm_structs.h - where the fields of HotSpot's structures lie, from the tables that libjvm.so exports for its debuggers.
 *
 * gHotSpotVMStructs and its sisters name every field that the serviceability agent reads, with offset or address. A field that is
 * missing means that this machine is none we know: then nothing is read at all. Never a guess, and never offset 0 for "absent".
 *
 * What the tables do not say belongs to a version: see struct sbx_vm_layout. Versions that were not tested are refused. */
#ifndef SBX_VM_STRUCTS_H
#define SBX_VM_STRUCTS_H

#include <stdbool.h>
#include <stdint.h>

/* Offsets in bytes, but where said otherwise. Written once, before the first walk. */
struct sbx_vm_layout {
    uint32_t major; /* of the JDK: 17 */

    /* Addresses of variables. */
    uint64_t code_heaps, code_low_bound, code_high_bound; /* CodeCache */
    uint64_t interpreter_code;                            /* AbstractInterpreter::_code */
    uint64_t call_stub_return;                            /* StubRoutines::_call_stub_return_address */
    uint64_t java_thread_list;                            /* ThreadsSMRSupport::_java_thread_list */

    uint32_t array_data;                                   /* GrowableArray: its length is first */
    uint32_t heap_memory, heap_segmap, heap_log2_segment;  /* CodeHeap */
    uint32_t space_low, space_high;                        /* VirtualSpace */
    uint32_t block_used, block_bytes;                      /* HeapBlock: offset of the flag, size of the whole header */
    uint32_t blob_name, blob_size, blob_frame_complete;    /* CodeBlob */
    uint32_t blob_frame_size, blob_code_begin;             /* _frame_size is in words */
    uint32_t method_of_code, deopt_begin, deopt_mh_begin;  /* CompiledMethod */
    uint32_t scopes_data_begin;                            /* an address */
    uint32_t metadata, scopes_pcs, dependencies, handlers; /* nmethod: offsets that are kept as int */
    uint32_t verified_entry, orig_pc, compile_id;
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
    uint32_t const_method;                                                           /* Method */
    uint32_t constants, code_size, name_index, const_flags, const_size, const_bytes; /* ConstMethod */
    uint32_t pool_holder, pool_source_file, pool_length, pool_bytes;                 /* ConstantPool */
    uint32_t klass_name;
    uint32_t class_init_state, class_init_thread; /* InstanceKlass; the state is one byte */
    uint32_t symbol_length, symbol_body;

    /* Values. */
    int32_t state_in_java;         /* JavaThreadState: _thread_in_Java */
    int32_t state_blocked_trans;   /* the largest there is */
    int32_t being_initialized;     /* of a class: its initialiser runs */
    int32_t entry_wrapper_slot;    /* words from an entry frame's fp to its JavaCallWrapper */
    int32_t frame_sender_sp_slot;  /* words from an interpreted frame's fp to its caller's sp */
    uint32_t has_line_table;       /* bit of ConstMethod::_flags */
    int32_t invocation_entry;      /* InvocationEntryBci */
    int32_t frame_method_slot;     /* not in the tables, by version: words from fp to the Method* */
    int32_t frame_bytecode_slot;   /* and to the bytecode pointer, which is in r13 while the frame runs */
    uint32_t packed_number_excess; /* UNSIGNED5: what is subtracted of each byte; 0 up to JDK 19 */
};

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
