/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - the recording reader on arbitrary bytes: no crash, no leak, and an accepted recording holds what the reader
 * promises.
 *
 * Also the recovery of a dead process's recording: the decision, the copy into a snapshot, and the reading of the copy.
 *
 * Each input is read twice: unchanged, and with the few fields that only say "this is a recording of this version" set
 * right, so that mutations get past them and old corpus files stay useful when the layout changes. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_target.h"
#include "recording_check.h"
#include "recovery_decision.h"
#include "snapshot.h"
#include "snapshot_copy.h"

static void require(int holds)
{
    if (!holds) {
        abort();
    }
}

static void read_and_check(const uint8_t *data, size_t bytes)
{
    struct sbx_snapshot *snapshot = NULL;
    char why[64] = "";
    uint64_t frames[64];
    if (sbx_snapshot_read(data, bytes, &snapshot, why, sizeof why) != 0) {
        require(snapshot == NULL && why[0] != 0);
        return;
    }
    require(snapshot->thread_count >= 1 && snapshot->header.main_thread < snapshot->thread_count);
    require(snapshot->header.trigger.thread < snapshot->thread_count);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        require(record->thread < snapshot->thread_count);
        require(record->kind > SBX_RECORD_NONE && record->kind < SBX_RECORD_KINDS);
        require(record->begin_ns <= record->end_ns);
        require(i == 0 || snapshot->records[i - 1].end_ns <= record->end_ns);
        size_t count = sbx_snapshot_stack(snapshot, record->stack, frames, SBX_COUNT_OF(frames));
        require((count > 0) == (record->stack != SBX_STACK_NONE && record->stack != SBX_STACK_OVERFLOW));
        for (size_t j = 0; j < count && j < SBX_COUNT_OF(frames); j++) {
            uint32_t module = (uint32_t)(frames[j] >> SBX_FRAME_MODULE_SHIFT);
            require(module < snapshot->module_count || module >= SBX_MODULE_CUT || sbx_is_logical(frames[j]));
        }
    }
    for (uint32_t i = 0; i < snapshot->thread_count; i++) {
        require(memchr(snapshot->threads[i].entry.name, 0, sizeof snapshot->threads[i].entry.name) != NULL);
        (void)sbx_snapshot_stack(snapshot, snapshot->threads[i].entry.last_stack, frames, SBX_COUNT_OF(frames));
    }
    for (uint32_t i = 0; i < snapshot->module_count; i++) {
        require(memchr(snapshot->modules[i].path, 0, sizeof snapshot->modules[i].path) != NULL);
        require(snapshot->modules[i].build_id_bytes <= SBX_BUILD_ID_MAX);
    }
    sbx_snapshot_destroy(snapshot);
}

/* Do what recovery does with the file of a process that is gone. `data` has malloc's alignment. */
static void recover_and_check(const uint8_t *data, size_t bytes)
{
    static uint64_t scratch[SBX_COPY_SCRATCH_MIN / sizeof(uint64_t)];
    const struct sbx_recording_header *header = (const void *)data;
    const struct sbx_process_facts facts = {.has_let_go = true};
    struct sbx_capture_settings settings = {.enabled = 1, .crash = SBX_CRASH_SETTLED};
    int error;
    if (sbx_recording_check(header, bytes, &error) != NULL) {
        return;
    }
    enum sbx_recovery verdict = sbx_recovery_decide(header, &settings, &facts);
    uint64_t last_ns = sbx_recovery_last_sign_ns(header);
    struct sbx_trigger_entry trigger = sbx_recovery_trigger(header, &settings, verdict, &facts, last_ns);
    require(trigger.begin_ns <= trigger.end_ns);
    require(trigger.kind == SBX_TRIGGER_KILLED || trigger.kind == SBX_TRIGGER_CRASH);
    int fd = memfd_create("snapshot", MFD_CLOEXEC);
    require(fd >= 0);
    if (header->file_bytes <= UINT64_C(1) << 24 &&
        sbx_snapshot_copy_bounded(header, bytes, fd, &trigger, header->session_id, last_ns, scratch, sizeof scratch) ==
            0) {
        uint8_t *copy = malloc(header->file_bytes);
        require(copy != NULL && pread(fd, copy, header->file_bytes, 0) == (ssize_t)header->file_bytes);
        read_and_check(copy, header->file_bytes);
        free(copy);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    read_and_check(data, bytes);
    if (bytes >= sizeof(struct sbx_recording_header)) {
        struct sbx_recording_header header;
        uint8_t *fixed = malloc(bytes);
        if (fixed != NULL) {
            memcpy(fixed, data, bytes);
            memcpy(&header, fixed, sizeof header);
            memcpy(header.magic, SBX_RECORDING_MAGIC, sizeof header.magic);
            header.version = SBX_RECORDING_VERSION;
            header.layout_hash = sbx_layout_hash();
            const struct sbx_guest_entry *guest = &header.guests[0];
            bool has_guest = guest->at >= sizeof header && guest->at <= bytes && bytes - guest->at >= sizeof header;
            header.file_bytes = has_guest ? guest->at : bytes;
            memcpy(fixed, &header, sizeof header);
            if (has_guest) { /* the same for the recording of another process behind it */
                memcpy(fixed + guest->at, SBX_RECORDING_MAGIC, sizeof header.magic);
                memcpy(fixed + guest->at + offsetof(struct sbx_recording_header, version), &header.version,
                       2 * sizeof header.version);
            }
            read_and_check(fixed, bytes);
            recover_and_check(fixed, bytes);
            free(fixed);
        }
    }
    return 0;
}
