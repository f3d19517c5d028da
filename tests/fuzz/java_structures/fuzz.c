/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - unfinished structures of a Java virtual machine: lines, names, scopes of compiled code, begin and end of
 * methods.
 *
 * The first byte selects the reader of the rest. Properties: nothing outside of the input is read, every reader ends, a
 * line fits its field, text is complete UTF-8 without control characters. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compiled_leaf.h"
#include "compiled_scopes.h"
#include "fuzz_target.h"
#include "java_name.h"
#include "line_table.h"

static uint64_t low, high;

static bool load(uint64_t address, uint64_t *word_out)
{
    if (address < low || address >= high || high - address < 8) {
        return false;
    }
    memcpy(word_out, (const void *)(uintptr_t)address, 8);
    return true;
}

static void must_be_text(const struct sbx_java_text *text)
{
    MUST(text->bytes <= text->max);
    for (uint32_t i = 0; i < text->bytes;) {
        uint8_t first = (uint8_t)text->to[i];
        uint32_t more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
        MUST(first >= 0x20 && first != 0x7f && (first < 0x80 || first >= 0xc2) && i + more < text->bytes);
        for (i++; more > 0; more--, i++) {
            MUST(((uint8_t)text->to[i] & 0xc0) == 0x80);
        }
    }
}

/* Write an address in the input, given as an offset in it. */
static void put_address(uint8_t *blob, uint32_t at)
{
    uint32_t offset = 0;
    memcpy(&offset, blob + at, sizeof offset);
    uint64_t address = (uint64_t)(uintptr_t)blob + offset;
    memcpy(blob + at, &address, sizeof address);
}

static void read_scopes(uint8_t *blob, uint32_t bytes, bool is_outside)
{
    static const struct sbx_vm_layout in_blob = {
        .scopes_data = 0,
        .metadata = 8,
        .scopes_pcs = 12,
        .dependencies = 16,
        .pc_desc_scope = 4,
        .pc_desc_bytes = 16,
        .invocation_entry = -1,
    };
    static const struct sbx_vm_layout outside = {
        .immutable_data = 0,
        .immutable_bytes = 8,
        .scopes_pcs = 12,
        .scopes_data = 16,
        .relocation_bytes = 20,
        .mutable_data = 24,
        .mutable_bytes = 32,
        .pc_desc_scope = 4,
        .pc_desc_bytes = 16,
        .packed_number_excess = 1,
        .invocation_entry = -1,
        .has_outside_scopes = true,
    };
    const struct sbx_vm_layout *layout = is_outside ? &outside : &in_blob;
    if (bytes < 40) {
        return;
    }
    put_address(blob, 0);
    if (is_outside) {
        put_address(blob, 24);
    }
    struct sbx_code code = {.bytes = bytes, .blob = (uint64_t)(uintptr_t)blob, .code = (uint64_t)(uintptr_t)blob + 24};
    for (uint32_t pc = 0; pc < bytes; pc += 5) {
        struct sbx_scopes scopes;
        if (sbx_scopes_find(&scopes, layout, &code, code.code + pc) == SBX_SCOPES_NONE) {
            continue;
        }
        uint64_t method = 0;
        int32_t bci = 0;
        for (uint32_t i = 0; sbx_scopes_next(&scopes, layout, &method, &bci); i++) {
            MUST(i < bytes && method != 0);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes < 2 || bytes > 1 << 16) {
        return 0;
    }
    uint8_t what = data[0], parameter = data[1];
    bytes -= 2;
    /* Of the exact size in whole words, because the readers load words. */
    size_t room = (bytes + 7) / 8 * 8;
    uint8_t *copy = aligned_alloc(8, room + 8);
    MUST(copy != NULL);
    memset(copy, 0, room + 8);
    memcpy(copy, data + 2, bytes);
    low = (uint64_t)(uintptr_t)copy;
    high = low + room;
    sbx_vm_guarded_load = load;
    struct sbx_vm_bytes all = {.at = low, .left = (uint32_t)bytes + parameter};
    if (what % 4 == 0) {
        for (int32_t bci = -1; bci < 300; bci += 7) {
            MUST(sbx_line_of(all, parameter & 1, bci) <= 0xffff);
        }
    } else if (what % 4 == 1) {
        char to[SBX_JAVA_FUNCTION_BYTES];
        struct sbx_java_text text = {.to = to, .max = sizeof to};
        sbx_java_text_append(&text, all, (parameter & 1) != 0);
        must_be_text(&text);
    } else if (what % 4 == 2) {
        read_scopes(copy, (uint32_t)bytes, (parameter & 1) != 0);
    } else {
        for (size_t at = 0; at < bytes; at++) {
            enum sbx_leaf_frame leaf = SBX_LEAF_UNKNOWN;
            (void)sbx_compiled_leaf(copy, copy + bytes, copy + at, parameter & 1);
            (void)sbx_stub_leaf(copy, copy + bytes, copy + at, parameter, &leaf);
        }
    }
    free(copy);
    return 0;
}
