/* SPDX-License-Identifier: Apache-2.0 */
/* recording_builder.h - makes recordings for tests: the real layout, filled by the real ring and callstack table.
 *
 * Every test that needs a snapshot builds it here: tests of the reader, of the encoder, of the attribution. A change of
 * the format is then a change of one file. A mistake of the test ends the test program with a message. */
#ifndef SBX_RECORDING_BUILDER_H
#define SBX_RECORDING_BUILDER_H

#include <stddef.h>
#include <stdint.h>

#include "callstack_table.h"
#include "recording_format.h"
#include "ring_writer.h"
#include "snapshot.h"

/* Elements of each section; nodes_per_half and frames are powers of two. */
struct sbx_recording_shape {
    uint32_t modules, threads, frames, nodes_per_half, chunks, watches;
};

/* A small recording, about 200 KiB: enough for some thousand records. */
#define SBX_RECORDING_SHAPE_SMALL ((struct sbx_recording_shape){16, 16, 1024, 1024, 32, 16})
/* The shape that the agent makes. */
#define SBX_RECORDING_SHAPE_FULL                                                                                       \
    ((struct sbx_recording_shape){SBX_MODULES_MAX, SBX_THREADS_MAX, SBX_FRAMES_MAX, SBX_NODES_MAX, SBX_CHUNKS_DEFAULT, \
                                  SBX_WATCHES_MAX})

struct sbx_recording_builder {
    struct sbx_recording_header *header; /* the recording begins here: header->file_bytes bytes, mapped */
    struct sbx_control_page *control;
    struct sbx_module_entry *modules;
    struct sbx_thread_entry *threads;
    struct sbx_watch_entry *watches;
    struct sbx_task_entry *tasks;
    struct sbx_chunk *chunks;
    struct sbx_callstack_table table;
    struct sbx_ring ring;
    struct sbx_ring_writer writers[SBX_THREADS_MAX]; /* by thread index */
};

/* One frame as a test writes it. */
struct sbx_built_frame {
    uint32_t module;
    uint64_t offset;
    int exact;
};

/* A live recording of this process: one page of settings with sensible defaults, no modules, no threads, epoch 1,
 * session id 1, 2, 3 ... `path` is the file to map, which is made anew, or NULL for plain memory. Given:
 * sbx_recording_builder_destroy(). */
struct sbx_recording_builder *sbx_recording_builder_create(struct sbx_recording_shape shape, const char *path);
void sbx_recording_builder_destroy(struct sbx_recording_builder *builder);

/* Append a module of `bytes` code bytes; its build-id is 20 bytes made from its path. Returns its index. */
uint32_t sbx_recording_add_module(struct sbx_recording_builder *builder, const char *path, uint64_t start,
                                  uint64_t bytes, uint32_t flags);

/* Append a live thread of generation 1; `flags` as in sbx_thread_entry (1: main, which also sets header.main_thread).
 * Returns its index. */
uint32_t sbx_recording_add_thread(struct sbx_recording_builder *builder, uint32_t tid, const char *name,
                                  uint32_t flags);

/* End thread `index` and give its entry to a new thread. */
void sbx_recording_reuse_thread(struct sbx_recording_builder *builder, uint32_t index, uint32_t tid, const char *name,
                                uint64_t born_ns);

/* Begin a watch or a deadline of `thread` in the first entry that is free; returns its index. */
uint32_t sbx_recording_add_watch(struct sbx_recording_builder *builder, enum sbx_watch_kind kind, const char *name,
                                 uint32_t timeout_ms, uint64_t begin_ns, uint32_t thread);

/* Intern a stack, leaf first; `end` other than SBX_WALK_COMPLETE appends the marker of a walk that ended early. Returns
 * its callstack id. */
uint32_t sbx_recording_add_stack(struct sbx_recording_builder *builder, const struct sbx_built_frame *leaf_first,
                                 uint32_t count, enum sbx_walk_end end);

/* Put a record. It is written by the thread that it is about, or by `observer` about another thread. Also updates the
 * writing thread's entry (last_record_ns, last_stack, last_cpu_ns, counters, message) as capture does. Returns 0 when
 * the record was dropped. */
int sbx_recording_put(struct sbx_recording_builder *builder, const struct sbx_record *record);
int sbx_recording_put_observed(struct sbx_recording_builder *builder, uint32_t observer,
                               const struct sbx_record *record);

/* Make the recording a snapshot, as the copy does: state, id (1, 2, 3 ... xor 0xff), time and trigger. */
void sbx_recording_set_trigger(struct sbx_recording_builder *builder, const struct sbx_trigger_entry *trigger);

/* Read the recording back; ends the test program when that fails. Given: sbx_snapshot_destroy(). */
struct sbx_snapshot *sbx_recording_read_back(const struct sbx_recording_builder *builder);

/* Write the recording to a file. */
void sbx_recording_save(const struct sbx_recording_builder *builder, const char *path);

#endif
