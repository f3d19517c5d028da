/* SPDX-License-Identifier: Apache-2.0 */
/* function_starts.c - one binary search in a copy of .eh_frame_hdr. */
#include "function_starts.h"

#include <stdlib.h>

#include "eh_frame.h"
#include "process_memory.h"

enum {
    HEADER_MAX = 64 << 20 /* eight bytes per function; libLLVM has 2 MiB */
};

/* Copied at first use; NULL: the module has none. */
static const uint8_t *header_of(struct sbx_process_modules *modules, struct sbx_process_module *module)
{
    if (!module->header_was_asked) {
        module->header_was_asked = true;
        size_t bytes = module->place.eh_frame_hdr_bytes;
        uint8_t *copy = bytes > 0 && bytes <= HEADER_MAX ? malloc(bytes) : NULL;
        if (copy != NULL && sbx_process_memory_read(modules->pid, module->bias + module->place.eh_frame_hdr_address,
                                                    copy, bytes) != 0) {
            free(copy);
            copy = NULL;
        }
        module->eh_frame_hdr = copy;
    }
    return module->eh_frame_hdr;
}

uint64_t sbx_function_start(struct sbx_process_modules *modules, uint64_t address)
{
    const struct sbx_code_range *range = sbx_code_map_find(modules->map, address);
    struct sbx_process_module *module = range != NULL ? &modules->modules[range->module] : NULL;
    const uint8_t *header = module != NULL ? header_of(modules, module) : NULL;
    struct sbx_eh_search_table table;
    if (header == NULL) {
        return 0;
    }
    struct sbx_eh_section section = {header, module->place.eh_frame_hdr_bytes, module->place.eh_frame_hdr_address};
    if (sbx_eh_search_table_read(&section, &table) != 0 || table.entries == NULL) {
        return 0;
    }
    uint64_t begin = 0, fde;
    uint32_t low = 0, high = table.count;
    while (low < high) { /* find the first entry after the address */
        uint32_t middle = low + (high - low) / 2;
        sbx_eh_search_table_entry(&table, middle, &begin, &fde);
        if (begin <= address - module->bias) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return 0;
    }
    sbx_eh_search_table_entry(&table, low - 1, &begin, &fde);
    return module->bias + begin;
}
