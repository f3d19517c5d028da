/* SPDX-License-Identifier: Apache-2.0 */
/* recording_builder.c - makes recordings for tests: the real layout, filled by the real ring and callstack table. */
#include "recording_builder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    BUILD_ID_BYTES = 20
};

static _Noreturn void __attribute__((format(printf, 1, 2))) give_up(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("recording_builder: ", stderr);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    abort();
}

static void place(struct sbx_section *section, uint64_t *at, uint32_t count, size_t entry_bytes)
{
    *section = (struct sbx_section){*at, count, (uint32_t)entry_bytes};
    *at = (*at + count * entry_bytes + PAGE - 1) / PAGE * PAGE;
}

static void *map(uint64_t bytes, const char *path)
{
    int fd = -1;
    if (path != NULL) {
        fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) {
            give_up("%s: %s", path, strerror(errno));
        }
    }
    int flags = path != NULL ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (memory == MAP_FAILED) {
        give_up("mmap of %llu bytes: %s", (unsigned long long)bytes, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return memory;
}

struct sbx_recording_builder *sbx_recording_builder_create(struct sbx_recording_shape shape, const char *path)
{
    struct sbx_recording_builder *builder = calloc(1, sizeof *builder);
    if (builder == NULL) {
        give_up("no memory");
    }
    struct sbx_recording_header layout = {.magic = {0}};
    uint64_t at = SBX_CONTROL_AT + PAGE;
    place(&layout.modules, &at, shape.modules, sizeof(struct sbx_module_entry));
    place(&layout.threads, &at, shape.threads, sizeof(struct sbx_thread_entry));
    place(&layout.watches, &at, shape.watches, sizeof(struct sbx_watch_entry));
    place(&layout.kinds, &at, 16, sizeof(struct sbx_kind_entry));
    place(&layout.tasks, &at, 64, sizeof(struct sbx_task_entry));
    place(&layout.queues, &at, 8, sizeof(struct sbx_queue_entry));
    place(&layout.frames, &at, shape.frames, sizeof(uint64_t));
    place(&layout.nodes, &at, shape.nodes_per_half * 2, sizeof(uint64_t));
    place(&layout.ids, &at, 64, sizeof(uint64_t));
    place(&layout.chunks, &at, shape.chunks, sizeof(struct sbx_chunk));
    uint8_t *memory = map(at, path);
    struct sbx_recording_header *header = (struct sbx_recording_header *)(void *)memory;
    *header = layout;
    memcpy(header->magic, SBX_RECORDING_MAGIC, sizeof header->magic);
    header->version = SBX_RECORDING_VERSION;
    header->layout_hash = sbx_layout_hash();
    header->file_bytes = at;
    header->state = SBX_STATE_LIVE;
    header->pid = (uint32_t)getpid();
    header->epoch = 1;
    header->consent = SBX_CONSENT_GRANTED;
    for (uint8_t i = 0; i < sizeof header->session_id; i++) {
        header->session_id[i] = (uint8_t)(i + 1);
    }
    strcpy(header->executable_path, "/usr/bin/application");
    builder->header = header;
    builder->control = (struct sbx_control_page *)(void *)(memory + SBX_CONTROL_AT);
    builder->control->in_force = (struct sbx_capture_settings){
        .enabled = 1,
        .points = SBX_POINTS_ALL,
        .interval_us = 5000,
        .gap_us = 20000,
        .blocked_refresh_ms = 100,
        .wait_min_us = 100,
        .anr_ms = 5000,
        .slow_message_ms = 1000,
        .note_ms = 500,
        .min_gap_ms = 1000,
        .history_ms = 10000,
        .detail_level = 2,
    };
    builder->control->wanted = builder->control->in_force;
    builder->modules = (struct sbx_module_entry *)(void *)(memory + header->modules.at);
    builder->threads = (struct sbx_thread_entry *)(void *)(memory + header->threads.at);
    builder->chunks = (struct sbx_chunk *)(void *)(memory + header->chunks.at);
    builder->watches = (struct sbx_watch_entry *)(void *)(memory + header->watches.at);
    builder->tasks = (struct sbx_task_entry *)(void *)(memory + header->tasks.at);
    sbx_callstack_table_init(&builder->table, header);
    sbx_ring_init(&builder->ring, header);
    return builder;
}

void sbx_recording_builder_destroy(struct sbx_recording_builder *builder)
{
    if (builder != NULL) {
        munmap(builder->header, builder->header->file_bytes);
        free(builder);
    }
}

static void copy_text(char *to, size_t size, const char *text)
{
    if (strlen(text) >= size) {
        give_up("\"%s\" is longer than %zu bytes", text, size - 1);
    }
    memset(to, 0, size);
    strcpy(to, text);
}

uint32_t sbx_recording_add_module(struct sbx_recording_builder *builder, const char *path, uint64_t start,
                                  uint64_t bytes, uint32_t flags)
{
    uint32_t index = builder->header->module_count;
    if (index == builder->header->modules.count) {
        give_up("no room for module %s", path);
    }
    struct sbx_module_entry *module = &builder->modules[index];
    *module = (struct sbx_module_entry){
        .start = start, .end = start + bytes, .bias = start, .flags = flags, .build_id_bytes = BUILD_ID_BYTES};
    uint32_t hash = 2166136261u;
    for (const char *at = path; *at != 0; at++) {
        hash = (hash ^ (uint8_t)*at) * 16777619u;
    }
    for (unsigned i = 0; i < BUILD_ID_BYTES; i++) {
        hash = hash * 1664525u + 1013904223u;
        module->build_id[i] = (uint8_t)(hash >> 24);
    }
    copy_text(module->path, sizeof module->path, path);
    builder->header->module_count = index + 1;
    return index;
}

uint32_t sbx_recording_add_thread(struct sbx_recording_builder *builder, uint32_t tid, const char *name, uint32_t flags)
{
    uint32_t index = builder->header->thread_count;
    if (index == builder->header->threads.count) {
        give_up("no room for thread %s", name);
    }
    struct sbx_thread_entry *entry = &builder->threads[index];
    *entry = (struct sbx_thread_entry){.state = SBX_THREAD_LIVE, .tid = tid, .generation = 1, .flags = flags};
    copy_text(entry->name, sizeof entry->name, name);
    if ((flags & SBX_THREAD_FLAG_MAIN) != 0) {
        builder->header->main_thread = index;
    }
    builder->header->thread_count = index + 1;
    return index;
}

void sbx_recording_reuse_thread(struct sbx_recording_builder *builder, uint32_t index, uint32_t tid, const char *name,
                                uint64_t born_ns)
{
    struct sbx_thread_entry *entry = &builder->threads[index];
    sbx_ring_close(&builder->writers[index]);
    *entry = (struct sbx_thread_entry){
        .state = SBX_THREAD_LIVE, .tid = tid, .generation = entry->generation + 1, .born_ns = born_ns};
    copy_text(entry->name, sizeof entry->name, name);
}

uint32_t sbx_recording_add_watch(struct sbx_recording_builder *builder, enum sbx_watch_kind kind, const char *name,
                                 uint32_t timeout_ms, uint64_t begin_ns, uint32_t thread)
{
    uint32_t index = 0;
    while (index < builder->header->watches.count && builder->watches[index].word != 0) {
        index++;
    }
    if (index == builder->header->watches.count || strlen(name) >= SBX_WATCH_NAME_MAX) {
        give_up("no room for watch %s", name);
    }
    struct sbx_watch_entry *watch = &builder->watches[index];
    watch->kind = (uint32_t)kind;
    watch->timeout_ms = timeout_ms;
    watch->begin_ns = watch->opened_ns = begin_ns;
    watch->thread = thread;
    watch->thread_generation = builder->threads[thread].generation;
    watch->what = UINT64_C(0xcbf29ce484222325);
    for (const char *c = name; *c != 0; c++) { /* the same hash as agent/stalls/watch_table.c */
        watch->what = (watch->what ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
    }
    strcpy(watch->name, name);
    watch->word = sbx_watch_word(1, SBX_WATCH_OPEN);
    builder->header->watch_count++;
    return index;
}

uint32_t sbx_recording_add_stack(struct sbx_recording_builder *builder, const struct sbx_built_frame *leaf_first,
                                 uint32_t count, enum sbx_walk_end end)
{
    uint32_t frame_ids[1025];
    if (count >= sizeof frame_ids / sizeof frame_ids[0]) {
        give_up("a stack of %u frames is too deep", count);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct sbx_built_frame *frame = &leaf_first[i];
        frame_ids[i] = sbx_frame_intern(&builder->table, sbx_callstack_epoch(&builder->table),
                                        sbx_frame_word(frame->module, frame->offset, frame->exact));
    }
    if (end != SBX_WALK_COMPLETE) {
        frame_ids[count++] = sbx_frame_intern(&builder->table, sbx_callstack_epoch(&builder->table),
                                              sbx_frame_word(SBX_MODULE_END, end, 0));
    }
    return sbx_callstack_intern(&builder->table, sbx_callstack_epoch(&builder->table), frame_ids, count);
}

static int put(struct sbx_recording_builder *builder, uint32_t writer, const struct sbx_record *record)
{
    const struct sbx_thread_entry *entry = &builder->threads[writer];
    return sbx_ring_put(&builder->ring, &builder->writers[writer], writer, entry->generation, entry->tid, record);
}

int sbx_recording_put(struct sbx_recording_builder *builder, const struct sbx_record *record)
{
    struct sbx_thread_entry *entry = &builder->threads[record->thread];
    entry->last_record_ns = record->end_ns;
    entry->last_stack = record->stack;
    entry->last_cpu_ns = record->cpu_ns != 0 ? record->cpu_ns : entry->last_cpu_ns;
    entry->alloc_count = record->alloc_count;
    entry->alloc_bytes = record->alloc_bytes;
    entry->message = record->message;
    return put(builder, record->thread, record);
}

int sbx_recording_put_observed(struct sbx_recording_builder *builder, uint32_t observer,
                               const struct sbx_record *record)
{
    struct sbx_thread_entry *entry = &builder->threads[record->thread];
    entry->last_record_ns = record->end_ns;
    entry->last_stack = record->stack;
    return put(builder, observer, record);
}

void sbx_recording_set_trigger(struct sbx_recording_builder *builder, const struct sbx_trigger_entry *trigger)
{
    struct sbx_recording_header *header = builder->header;
    header->state = SBX_STATE_SNAPSHOT;
    header->trigger = *trigger;
    header->snapshot_ns = trigger->end_ns;
    for (unsigned i = 0; i < sizeof header->snapshot_id; i++) {
        header->snapshot_id[i] = (uint8_t)(header->session_id[i] ^ 0xff);
    }
}

struct sbx_snapshot *sbx_recording_read_back(const struct sbx_recording_builder *builder)
{
    struct sbx_snapshot *snapshot;
    char why[128] = "";
    int error = sbx_snapshot_read(builder->header, builder->header->file_bytes, &snapshot, why, sizeof why);
    if (error != 0) {
        give_up("read back: %s (%s)", why, strerror(-error));
    }
    return snapshot;
}

void sbx_recording_save(const struct sbx_recording_builder *builder, const char *path)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(builder->header, 1, builder->header->file_bytes, file) != builder->header->file_bytes ||
        fclose(file) != 0) {
        give_up("%s: %s", path, strerror(errno));
    }
}
