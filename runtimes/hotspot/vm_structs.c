/* SPDX-License-Identifier: Apache-2.0 */
/* vm_structs.c - where the fields of HotSpot's structures lie. */
#include "vm_structs.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum wanted_kind {
    FIELD,    /* its offset, 4 bytes */
    VARIABLE, /* its address, 8 bytes */
    SIZE,     /* of a type, 4 bytes */
    INTEGER   /* a constant, 4 bytes */
};

struct wanted {
    enum wanted_kind kind;
    const char *type, *name;
    size_t at; /* in struct sbx_vm_layout */
};

#define AT(member) offsetof(struct sbx_vm_layout, member)

static const struct wanted wanted[] = {
    {VARIABLE, "CodeCache", "_heaps", AT(code_heaps)},
    {VARIABLE, "CodeCache", "_low_bound", AT(code_low_bound)},
    {VARIABLE, "CodeCache", "_high_bound", AT(code_high_bound)},
    {VARIABLE, "AbstractInterpreter", "_code", AT(interpreter_code)},
    {VARIABLE, "StubRoutines", "_call_stub_return_address", AT(call_stub_return)},
    {VARIABLE, "ThreadsSMRSupport", "_java_thread_list", AT(java_thread_list)},
    {FIELD, "GrowableArray<int>", "_data", AT(array_data)},
    {FIELD, "CodeHeap", "_memory", AT(heap_memory)},
    {FIELD, "CodeHeap", "_segmap", AT(heap_segmap)},
    {FIELD, "CodeHeap", "_log2_segment_size", AT(heap_log2_segment)},
    {FIELD, "VirtualSpace", "_low", AT(space_low)},
    {FIELD, "VirtualSpace", "_high", AT(space_high)},
    {FIELD, "HeapBlock::Header", "_used", AT(block_used)},
    {SIZE, "HeapBlock", NULL, AT(block_bytes)},
    {FIELD, "CodeBlob", "_name", AT(blob_name)},
    {FIELD, "CodeBlob", "_size", AT(blob_size)},
    {FIELD, "CodeBlob", "_frame_complete_offset", AT(blob_frame_complete)},
    {FIELD, "CodeBlob", "_frame_size", AT(blob_frame_size)},
    {FIELD, "CodeBlob", "_code_begin", AT(blob_code_begin)},
    {FIELD, "CompiledMethod", "_method", AT(method_of_code)},
    {FIELD, "CompiledMethod", "_deopt_handler_begin", AT(deopt_begin)},
    {FIELD, "CompiledMethod", "_deopt_mh_handler_begin", AT(deopt_mh_begin)},
    {FIELD, "CompiledMethod", "_scopes_data_begin", AT(scopes_data_begin)},
    {FIELD, "nmethod", "_metadata_offset", AT(metadata)},
    {FIELD, "nmethod", "_scopes_pcs_offset", AT(scopes_pcs)},
    {FIELD, "nmethod", "_dependencies_offset", AT(dependencies)},
    {FIELD, "nmethod", "_handler_table_offset", AT(handlers)},
    {FIELD, "nmethod", "_verified_entry_point", AT(verified_entry)},
    {FIELD, "nmethod", "_orig_pc_offset", AT(orig_pc)},
    {FIELD, "nmethod", "_compile_id", AT(compile_id)},
    {FIELD, "PcDesc", "_pc_offset", AT(pc_desc_pc)},
    {FIELD, "PcDesc", "_scope_decode_offset", AT(pc_desc_scope)},
    {SIZE, "PcDesc", NULL, AT(pc_desc_bytes)},
    {FIELD, "StubQueue", "_stub_buffer", AT(stub_buffer)},
    {FIELD, "StubQueue", "_buffer_limit", AT(stub_buffer_limit)},
    {FIELD, "JavaCallWrapper", "_anchor", AT(wrapper_anchor)},
    {FIELD, "JavaFrameAnchor", "_last_Java_sp", AT(anchor_sp)},
    {FIELD, "JavaFrameAnchor", "_last_Java_pc", AT(anchor_pc)},
    {FIELD, "JavaFrameAnchor", "_last_Java_fp", AT(anchor_fp)},
    {FIELD, "JavaThread", "_anchor", AT(thread_anchor)},
    {FIELD, "JavaThread", "_thread_state", AT(thread_state)},
    {FIELD, "JavaThread", "_osthread", AT(thread_os)},
    {FIELD, "JavaThread", "_vframe_array_head", AT(thread_frame)},
    {FIELD, "JavaThread", "_stack_base", AT(thread_stack_base)},
    {FIELD, "JavaThread", "_stack_size", AT(thread_stack_size)},
    {FIELD, "JavaThread", "_current_pending_monitor", AT(thread_pending_monitor)},
    {FIELD, "JavaThread", "_current_waiting_monitor", AT(thread_waiting_monitor)},
    {SIZE, "JavaThread", NULL, AT(thread_bytes)},
    {FIELD, "Thread", "_allocated_bytes", AT(thread_allocated)},
    {FIELD, "Thread", "_tlab", AT(thread_buffer)},
    {FIELD, "ThreadLocalAllocBuffer", "_start", AT(buffer_start)},
    {FIELD, "ThreadLocalAllocBuffer", "_top", AT(buffer_top)},
    {FIELD, "OSThread", "_thread_id", AT(os_thread_id)},
    {FIELD, "ThreadsList", "_length", AT(list_length)},
    {FIELD, "ThreadsList", "_threads", AT(list_threads)},
    {FIELD, "ObjectMonitor", "_owner", AT(monitor_owner)},
    {FIELD, "ObjectMonitor", "_object", AT(monitor_object)},
    {FIELD, "Method", "_constMethod", AT(const_method)},
    {FIELD, "ConstMethod", "_constants", AT(constants)},
    {FIELD, "ConstMethod", "_constMethod_size", AT(const_size)},
    {FIELD, "ConstMethod", "_code_size", AT(code_size)},
    {FIELD, "ConstMethod", "_name_index", AT(name_index)},
    {FIELD, "ConstMethod", "_flags", AT(const_flags)},
    {SIZE, "ConstMethod", NULL, AT(const_bytes)},
    {FIELD, "ConstantPool", "_pool_holder", AT(pool_holder)},
    {FIELD, "ConstantPool", "_source_file_name_index", AT(pool_source_file)},
    {FIELD, "ConstantPool", "_length", AT(pool_length)},
    {SIZE, "ConstantPool", NULL, AT(pool_bytes)},
    {FIELD, "Klass", "_name", AT(klass_name)},
    {FIELD, "InstanceKlass", "_init_state", AT(class_init_state)},
    {FIELD, "InstanceKlass", "_init_thread", AT(class_init_thread)},
    {FIELD, "Symbol", "_length", AT(symbol_length)},
    {FIELD, "Symbol", "_body", AT(symbol_body)},
    {INTEGER, NULL, "_thread_in_Java", AT(state_in_java)},
    {INTEGER, NULL, "_thread_blocked_trans", AT(state_blocked_trans)},
    {INTEGER, NULL, "InstanceKlass::being_initialized", AT(being_initialized)},
    {INTEGER, NULL, "frame::entry_frame_call_wrapper_offset", AT(entry_wrapper_slot)},
    {INTEGER, NULL, "frame::interpreter_frame_sender_sp_offset", AT(frame_sender_sp_slot)},
    {INTEGER, NULL, "ConstMethod::_has_linenumber_table", AT(has_line_table)},
    {INTEGER, NULL, "InvocationEntryBci", AT(invocation_entry)},
};

/* One of the exported tables: where it begins, and the parts of an entry by offset. */
struct table {
    const char *at;
    uint64_t stride, type, name, is_static, offset, address, value;
};

struct exports {
    sbx_vm_find_symbol find;
    void *library;
    bool is_whole; /* every name was there so far */
    bool is_ready; /* and filled in */
};

/* The number of the variable `name`: an address, or the offset of a part. */
static uint64_t number(struct exports *exports, const char *name, bool may_be_zero)
{
    const uint64_t *variable = exports->find(exports->library, name);
    if (variable == NULL) {
        exports->is_whole = false;
        return 0;
    }
    exports->is_ready &= may_be_zero || *variable != 0;
    return *variable;
}

static struct table structs_table(struct exports *exports)
{
    return (struct table){
        .at = (const char *)(uintptr_t)number(exports, "gHotSpotVMStructs", false),
        .stride = number(exports, "gHotSpotVMStructEntryArrayStride", false),
        .type = number(exports, "gHotSpotVMStructEntryTypeNameOffset", true),
        .name = number(exports, "gHotSpotVMStructEntryFieldNameOffset", true),
        .is_static = number(exports, "gHotSpotVMStructEntryIsStaticOffset", true),
        .offset = number(exports, "gHotSpotVMStructEntryOffsetOffset", true),
        .address = number(exports, "gHotSpotVMStructEntryAddressOffset", true),
    };
}

static struct table types_table(struct exports *exports)
{
    return (struct table){
        .at = (const char *)(uintptr_t)number(exports, "gHotSpotVMTypes", false),
        .stride = number(exports, "gHotSpotVMTypeEntryArrayStride", false),
        .type = number(exports, "gHotSpotVMTypeEntryTypeNameOffset", true),
        .value = number(exports, "gHotSpotVMTypeEntrySizeOffset", true),
    };
}

static struct table integers_table(struct exports *exports)
{
    return (struct table){
        .at = (const char *)(uintptr_t)number(exports, "gHotSpotVMIntConstants", false),
        .stride = number(exports, "gHotSpotVMIntConstantEntryArrayStride", false),
        .name = number(exports, "gHotSpotVMIntConstantEntryNameOffset", true),
        .value = number(exports, "gHotSpotVMIntConstantEntryValueOffset", true),
    };
}

static const char *text_at(const char *entry, uint64_t part)
{
    return *(const char *const *)(const void *)(entry + part);
}

static bool is_text(const char *text, const char *other)
{
    return text != NULL && other != NULL && strcmp(text, other) == 0;
}

static void put(struct sbx_vm_layout *layout, size_t at, const void *number, size_t bytes)
{
    memcpy((char *)layout + at, number, bytes);
}

/* A field or a variable. */
static bool find_field(struct sbx_vm_layout *layout, const struct table *table, const struct wanted *it)
{
    for (const char *entry = table->at; text_at(entry, table->type) != NULL; entry += table->stride) {
        if (!is_text(text_at(entry, table->type), it->type) || !is_text(text_at(entry, table->name), it->name)) {
            continue;
        }
        bool is_static = *(const int32_t *)(const void *)(entry + table->is_static) != 0;
        uint64_t number = *(const uint64_t *)(const void *)(entry + (is_static ? table->address : table->offset));
        if (is_static != (it->kind == VARIABLE) || (is_static ? number == 0 : number > INT32_MAX)) {
            return false;
        }
        put(layout, it->at, &number, is_static ? 8 : 4);
        return true;
    }
    return false;
}

static bool find_size(struct sbx_vm_layout *layout, const struct table *table, const struct wanted *it)
{
    for (const char *entry = table->at; text_at(entry, table->type) != NULL; entry += table->stride) {
        if (is_text(text_at(entry, table->type), it->type)) {
            put(layout, it->at, entry + table->value, 4); /* of a little-endian uint64_t */
            return true;
        }
    }
    return false;
}

static bool find_integer(struct sbx_vm_layout *layout, const struct table *table, const struct wanted *it)
{
    for (const char *entry = table->at; text_at(entry, table->name) != NULL; entry += table->stride) {
        if (is_text(text_at(entry, table->name), it->name)) {
            put(layout, it->at, entry + table->value, 4);
            return true;
        }
    }
    return false;
}

/* The version, which has a variable of its own, filled in by the compiler. 0: not told. */
static uint32_t major_version(const struct table *structs)
{
    struct sbx_vm_layout scratch = {.major = 0};
    const struct wanted version = {VARIABLE, "Abstract_VM_Version", "_vm_major_version", AT(code_heaps)};
    if (!find_field(&scratch, structs, &version)) {
        return 0;
    }
    return *(const uint32_t *)(uintptr_t)scratch.code_heaps;
}

/* What the tables do not say. Only versions whose walks were compared with the machine's own (docs/RUNTIMES.md). */
static bool add_version(struct sbx_vm_layout *layout)
{
    if (layout->major != 17) {
        return false;
    }
    layout->frame_method_slot = -3;
    layout->frame_bytecode_slot = -8;
    layout->packed_number_excess = 0;
    return true;
}

enum sbx_vm_read_result sbx_vm_layout_read(struct sbx_vm_layout *layout_out, sbx_vm_find_symbol find, void *library,
                                           char reason[static SBX_VM_REASON_BYTES])
{
    struct exports exports = {.find = find, .library = library, .is_whole = true, .is_ready = true};
    struct table structs = structs_table(&exports), types = types_table(&exports), integers = integers_table(&exports);
    reason[0] = '\0';
    if (!exports.is_whole) {
        (void)snprintf(reason, SBX_VM_REASON_BYTES, "it exports no table of its structures");
        return SBX_VM_UNKNOWN;
    }
    if (!exports.is_ready) {
        return SBX_VM_NOT_READY;
    }
    struct sbx_vm_layout layout = {.major = major_version(&structs)};
    layout_out->major = layout.major;
    if (!add_version(&layout)) {
        (void)snprintf(reason, SBX_VM_REASON_BYTES, "version %u is not known", layout.major);
        return SBX_VM_UNKNOWN;
    }
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const struct wanted *it = &wanted[i];
        bool is_found = it->kind == SIZE      ? find_size(&layout, &types, it)
                        : it->kind == INTEGER ? find_integer(&layout, &integers, it)
                                              : find_field(&layout, &structs, it);
        if (!is_found) {
            (void)snprintf(reason, SBX_VM_REASON_BYTES, "it does not tell where %s%s%s is",
                           it->type == NULL ? "" : it->type,
                           it->type == NULL || it->name == NULL ? "" : "::", it->name == NULL ? "" : it->name);
            return SBX_VM_UNKNOWN;
        }
    }
    *layout_out = layout;
    return SBX_VM_READ;
}
