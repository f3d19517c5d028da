/* SPDX-License-Identifier: Apache-2.0 */
/* recording_check.c - can these bytes be read as a recording at all? */
#include "recording_check.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* The first possible offset of a section: after the pages of the header and of the control page. */
enum {
    SECTIONS_FROM = SBX_CONTROL_AT + 4096
};

static bool magic_is_ours(const char magic[8])
{
    for (unsigned i = 0; i < 8; i++) {
        if (magic[i] != SBX_RECORDING_MAGIC[i]) {
            return false;
        }
    }
    return true;
}

/* No sum here can overflow: count and entry_bytes have 32 bits, and `at` is compared before anything is added to it. */
static bool section_fits(const struct sbx_section *section, uint64_t bytes, size_t entry_bytes, uint32_t count_max)
{
    return section->entry_bytes == entry_bytes && section->count <= count_max && section->at >= SECTIONS_FROM &&
           section->at % sizeof(uint64_t) == 0 && section->at <= bytes &&
           (uint64_t)section->count * entry_bytes <= bytes - section->at;
}

const char *sbx_recording_check(const struct sbx_recording_header *header, uint64_t bytes, int *error_out)
{
    *error_out = -EINVAL;
    if (!magic_is_ours(header->magic)) {
        return "is not a recording";
    }
    if (header->version != SBX_RECORDING_VERSION || header->layout_hash != sbx_layout_hash()) {
        *error_out = -EPROTO;
        return "is a recording of another version of stallbox";
    }
    if (header->file_bytes > bytes || header->file_bytes < SECTIONS_FROM) {
        return "is a truncated recording";
    }
    uint64_t whole = header->file_bytes;
    if (!section_fits(&header->modules, whole, sizeof(struct sbx_module_entry), SBX_MODULES_MAX)) {
        return "is a damaged recording (modules)";
    }
    if (!section_fits(&header->threads, whole, sizeof(struct sbx_thread_entry), SBX_THREADS_MAX)) {
        return "is a damaged recording (threads)";
    }
    if (!section_fits(&header->watches, whole, sizeof(struct sbx_watch_entry), SBX_WATCHES_MAX)) {
        return "is a damaged recording (watches)";
    }
    if (!section_fits(&header->kinds, whole, sizeof(struct sbx_kind_entry), SBX_MESSAGE_KINDS + SBX_SCENES)) {
        return "is a damaged recording (message kinds)";
    }
    if (!section_fits(&header->tasks, whole, sizeof(struct sbx_task_entry), SBX_TASKS_MAX) ||
        !section_fits(&header->queues, whole, sizeof(struct sbx_queue_entry), SBX_QUEUES_MAX)) {
        return "is a damaged recording (tasks)";
    }
    if (!section_fits(&header->frames, whole, sizeof(uint64_t), SBX_FRAMES_LIMIT) || header->frames.count % 2 != 0) {
        return "is a damaged recording (frames)";
    }
    if (!section_fits(&header->nodes, whole, sizeof(uint64_t), SBX_NODES_LIMIT) || header->nodes.count % 2 != 0) {
        return "is a damaged recording (callstacks)";
    }
    if (!section_fits(&header->ids, whole, sizeof(uint64_t), SBX_IDS_MAX)) {
        return "is a damaged recording (functions)";
    }
    if (!section_fits(&header->chunks, whole, sizeof(struct sbx_chunk), SBX_CHUNKS_LIMIT)) {
        return "is a damaged recording (ring)";
    }
    *error_out = 0;
    return NULL;
}
