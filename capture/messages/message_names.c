/* SPDX-License-Identifier: Apache-2.0 */
/* message_names.c - set once, and written to each recording of the family. */
#include "message_names.h"

#include "order.h"
#include "recording_format.h"
#include "the_capture.h"

enum {
    NAMES = SBX_MESSAGE_KINDS + SBX_SCENES /* the first scene follows the last kind */
};
static struct sbx_kind_entry kind_names[NAMES];

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

static void publish(uint32_t place)
{
    const struct sbx_section *section = &sbx_the_capture.header->kinds;
    /* order: acquire kind.state */
    if (place < section->count && sbx_load_acquire(&kind_names[place].state) == SBX_KIND_SET) {
        (void)set((struct sbx_kind_entry *)(void *)((uint8_t *)sbx_the_capture.header + section->at) + place,
                  kind_names[place].name);
    }
}

static SBX_HOOK_SAFE void keep(uint32_t place, const char *name)
{
    if (!set(&kind_names[place], name)) {
        return;
    }
    sbx_fence_seq_cst(); /* either this thread sees the recording, or the thread that begins it sees the name */
    if (sbx_capture_is_ours()) {
        publish(place);
    }
}

SBX_HOOK_SAFE void sbx_message_set_name(uint32_t kind, const char *name)
{
    if (kind != 0 && kind < SBX_MESSAGE_KINDS) {
        keep(kind, name);
    }
}

SBX_HOOK_SAFE void sbx_scene_set_name(uint32_t scene, const char *name)
{
    if (scene != 0 && scene < SBX_SCENES) {
        keep(SBX_MESSAGE_KINDS + scene, name);
    }
}

void sbx_message_names_publish(void)
{
    sbx_fence_seq_cst();
    for (uint32_t place = 1; place < NAMES; place++) {
        publish(place);
    }
}
