/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.c - reads one recording into a value. */
#include "snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "callstack_reader.h"
#include "chunk_reader.h"
#include "file_bytes.h"
#include "guest_copy.h"
#include "guest_merge.h"
#include "clock.h"
#include "recording_check.h"
#include "shared_mapping.h"
#include "snapshot_copy.h"
#include "task_reader.h"

static void __attribute__((format(printf, 3, 4))) say_why(char *why, size_t why_bytes, const char *format, ...)
{
    if (why != NULL && why_bytes > 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(why, why_bytes, format, arguments);
        va_end(arguments);
    }
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* ---- sections ---- */

/* A malloc'ed copy of the first `count` elements of a section. It is not NULL for a count of 0, so that every caller
 * may index and free alike. */
static void *copy_section(const uint8_t *data, const struct sbx_section *section, uint32_t count)
{
    size_t bytes = (size_t)count * section->entry_bytes;
    void *copy = malloc(bytes == 0 ? 1 : bytes);
    if (copy != NULL && bytes != 0) {
        memcpy(copy, data + section->at, bytes);
    }
    return copy;
}

static int read_modules(struct sbx_snapshot *snapshot, const uint8_t *data)
{
    snapshot->module_count = snapshot->header.module_count;
    snapshot->modules = copy_section(data, &snapshot->header.modules, snapshot->module_count);
    if (snapshot->modules == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < snapshot->module_count; i++) {
        struct sbx_module_entry *module = &snapshot->modules[i];
        module->path[sizeof module->path - 1] = 0;
        module->build_id_bytes = smaller(module->build_id_bytes, sizeof module->build_id);
    }
    return 0;
}

/* Limits numbers that later become names: an unknown number becomes "none". */
static void tame(struct sbx_thread_entry *entry)
{
    entry->name[sizeof entry->name - 1] = 0;
    if (entry->state > SBX_THREAD_DEAD) {
        entry->state = SBX_THREAD_DEAD;
    }
    if (entry->call_kind >= SBX_RECORD_KINDS) {
        entry->call_kind = SBX_RECORD_NONE;
    }
    if (entry->call_op >= SBX_OP_MAX) {
        entry->call_op = SBX_OP_NONE;
    }
}

/* A recording without threads gets an empty thread, so that the main thread's index is always valid. */
static int read_threads(struct sbx_snapshot *snapshot, const uint8_t *data)
{
    uint32_t count = snapshot->header.thread_count;
    snapshot->thread_count = count == 0 ? 1 : count;
    snapshot->threads = calloc(snapshot->thread_count, sizeof *snapshot->threads);
    if (snapshot->threads == NULL) {
        return -ENOMEM;
    }
    snapshot->threads[0].index = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        struct sbx_snapshot_thread *thread = &snapshot->threads[i];
        memcpy(&thread->entry, data + snapshot->header.threads.at + (size_t)i * sizeof thread->entry,
               sizeof thread->entry);
        tame(&thread->entry);
        thread->index = i;
    }
    snapshot->header.thread_count = snapshot->thread_count;
    return 0;
}

/* Reads the entries that were begun and neither kept nor given back. Their words were stored one by one while they were
 * copied: inconsistent entries are left out. */
static int read_watches(struct sbx_snapshot *snapshot, const uint8_t *data)
{
    uint32_t count = snapshot->header.watches.count, named = snapshot->header.trigger.watch;
    snapshot->watches = calloc(count == 0 ? 1 : count, sizeof *snapshot->watches);
    if (snapshot->watches == NULL) {
        return -ENOMEM;
    }
    snapshot->header.trigger.watch = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct sbx_watch_entry *watch = &snapshot->watches[snapshot->watch_count];
        memcpy(watch, data + snapshot->header.watches.at + (size_t)i * sizeof *watch, sizeof *watch);
        if (sbx_watch_state_of(watch->word) == SBX_WATCH_TOLD) {
            watch->word = sbx_watch_word(watch->word >> 8, SBX_WATCH_OPEN);
        }
        enum sbx_watch_state state = sbx_watch_state_of(watch->word);
        bool is_kind = watch->kind == SBX_WATCH_WATCHDOG || watch->kind == SBX_WATCH_DEADLINE;
        if (!is_kind || (state != SBX_WATCH_OPEN && state != SBX_WATCH_RESTING && state != SBX_WATCH_LATE)) {
            continue;
        }
        if (watch->thread >= snapshot->header.thread_count ||
            snapshot->threads[watch->thread].entry.generation != watch->thread_generation) {
            watch->thread = UINT32_MAX; /* its thread ended; the entry may belong to another thread */
        }
        watch->name[sizeof watch->name - 1] = 0;
        snapshot->watch_count++;
        if (named == i + 1) {
            snapshot->header.trigger.watch = snapshot->watch_count;
        }
    }
    return 0;
}

/* A name that was being written while it was copied is left out. */
static int read_kinds(struct sbx_snapshot *snapshot, const uint8_t *data)
{
    uint32_t count = snapshot->header.kinds.count;
    snapshot->kinds = calloc(count == 0 ? 1 : count, sizeof *snapshot->kinds);
    if (snapshot->kinds == NULL) {
        return -ENOMEM;
    }
    snapshot->kind_count = smaller(count, SBX_MESSAGE_KINDS);
    snapshot->scene_count = count - snapshot->kind_count;
    snapshot->scenes = snapshot->kinds + snapshot->kind_count;
    for (uint32_t i = 0; i < count; i++) {
        struct sbx_kind_entry *kind = &snapshot->kinds[i];
        memcpy(kind, data + snapshot->header.kinds.at + (size_t)i * sizeof *kind, sizeof *kind);
        kind->name[kind->state == SBX_KIND_SET ? sizeof kind->name - 1 : 0] = 0;
    }
    return 0;
}

static int read_callstacks(struct sbx_snapshot *snapshot, const uint8_t *data)
{
    snapshot->frame_count = snapshot->header.frames.count;
    snapshot->node_count = snapshot->header.nodes.count;
    snapshot->frames = copy_section(data, &snapshot->header.frames, snapshot->frame_count);
    snapshot->nodes = copy_section(data, &snapshot->header.nodes, snapshot->node_count);
    snapshot->id_count = snapshot->header.ids.count;
    snapshot->ids = copy_section(data, &snapshot->header.ids, snapshot->id_count);
    if (snapshot->frames == NULL || snapshot->nodes == NULL || snapshot->ids == NULL) {
        return -ENOMEM;
    }
    return sbx_callstacks_clean(snapshot);
}

/* Replaces invalid callstack ids by 0. */
static void check_callstack_ids(struct sbx_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->record_count; i++) {
        struct sbx_record *record = &snapshot->records[i];
        uint32_t stack = record->stack;
        record->stack = sbx_callstack_check(snapshot, stack, record->end_ns);
        snapshot->drops[SBX_DROP_STALE_STACK] += record->stack != stack;
    }
    for (uint32_t i = 0; i < snapshot->thread_count; i++) {
        struct sbx_thread_entry *entry = &snapshot->threads[i].entry;
        /* Not checked against the time of its record, because the watch thread carries it into each new epoch. */
        entry->last_stack = sbx_callstack_check(snapshot, entry->last_stack, UINT64_MAX);
        entry->starter_stack = sbx_callstack_check(snapshot, entry->starter_stack, UINT64_MAX);
    }
}

/* Limits the header's own numbers to the available sections. */
static void tame_header(struct sbx_recording_header *header)
{
    header->module_count = smaller(header->module_count, header->modules.count);
    header->thread_count = smaller(header->thread_count, header->threads.count);
    if (header->main_thread >= header->thread_count) {
        header->main_thread = 0;
    }
    if (header->trigger.thread >= header->thread_count) {
        header->trigger.thread = header->main_thread;
    }
    if (header->note.thread >= header->thread_count) {
        header->note.thread = header->main_thread;
    }
    if (header->consent > SBX_CONSENT_DENIED) {
        header->consent = SBX_CONSENT_DENIED;
    }
    if (header->trigger.message_kind >= SBX_MESSAGE_KINDS) {
        header->trigger.message_kind = 0;
    }
    if (header->trigger.scene >= SBX_SCENES) {
        header->trigger.scene = 0;
    }
    if (header->trigger.kind >= SBX_TRIGGER_KINDS) {
        header->trigger.kind = SBX_TRIGGER_NONE;
    }
    if (header->trigger.end_ns < header->trigger.begin_ns) {
        header->trigger.end_ns = header->trigger.begin_ns;
    }
    header->provider_count = smaller(header->provider_count, SBX_PROVIDERS_MAX);
    for (uint32_t i = 0; i < SBX_PROVIDERS_MAX; i++) {
        header->providers[i].name[SBX_PROVIDER_NAME_MAX - 1] = 0;
    }
    header->spool_path[sizeof header->spool_path - 1] = 0;
    header->executable_path[sizeof header->executable_path - 1] = 0;
}

/* ---- entries ---- */

/* Reads one recording, whatever lies behind it. */
static int read_alone(const uint8_t *file, size_t bytes, struct sbx_snapshot **snapshot_out, char *why,
                      size_t why_bytes)
{
    int error;
    struct sbx_snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (snapshot == NULL) {
        goto out_of_memory;
    }
    if (bytes < sizeof snapshot->header) {
        say_why(why, why_bytes, "is too short for a recording");
        error = -EINVAL;
        goto destroy_snapshot;
    }
    memcpy(&snapshot->header, file, sizeof snapshot->header); /* the data may be unaligned */
    const char *complaint = sbx_recording_check(&snapshot->header, bytes, &error);
    if (complaint != NULL) {
        say_why(why, why_bytes, "%s", complaint);
        goto destroy_snapshot;
    }
    tame_header(&snapshot->header);
    struct sbx_control_page control;
    memcpy(&control, file + SBX_CONTROL_AT, sizeof control);
    snapshot->settings = control.in_force;
    memcpy(snapshot->drops, snapshot->header.drops, sizeof snapshot->drops);
    if (read_modules(snapshot, file) != 0 || read_threads(snapshot, file) != 0 || read_watches(snapshot, file) != 0 ||
        read_kinds(snapshot, file) != 0 || read_callstacks(snapshot, file) != 0 ||
        sbx_chunks_read(snapshot, file + snapshot->header.chunks.at, snapshot->header.chunks.count) != 0 ||
        sbx_tasks_read(snapshot, file + snapshot->header.tasks.at, file + snapshot->header.queues.at) != 0) {
        goto out_of_memory; /* nothing else fails there: damaged data only loses records */
    }
    check_callstack_ids(snapshot);
    *snapshot_out = snapshot;
    return 0;

out_of_memory:
    say_why(why, why_bytes, "does not fit into memory");
    error = -ENOMEM;
destroy_snapshot:
    sbx_snapshot_destroy(snapshot);
    return error;
}

/* Reads the guests behind a snapshot that are valid. The others are incomplete because a disk was full, or are
 * damaged. */
static int read_guests(const uint8_t *file, size_t bytes, struct sbx_snapshot *snapshot)
{
    struct sbx_snapshot *guests[SBX_GUESTS_MAX];
    uint32_t count = 0;
    int error = 0;
    for (uint32_t i = 0; i < SBX_GUESTS_MAX && error != -ENOMEM; i++) {
        const struct sbx_guest_entry *guest = &snapshot->header.guests[i];
        bool is_there = snapshot->header.state == SBX_STATE_SNAPSHOT && guest->at >= snapshot->header.file_bytes &&
                        guest->at <= bytes && guest->bytes <= bytes - guest->at;
        error = is_there ? read_alone(file + guest->at, (size_t)guest->bytes, &guests[count], NULL, 0) : -EINVAL;
        count += error == 0;
    }
    error = error == -ENOMEM ? error : sbx_guests_merge(snapshot, guests, count);
    while (count > 0) {
        sbx_snapshot_destroy(guests[--count]);
    }
    return error;
}

int sbx_snapshot_read(const void *data, size_t bytes, struct sbx_snapshot **snapshot_out, char *why, size_t why_bytes)
{
    int error = read_alone(data, bytes, snapshot_out, why, why_bytes);
    if (error == 0 && read_guests(data, bytes, *snapshot_out) != 0) {
        say_why(why, why_bytes, "does not fit into memory");
        sbx_snapshot_destroy(*snapshot_out);
        *snapshot_out = NULL;
        error = -ENOMEM;
    }
    return error;
}

/* The part of a snapshot's file that belongs to the snapshot and its guests. */
static size_t whole_bytes(const struct sbx_recording_header *header, uint64_t file_bytes)
{
    uint64_t whole = header->file_bytes;
    for (uint32_t i = 0; i < SBX_GUESTS_MAX; i++) {
        const struct sbx_guest_entry *guest = &header->guests[i];
        bool is_there = guest->at >= header->file_bytes && guest->at <= file_bytes &&
                        guest->bytes <= file_bytes - guest->at && guest->bytes <= (uint64_t)SBX_GUEST_MIB_MAX << 20;
        whole = is_there && guest->at + guest->bytes > whole ? guest->at + guest->bytes : whole;
    }
    return (size_t)whole;
}

/* Read a whole regular file of `bytes` bytes into *data_out (given: free). Returns 0 or -errno. */
static int read_whole(int fd, size_t bytes, void **data_out)
{
    uint8_t *data = malloc(bytes == 0 ? 1 : bytes);
    if (data == NULL) {
        return -ENOMEM;
    }
    ssize_t got = sbx_file_bytes(fd, 0, data, bytes);
    if (got < 0 || (size_t)got < bytes) {
        free(data);
        return got < 0 ? (int)got : -EINVAL; /* the file became shorter */
    }
    *data_out = data;
    return 0;
}

/* A recording that is still being written is read through a copy, so that changes by its writers are not misread.
 * Returns 0 and the copy's descriptor, or -errno. */
static int copy_live(int fd, size_t bytes, int *copy_out)
{
    int error;
    void *live = sbx_shared_map(fd, bytes, PROT_READ);
    if (live == NULL) {
        return -errno;
    }
    uint64_t *scratch = malloc(SBX_COPY_SCRATCH_MIN);
    if (scratch == NULL) {
        error = -ENOMEM;
        goto unmap_live;
    }
    int copy = memfd_create("stallbox-snapshot", MFD_CLOEXEC);
    if (copy < 0) {
        error = -errno;
        goto free_scratch;
    }
    static const uint8_t no_id[16];
    error = sbx_snapshot_copy(live, copy, NULL, no_id, sbx_now_ns(), scratch, SBX_COPY_SCRATCH_MIN);
    if (error != 0) {
        close(copy);
    } else {
        *copy_out = copy;
    }
free_scratch:
    free(scratch);
unmap_live:
    sbx_shared_unmap(live, bytes);
    return error;
}

int sbx_snapshot_read_file(const char *path, struct sbx_snapshot **snapshot_out, char *why, size_t why_bytes)
{
    struct sbx_recording_header header;
    struct stat status;
    void *data = NULL;
    int error = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a pipe of that name must not block */
    if (fd < 0) {
        error = -errno;
        say_why(why, why_bytes, "cannot be opened: %s", strerror(-error));
        return error;
    }
    if (fstat(fd, &status) != 0) {
        error = -errno;
        goto cannot_read;
    }
    if (!S_ISREG(status.st_mode)) {
        say_why(why, why_bytes, "is not a regular file");
        error = -EINVAL;
        goto close_file;
    }
    ssize_t got = pread(fd, &header, sizeof header, 0);
    if (got < 0) {
        error = -errno;
        goto cannot_read;
    }
    if (got != (ssize_t)sizeof header) {
        say_why(why, why_bytes, "is too short for a recording");
        error = -EINVAL;
        goto close_file;
    }
    const char *complaint = sbx_recording_check(&header, (uint64_t)status.st_size, &error);
    if (complaint != NULL) { /* checked before memory of the file's size is allocated */
        say_why(why, why_bytes, "%s", complaint);
        goto close_file;
    }
    if (header.state != SBX_STATE_SNAPSHOT) {
        int copy = -1;
        error = copy_live(fd, (size_t)header.file_bytes, &copy);
        if (error != 0) {
            goto cannot_read;
        }
        close(fd);
        fd = copy;
    }
    size_t whole =
        header.state == SBX_STATE_SNAPSHOT ? whole_bytes(&header, (uint64_t)status.st_size) : (size_t)header.file_bytes;
    error = read_whole(fd, whole, &data);
    if (error != 0) {
        goto cannot_read;
    }
    error = sbx_snapshot_read(data, whole, snapshot_out, why, why_bytes);
    free(data);
    goto close_file;

cannot_read:
    say_why(why, why_bytes, "cannot be read: %s", strerror(-error));
close_file:
    close(fd);
    return error;
}

void sbx_snapshot_destroy(struct sbx_snapshot *snapshot)
{
    if (snapshot == NULL) {
        return;
    }
    free(snapshot->modules);
    free(snapshot->threads);
    free(snapshot->watches);
    free(snapshot->kinds);
    free(snapshot->queues);
    free(snapshot->records);
    free(snapshot->frames);
    free(snapshot->nodes);
    free(snapshot->ids);
    free(snapshot->processes);
    free(snapshot->guest_stacks);
    free(snapshot->guest_words);
    free(snapshot);
}
