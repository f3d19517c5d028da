/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.h - one recording, read into a value.
 *
 * The only reader of the recording format: it takes a live recording, a snapshot (*.raw) or what a killed process left,
 * all the same bytes, and believes none of them: every index, offset, count and string is checked, so that a hostile or
 * torn file yields an error or fewer records, never a crash. The value is plain memory, owned by the caller.
 *
 * Runs in the companion and in tools, never in a hook or a handler. Not thread safe per object; any thread. */
#ifndef SBX_SNAPSHOT_H
#define SBX_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"

struct sbx_snapshot_thread {
    struct sbx_thread_entry entry; /* as recorded; name is NUL-terminated */
    uint32_t index;                /* entry index in the recording; UINT32_MAX: a former thread of an entry that
                                      was reused (state DEAD, no name, tid 0 when unknown), or another process's thread */
    uint32_t process;              /* 0: of this process; else one of `processes` + 1 */
    bool leads_process;            /* the main thread of that one */
};

/* Another process that a thread waited for. */
struct sbx_snapshot_process {
    uint32_t pid;           /* local only */
    uint32_t role;          /* enum sbx_family_role; NONE: it was not recorded, and only its existence is known */
    uint8_t session_id[16]; /* of its recording; zero where it was not recorded */
};

/* A stack of another process's, in frame words of this snapshot. */
struct sbx_snapshot_guest_stack {
    size_t at; /* of guest_words */
    uint32_t count;
};

struct sbx_snapshot {
    struct sbx_recording_header header;   /* checked copy; strings NUL-terminated */
    struct sbx_capture_settings settings; /* in force */
    struct sbx_module_entry *modules;     /* module_count */
    struct sbx_snapshot_thread *threads;  /* thread_count, at least 1: every entry ever used, then former threads;
                                                   header.main_thread and header.trigger.thread index it */
    struct sbx_record *records;           /* record_count, by end_ns, then as written; `thread` indexes `threads`;
                                                   `stack` is 0, SBX_STACK_OVERFLOW or valid for sbx_snapshot_stack() */
    struct sbx_watch_entry *watches;      /* watch_count: those that were open, in the order of the recording;
                                                   `thread` indexes `threads` or is UINT32_MAX; name NUL-terminated;
                                                   header.trigger.watch is 0 or one of them + 1 */
    uint32_t watch_count;
    struct sbx_kind_entry *kinds; /* kind_count, by kind: what the application calls its messages; name "" or
                                                   NUL-terminated */
    uint32_t kind_count;
    struct sbx_kind_entry *scenes; /* scene_count, by scene: the same of scenes. Within `kinds` */
    uint32_t scene_count;
    struct sbx_queue_entry *queues; /* queue_count: those that something came into */
    uint32_t queue_count;
    uint32_t module_count;
    uint32_t thread_count;
    size_t record_count;
    uint64_t drops[SBX_DROP_COUNT]; /* the recording's, plus what this reader had to drop */
    /* the callstack table, for sbx_snapshot_stack() */
    uint64_t *frames; /* SBX frame words by frame id */
    uint64_t *nodes;  /* both halves */
    uint32_t frame_count, node_count;
    uint64_t *ids; /* functions of providers, by index; 0: none */
    uint32_t id_count;
    /* other processes that threads of this one waited for (guest_merge.h): their threads are the last of `threads`, their records
     * among `records` */
    struct sbx_snapshot_process *processes;
    uint32_t process_count;
    struct sbx_snapshot_guest_stack *guest_stacks;
    uint64_t *guest_words;
    uint32_t guest_stack_count;
    size_t guest_word_count;
};

/* Read the `bytes` bytes at `data` (borrowed; a private copy or a mapping nobody truncates meanwhile). Returns 0 and a
 * value in *snapshot_out (given: sbx_snapshot_destroy), or a negative errno: -EINVAL not a recording or damaged beyond
 * use, -EPROTO another version or layout, -ENOMEM. `why` (may be NULL) gets a sentence fragment for the user. */
SBX_MUST_CHECK int sbx_snapshot_read(const void *data, size_t bytes, struct sbx_snapshot **snapshot_out, char *why,
                                     size_t why_bytes);

/* Like sbx_snapshot_read() but of a file. Also -errno of open, fstat, read. */
SBX_MUST_CHECK int sbx_snapshot_read_file(const char *path, struct sbx_snapshot **snapshot_out, char *why,
                                          size_t why_bytes);

/* The frame words of callstack `stack`, leaf first, into frames_out[0..max), logical frames where the interpreter that
 * runs them stands (logical_splice.h). Returns how many there are in all (may
 * exceed max: the outermost are then missing), 0 for "no stack", the overflow id or an id that does not resolve. The
 * walk is bounded whatever the bytes say. */
size_t sbx_snapshot_stack(const struct sbx_snapshot *snapshot, uint32_t stack, uint64_t *frames_out, size_t max);

/* Release; NULL is fine. */
void sbx_snapshot_destroy(struct sbx_snapshot *snapshot);

#endif
