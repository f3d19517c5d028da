/* SPDX-License-Identifier: Apache-2.0 */
/* vm_versions.c - the versions of HotSpot whose walks were compared with the JVM's own (docs/RUNTIMES.md), one table
 * each. x86-64.
 *
 * The tables of a JVM name only what this JVM has. Names that only some versions have, or that mean something else in
 * some versions, are here. */
#include "vm_structs.h"

#define AT(member) offsetof(struct sbx_vm_layout, member)

const struct sbx_vm_wanted sbx_vm_wanted_always[] = {
    {SBX_VM_VARIABLE, "CodeCache", "_heaps", AT(code_heaps)},
    {SBX_VM_VARIABLE, "CodeCache", "_low_bound", AT(code_low_bound)},
    {SBX_VM_VARIABLE, "CodeCache", "_high_bound", AT(code_high_bound)},
    {SBX_VM_VARIABLE, "AbstractInterpreter", "_code", AT(interpreter_code)},
    {SBX_VM_VARIABLE, "StubRoutines", "_call_stub_return_address", AT(call_stub_return)},
    {SBX_VM_VARIABLE, "ThreadsSMRSupport", "_java_thread_list", AT(java_thread_list)},
    {SBX_VM_FIELD, "GrowableArray<int>", "_data", AT(array_data)},
    {SBX_VM_FIELD, "CodeHeap", "_memory", AT(heap_memory)},
    {SBX_VM_FIELD, "CodeHeap", "_segmap", AT(heap_segmap)},
    {SBX_VM_FIELD, "CodeHeap", "_log2_segment_size", AT(heap_log2_segment)},
    {SBX_VM_FIELD, "VirtualSpace", "_low", AT(space_low)},
    {SBX_VM_FIELD, "VirtualSpace", "_high", AT(space_high)},
    {SBX_VM_FIELD, "HeapBlock::Header", "_used", AT(block_used)},
    {SBX_VM_SIZE, "HeapBlock", NULL, AT(block_bytes)},
    {SBX_VM_FIELD, "CodeBlob", "_name", AT(blob_name)},
    {SBX_VM_FIELD, "CodeBlob", "_size", AT(blob_size)},
    {SBX_VM_FIELD, "CodeBlob", "_frame_complete_offset", AT(blob_frame_complete)},
    {SBX_VM_FIELD, "CodeBlob", "_frame_size", AT(blob_frame_size)},
    {SBX_VM_FIELD, "nmethod", "_scopes_pcs_offset", AT(scopes_pcs)},
    {SBX_VM_FIELD, "nmethod", "_orig_pc_offset", AT(orig_pc)},
    {SBX_VM_FIELD, "nmethod", "_compile_id", AT(compile_id)},
    {SBX_VM_FIELD, "nmethod", "_comp_level", AT(compile_level)},
    {SBX_VM_FIELD, "PcDesc", "_pc_offset", AT(pc_desc_pc)},
    {SBX_VM_FIELD, "PcDesc", "_scope_decode_offset", AT(pc_desc_scope)},
    {SBX_VM_SIZE, "PcDesc", NULL, AT(pc_desc_bytes)},
    {SBX_VM_FIELD, "StubQueue", "_stub_buffer", AT(stub_buffer)},
    {SBX_VM_FIELD, "StubQueue", "_buffer_limit", AT(stub_buffer_limit)},
    {SBX_VM_FIELD, "JavaCallWrapper", "_anchor", AT(wrapper_anchor)},
    {SBX_VM_FIELD, "JavaFrameAnchor", "_last_Java_sp", AT(anchor_sp)},
    {SBX_VM_FIELD, "JavaFrameAnchor", "_last_Java_pc", AT(anchor_pc)},
    {SBX_VM_FIELD, "JavaFrameAnchor", "_last_Java_fp", AT(anchor_fp)},
    {SBX_VM_FIELD, "JavaThread", "_anchor", AT(thread_anchor)},
    {SBX_VM_FIELD, "JavaThread", "_thread_state", AT(thread_state)},
    {SBX_VM_FIELD, "JavaThread", "_vframe_array_head", AT(thread_frame)},
    {SBX_VM_FIELD, "JavaThread", "_stack_base", AT(thread_stack_base)},
    {SBX_VM_FIELD, "JavaThread", "_stack_size", AT(thread_stack_size)},
    {SBX_VM_FIELD, "JavaThread", "_current_pending_monitor", AT(thread_pending_monitor)},
    {SBX_VM_FIELD, "JavaThread", "_current_waiting_monitor", AT(thread_waiting_monitor)},
    {SBX_VM_SIZE, "JavaThread", NULL, AT(thread_bytes)},
    {SBX_VM_FIELD, "Thread", "_allocated_bytes", AT(thread_allocated)},
    {SBX_VM_FIELD, "Thread", "_tlab", AT(thread_buffer)},
    {SBX_VM_FIELD, "ThreadLocalAllocBuffer", "_start", AT(buffer_start)},
    {SBX_VM_FIELD, "ThreadLocalAllocBuffer", "_top", AT(buffer_top)},
    {SBX_VM_FIELD, "OSThread", "_thread_id", AT(os_thread_id)},
    {SBX_VM_FIELD, "ThreadsList", "_length", AT(list_length)},
    {SBX_VM_FIELD, "ThreadsList", "_threads", AT(list_threads)},
    {SBX_VM_FIELD, "ObjectMonitor", "_owner", AT(monitor_owner)},
    {SBX_VM_FIELD, "ObjectMonitor", "_object", AT(monitor_object)},
    {SBX_VM_FIELD, "Method", "_constMethod", AT(const_method)},
    {SBX_VM_FIELD, "Method", "_code", AT(method_code)},
    {SBX_VM_FIELD, "Method", "_method_counters", AT(method_counters)},
    {SBX_VM_FIELD, "MethodCounters", "_backedge_mask", AT(counters_mask)},
    {SBX_VM_FIELD, "ConstMethod", "_constants", AT(constants)},
    {SBX_VM_FIELD, "ConstMethod", "_constMethod_size", AT(const_size)},
    {SBX_VM_FIELD, "ConstMethod", "_code_size", AT(code_size)},
    {SBX_VM_FIELD, "ConstMethod", "_name_index", AT(name_index)},
    {SBX_VM_SIZE, "ConstMethod", NULL, AT(const_bytes)},
    {SBX_VM_FIELD, "ConstantPool", "_pool_holder", AT(pool_holder)},
    {SBX_VM_FIELD, "ConstantPool", "_source_file_name_index", AT(pool_source_file)},
    {SBX_VM_FIELD, "ConstantPool", "_length", AT(pool_length)},
    {SBX_VM_SIZE, "ConstantPool", NULL, AT(pool_bytes)},
    {SBX_VM_FIELD, "Klass", "_name", AT(klass_name)},
    {SBX_VM_FIELD, "InstanceKlass", "_init_state", AT(class_init_state)},
    {SBX_VM_FIELD, "InstanceKlass", "_init_thread", AT(class_init_thread)},
    {SBX_VM_FIELD, "Symbol", "_length", AT(symbol_length)},
    {SBX_VM_FIELD, "Symbol", "_body", AT(symbol_body)},
    {SBX_VM_INTEGER, NULL, "_thread_in_Java", AT(state_in_java)},
    {SBX_VM_INTEGER, NULL, "_thread_blocked_trans", AT(state_blocked_trans)},
    {SBX_VM_INTEGER, NULL, "InstanceKlass::being_initialized", AT(being_initialized)},
    {SBX_VM_INTEGER, NULL, "frame::entry_frame_call_wrapper_offset", AT(entry_wrapper_slot)},
    {SBX_VM_INTEGER, NULL, "frame::interpreter_frame_sender_sp_offset", AT(frame_sender_sp_slot)},
    {SBX_VM_INTEGER, NULL, "InvocationEntryBci", AT(invocation_entry)},
};
const size_t sbx_vm_wanted_always_count = sizeof sbx_vm_wanted_always / sizeof *sbx_vm_wanted_always;

static const struct sbx_vm_wanted wanted_of_17[] = {
    {SBX_VM_FIELD, "CodeBlob", "_code_begin", AT(code_begin.at)},
    {SBX_VM_FIELD, "CompiledMethod", "_method", AT(method_of_code)},
    {SBX_VM_FIELD, "CompiledMethod", "_deopt_handler_begin", AT(deopt_begin.at)},
    {SBX_VM_FIELD, "CompiledMethod", "_deopt_mh_handler_begin", AT(deopt_mh_begin.at)},
    {SBX_VM_FIELD, "CompiledMethod", "_scopes_data_begin", AT(scopes_data)},
    {SBX_VM_FIELD, "nmethod", "_metadata_offset", AT(metadata)},
    {SBX_VM_FIELD, "nmethod", "_dependencies_offset", AT(dependencies)},
    {SBX_VM_FIELD, "nmethod", "_verified_entry_point", AT(verified_entry.at)},
    {SBX_VM_FIELD, "JavaThread", "_osthread", AT(thread_os)},
    {SBX_VM_FIELD, "ConstMethod", "_flags", AT(const_flags)},
    {SBX_VM_INTEGER, NULL, "ConstMethod::_has_linenumber_table", AT(has_line_table)},
};

static const struct sbx_vm_wanted wanted_of_25[] = {
    {SBX_VM_FIELD, "CodeBlob", "_code_offset", AT(code_begin.at)},
    {SBX_VM_FIELD, "CodeBlob", "_mutable_data", AT(mutable_data)},
    {SBX_VM_FIELD, "CodeBlob", "_mutable_data_size", AT(mutable_bytes)},
    {SBX_VM_FIELD, "CodeBlob", "_relocation_size", AT(relocation_bytes)},
    {SBX_VM_FIELD, "nmethod", "_method", AT(method_of_code)},
    {SBX_VM_FIELD, "nmethod", "_deopt_handler_offset", AT(deopt_begin.at)},
    {SBX_VM_FIELD, "nmethod", "_deopt_mh_handler_offset", AT(deopt_mh_begin.at)},
    {SBX_VM_FIELD, "nmethod", "_verified_entry_offset", AT(verified_entry.at)},
    {SBX_VM_FIELD, "nmethod", "_immutable_data", AT(immutable_data)},
    {SBX_VM_FIELD, "nmethod", "_immutable_data_size", AT(immutable_bytes)},
    {SBX_VM_FIELD, "nmethod", "_scopes_data_offset", AT(scopes_data)},
    {SBX_VM_FIELD, "Thread", "_osthread", AT(thread_os)},
    {SBX_VM_FIELD, "JavaThread", "_monitor_owner_id", AT(thread_owner_id)},
    {SBX_VM_FIELD, "JavaThread", "_lock_stack", AT(thread_lock_stack)},
    {SBX_VM_FIELD, "LockStack", "_top", AT(lock_stack_top)},
    {SBX_VM_FIELD, "LockStack", "_base[0]", AT(lock_stack_first)},
    {SBX_VM_FIELD, "ConstMethod", "_flags._flags", AT(const_flags)},
    {SBX_VM_INTEGER, NULL, "ConstMethodFlags::_misc_has_linenumber_table", AT(has_line_table)},
    {SBX_VM_VARIABLE, "ContinuationEntry", "_return_pc", AT(continuation_return)},
};

static const struct sbx_vm_version versions[] = {
    {
        .constants = {.major = 17,
                      .code_begin.told = SBX_VM_TOLD_ADDRESS,
                      .deopt_begin.told = SBX_VM_TOLD_ADDRESS,
                      .deopt_mh_begin.told = SBX_VM_TOLD_ADDRESS,
                      .verified_entry.told = SBX_VM_TOLD_ADDRESS,
                      .frame_method_slot = -3,
                      .frame_bytecode_slot = -8,
                      .packed_number_excess = 0,
                      .counters_levels = 12,
                      .frame_complete_bytes = 4},
        .wanted = wanted_of_17,
        .wanted_count = sizeof wanted_of_17 / sizeof *wanted_of_17,
    },
    {
        .constants = {.major = 25,
                      .code_begin.told = SBX_VM_TOLD_FROM_BLOB,
                      .deopt_begin.told = SBX_VM_TOLD_FROM_BLOB,
                      .deopt_mh_begin.told = SBX_VM_TOLD_FROM_BLOB,
                      .verified_entry.told = SBX_VM_TOLD_FROM_CODE,
                      .frame_method_slot = -3,
                      .frame_bytecode_slot = -8,
                      .packed_number_excess = 1,
                      .counters_levels = 12,
                      .frame_complete_bytes = 2,
                      .has_outside_scopes = true,
                      .has_owner_ids = true},
        .wanted = wanted_of_25,
        .wanted_count = sizeof wanted_of_25 / sizeof *wanted_of_25,
    },
};

const struct sbx_vm_version *sbx_vm_version_find(uint32_t major)
{
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        if (versions[i].constants.major == major) {
            return &versions[i];
        }
    }
    return NULL;
}
