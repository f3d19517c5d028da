/* SPDX-License-Identifier: Apache-2.0 */
/* call_sites.c - a table of the places in compiled code to which calls return. */
#include "call_sites.h"

#include <string.h>

#include "order.h"

static uint32_t place_of(uint64_t pc)
{
    return (uint32_t)((pc * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % SBX_CALL_SITES;
}

static uint32_t compile_id_of(uint64_t blob, const struct sbx_vm_layout *layout)
{
    uint32_t number = 0;
    memcpy(&number, (const void *)(uintptr_t)(blob + layout->compile_id), sizeof number);
    return number;
}

/* Is the compilation still there? All reads are in the code cache, which stays mapped. */
static bool is_there(const struct sbx_call_site *site, const struct sbx_vm_layout *layout)
{
    uint64_t used = site->blob - layout->block_bytes + layout->block_used;
    return *(const volatile uint8_t *)(uintptr_t)site->segment == 0 &&
           *(const volatile uint8_t *)(uintptr_t)used != 0 && compile_id_of(site->blob, layout) == site->compile_id;
}

SBX_SIGNAL_SAFE struct sbx_call_site sbx_call_site_of(const struct sbx_code *code, const struct sbx_vm_layout *layout,
                                                      uint64_t pc)
{
    return (struct sbx_call_site){.pc = pc,
                                  .blob = code->blob,
                                  .segment = code->segment,
                                  .compile_id = compile_id_of(code->blob, layout),
                                  .frame_words = code->frame_words};
}

SBX_SIGNAL_SAFE bool sbx_call_site_find(const struct sbx_call_sites *sites, const struct sbx_vm_layout *layout,
                                        uint64_t pc, struct sbx_call_site *site_out)
{
    const struct sbx_call_entry *entry = &sites->entries[place_of(pc)];
    uint32_t sequence = sbx_load_acquire(&entry->sequence); /* order: acquire call_site.sequence */
    if ((sequence & 1) != 0 || sbx_load_relaxed(&entry->pc) != pc) {
        return false;
    }
    uint32_t count = sbx_load_relaxed(&entry->count);
    if (count == 0 || count > SBX_SITE_METHODS) {
        return false;
    }
    site_out->pc = pc;
    site_out->blob = sbx_load_relaxed(&entry->blob);
    site_out->segment = sbx_load_relaxed(&entry->segment);
    site_out->compile_id = sbx_load_relaxed(&entry->compile_id);
    site_out->frame_words = sbx_load_relaxed(&entry->frame_words);
    site_out->count = count;
    for (uint32_t i = 0; i < count; i++) {
        site_out->methods[i].method = sbx_load_relaxed(&entry->methods[i].method);
        site_out->methods[i].id = sbx_load_relaxed(&entry->methods[i].id);
        site_out->methods[i].bci = sbx_load_relaxed(&entry->methods[i].bci);
        site_out->methods[i].line = sbx_load_relaxed(&entry->methods[i].line);
    }
    sbx_fence_acquire(); /* order: acquire call_site.sequence - the second read of it comes after all other reads */
    return sbx_load_relaxed(&entry->sequence) == sequence && is_there(site_out, layout);
}

SBX_SIGNAL_SAFE void sbx_call_site_put(struct sbx_call_sites *sites, const struct sbx_call_site *site)
{
    struct sbx_call_entry *entry = &sites->entries[place_of(site->pc)];
    uint32_t sequence = sbx_load_relaxed(&entry->sequence); /* relaxed: the exchange decides */
    if (site->count == 0 || site->count > SBX_SITE_METHODS || site->compile_id == 0 || (sequence & 1) != 0 ||
        !sbx_cas_acq_rel(&entry->sequence, &sequence, sequence + 1)) { /* order: acq_rel call_site.sequence */
        return; /* the other writer may be the thread that this handler interrupted */
    }
    sbx_fence_release(); /* order: release call_site.sequence - odd before any other store */
    sbx_store_relaxed(&entry->pc, site->pc);
    sbx_store_relaxed(&entry->blob, site->blob);
    sbx_store_relaxed(&entry->segment, site->segment);
    sbx_store_relaxed(&entry->compile_id, site->compile_id);
    sbx_store_relaxed(&entry->frame_words, site->frame_words);
    sbx_store_relaxed(&entry->count, site->count);
    for (uint32_t i = 0; i < site->count; i++) {
        sbx_store_relaxed(&entry->methods[i].method, site->methods[i].method);
        sbx_store_relaxed(&entry->methods[i].id, site->methods[i].id);
        sbx_store_relaxed(&entry->methods[i].bci, site->methods[i].bci);
        sbx_store_relaxed(&entry->methods[i].line, site->methods[i].line);
    }
    sbx_store_release(&entry->sequence, sequence + 2); /* order: release call_site.sequence - even: it is whole */
}
