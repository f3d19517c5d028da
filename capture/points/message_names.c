/* SPDX-License-Identifier: Apache-2.0 */
/* message_names.c - set once, and written to each recording of the family. */
#include "message_names.h"

#include "order.h"
#include "recording_format.h"
#include "the_capture.h"

static struct sbx_kind_entry kind_names[SBX_MESSAGE_KINDS];

static bool set(struct sbx_kind_entry *entry, const char *name)
{
    uint32_t expected = SBX_KIND_FREE;
    /* order: acq_rel kind.state - one writer a kind */
    if (!sbx_cas_acq_rel(&entry->state, &expected, SBX_KIND_FILLING)) {
        return false;
    }
    for (uint32_t i = 0; i < sizeof entry->name - 1 && name[i] != 0; i++) {
        entry->name[i] = name[i];
    }
    sbx_store_release(&entry->state, SBX_KIND_SET); /* order: release kind.state - the name is whole */
    return true;
}

static void publish(uint32_t kind)
{
    const struct sbx_section *section = &sbx_the_capture.header->kinds;
    /* order: acquire kind.state */
    if (kind < section->count && sbx_load_acquire(&kind_names[kind].state) == SBX_KIND_SET) {
        (void)set((struct sbx_kind_entry *)(void *)((uint8_t *)sbx_the_capture.header + section->at) + kind,
                  kind_names[kind].name);
    }
}

SBX_HOOK_SAFE void sbx_message_set_name(uint32_t kind, const char *name)
{
    if (kind == 0 || kind >= SBX_MESSAGE_KINDS || !set(&kind_names[kind], name)) {
        return;
    }
    sbx_fence_seq_cst(); /* either we see that there is a recording, or who begins it sees the name */
    if (sbx_capture_is_ours()) {
        publish(kind);
    }
}

void sbx_message_names_publish(void)
{
    sbx_fence_seq_cst();
    for (uint32_t kind = 1; kind < SBX_MESSAGE_KINDS; kind++) {
        publish(kind);
    }
}
