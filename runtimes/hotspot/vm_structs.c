/* SPDX-License-Identifier: Apache-2.0 */
/* vm_structs.c - the offsets of the fields of HotSpot's structures. */
#include "vm_structs.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* One of the exported tables: where it begins, and the offset of each part of an entry. */
struct table {
    const char *at;
    uint64_t stride, type, name, is_static, offset, address, value;
};

struct tables {
    struct table structs, types, integers;
};

struct exports {
    sbx_vm_find_symbol find;
    void *library;
    bool is_whole; /* all names were found so far */
    bool is_ready; /* and have values */
};

/* Returns the value of the variable `name`: an address, or the offset of a part. */
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

/* Finds a field or a variable. */
static bool find_field(struct sbx_vm_layout *layout, const struct table *table, const struct sbx_vm_wanted *it)
{
    for (const char *entry = table->at; text_at(entry, table->type) != NULL; entry += table->stride) {
        if (!is_text(text_at(entry, table->type), it->type) || !is_text(text_at(entry, table->name), it->name)) {
            continue;
        }
        bool is_static = *(const int32_t *)(const void *)(entry + table->is_static) != 0;
        uint64_t number = *(const uint64_t *)(const void *)(entry + (is_static ? table->address : table->offset));
        if (is_static != (it->kind == SBX_VM_VARIABLE) || (is_static ? number == 0 : number > INT32_MAX)) {
            return false;
        }
        put(layout, it->at, &number, is_static ? 8 : 4);
        return true;
    }
    return false;
}

static bool find_size(struct sbx_vm_layout *layout, const struct table *table, const struct sbx_vm_wanted *it)
{
    for (const char *entry = table->at; text_at(entry, table->type) != NULL; entry += table->stride) {
        if (is_text(text_at(entry, table->type), it->type)) {
            put(layout, it->at, entry + table->value, 4); /* of a little-endian uint64_t */
            return true;
        }
    }
    return false;
}

static bool find_integer(struct sbx_vm_layout *layout, const struct table *table, const struct sbx_vm_wanted *it)
{
    for (const char *entry = table->at; text_at(entry, table->name) != NULL; entry += table->stride) {
        if (is_text(text_at(entry, table->name), it->name)) {
            put(layout, it->at, entry + table->value, 4);
            return true;
        }
    }
    return false;
}

/* Returns the version. It is in a variable of its own, which the compiler fills in. 0: not known. */
static uint32_t major_version(const struct table *structs)
{
    struct sbx_vm_layout scratch = {.major = 0};
    const struct sbx_vm_wanted version = {SBX_VM_VARIABLE, "Abstract_VM_Version", "_vm_major_version",
                                          offsetof(struct sbx_vm_layout, code_heaps)};
    if (!find_field(&scratch, structs, &version)) {
        return 0;
    }
    return *(const uint32_t *)(uintptr_t)scratch.code_heaps;
}

/* Reads everything in a list. On false, `reason` names what is missing. */
static bool find_all(struct sbx_vm_layout *layout, const struct tables *tables, const struct sbx_vm_wanted *wanted,
                     size_t count, char reason[static SBX_VM_REASON_BYTES])
{
    for (size_t i = 0; i < count; i++) {
        const struct sbx_vm_wanted *it = &wanted[i];
        bool is_found = it->kind == SBX_VM_SIZE      ? find_size(layout, &tables->types, it)
                        : it->kind == SBX_VM_INTEGER ? find_integer(layout, &tables->integers, it)
                                                     : find_field(layout, &tables->structs, it);
        if (!is_found) {
            (void)snprintf(reason, SBX_VM_REASON_BYTES, "it does not tell where %s%s%s is",
                           it->type == NULL ? "" : it->type,
                           it->type == NULL || it->name == NULL ? "" : "::", it->name == NULL ? "" : it->name);
            return false;
        }
    }
    return true;
}

enum sbx_vm_read_result sbx_vm_layout_read(struct sbx_vm_layout *layout_out, sbx_vm_find_symbol find, void *library,
                                           char reason[static SBX_VM_REASON_BYTES])
{
    struct exports exports = {.find = find, .library = library, .is_whole = true, .is_ready = true};
    const struct tables tables = {structs_table(&exports), types_table(&exports), integers_table(&exports)};
    reason[0] = '\0';
    if (!exports.is_whole) {
        (void)snprintf(reason, SBX_VM_REASON_BYTES, "it exports no table of its structures");
        return SBX_VM_UNKNOWN;
    }
    if (!exports.is_ready) {
        return SBX_VM_NOT_READY;
    }
    uint32_t major = major_version(&tables.structs);
    const struct sbx_vm_version *version = sbx_vm_version_find(major);
    layout_out->major = major;
    if (version == NULL) {
        (void)snprintf(reason, SBX_VM_REASON_BYTES, "version %u is not known", major);
        return SBX_VM_UNKNOWN;
    }
    struct sbx_vm_layout layout = version->constants;
    if (!find_all(&layout, &tables, sbx_vm_wanted_always, sbx_vm_wanted_always_count, reason) ||
        !find_all(&layout, &tables, version->wanted, version->wanted_count, reason)) {
        return SBX_VM_UNKNOWN;
    }
    *layout_out = layout;
    return SBX_VM_READ;
}
