/* SPDX-License-Identifier: Apache-2.0 */
/* stall.h - a payload as triage thinks of it: decoded, checked, and still without names.
 *
 * Made by stall_decode.c from the bytes of an envelope (stranger's bytes: every count, index and length is checked and
 * memory is bounded), read by attribute.c and the exporters. Nothing of it changes after decoding. Plain data, any thread
 * may read. Times are nanoseconds relative to the trigger's end: negative is before it. */
#ifndef SBX_STALL_H
#define SBX_STALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "payload_numbers.h"

enum sbx_module_kind {
    SBX_MODULE_KIND_APP = 1,
    SBX_MODULE_KIND_SYSTEM = 2,
    SBX_MODULE_KIND_AGENT = 3,
    SBX_MODULE_KIND_VDSO = 4,
    SBX_MODULE_KIND_OTHER = 5,
    SBX_MODULE_KIND_RUNTIME = 6, /* an embedded runtime: its build-id is the number of its provider */
};

struct sbx_stall_module {
    uint32_t kind; /* enum sbx_module_kind */
    uint32_t build_id_bytes;
    uint8_t build_id[32];
    const char *name; /* from the compiled table; NULL when the table has none */
};

struct sbx_stall_thread {
    const char *name; /* pattern or "other"; never NULL */
    bool is_main, runs_loop, ended;
    uint32_t process;                  /* 0: the process whose stall it is; else one of stall.processes + 1 */
    uint32_t call_kind, call_op;       /* the blocking call it was in at the trigger; 0 none */
    int64_t call_ns;                   /* how long it had been in it */
    int32_t call_peer;                 /* thread ordinal of the lock's holder; -1 unknown */
    uint32_t call_object;              /* object ordinal + 1; 0 none */
    uint32_t last_stack;               /* callstack of its newest record; 0 none */
    size_t record_begin, record_count; /* its rows in stall.records */
    size_t count_begin, count_count;   /* and in stall.counts */
};

/* Another process that held what a thread waited for. */
struct sbx_stall_process {
    bool is_recorded, is_worker;
    uint8_t session_id[16]; /* of its own recording */
};

/* A watch or a deadline that was open at the trigger. */
struct sbx_stall_watch {
    uint32_t kind, state; /* enum sbx_watch_kind, enum sbx_watch_state */
    int32_t thread;       /* ordinal of whose it is; -1 unknown */
    uint32_t timeout_ms;
    uint64_t what;  /* 40 bits of its name's hash */
    int64_t age_ns; /* since it was begun, or since the newest beat */
};

enum sbx_frame_kind {
    SBX_FRAME_CODE = 0,
    SBX_FRAME_END = 1,
    SBX_FRAME_GENERATED = 2,
    SBX_FRAME_LOGICAL = 4, /* a function of an embedded runtime */
    SBX_FRAME_CUT = 3,     /* frames left out of a deep stack: both of its ends are kept */
};

struct sbx_stall_frame {
    uint32_t kind;   /* enum sbx_frame_kind */
    uint32_t module; /* index, for CODE and LOGICAL */
    uint32_t line;   /* for LOGICAL; 0 unknown */
    uint64_t
        offset; /* file-relative virtual address for CODE; enum sbx_walk_end for END; id of the function for LOGICAL,
                        0 unknown */
    uint64_t function; /* for CODE: where its function begins, by the module's unwind data; 0 not told */
    bool exact;        /* interrupted pc: look up offset itself; else the call is at offset - 1 */
};

struct sbx_stall_callstack {
    uint32_t frame;  /* index into frames: the leaf of this callstack */
    uint32_t parent; /* callstack id of the caller; 0: outermost. Always smaller than the own id */
};

struct sbx_stall_record {
    int64_t begin_ns, end_ns;
    int64_t cpu_ns; /* the thread's CPU time at end on its own scale; -1: not read */
    int64_t alloc_count, alloc_bytes;
    uint64_t message; /* 0 none */
    uint64_t amount;
    uint32_t thread;
    uint32_t stack;   /* callstack id 1..callstack_count; 0 none */
    uint32_t object;  /* ordinal + 1; 0 none */
    uint32_t wait;    /* ordinal + 1, shared by a wait and the WAKE record that ended it; 0 none */
    uint32_t repeats; /* of a sample: looks after the one at begin, the last at end */
    int32_t peer;     /* thread ordinal; -1 unknown */
    /* with SBX_FLAG_USAGE: since the thread's first reading in the payload */
    uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
    uint8_t kind, op, fd_class, flags;
    bool stack_lost; /* the callstack table was full */
};

/* A number that the kernel counts, at one moment. */
struct sbx_stall_count {
    int64_t at_ns;
    uint64_t value; /* growth since the first of its thread and kind in the payload; of SWAPPED_KIB the number itself */
    uint32_t thread;
    uint32_t what; /* enum sbx_kernel_count */
};

/* A task that changed hands: made of its records, HOP and TASK. */
struct sbx_stall_task {
    int64_t queued_ns;
    int64_t begun_ns;                   /* 0 where it has not begun, or was cancelled */
    int64_t ended_ns;                   /* 0 where it runs still; of one that was cancelled when that was */
    int32_t runner;                     /* thread ordinal; -1: it has not begun */
    int32_t from;                       /* thread that queued it; -1 unknown */
    uint32_t stack;                     /* of who queued it: callstack id; 0 none */
    uint32_t queue;                     /* object ordinal + 1; 0 none */
    uint64_t from_message;              /* in which it was queued; 0 none */
    uint64_t message;                   /* of the runner */
    uint64_t before;                    /* how many lay in the queue before it */
    uint8_t op;                         /* enum sbx_op: how it was queued */
    bool lies, runs, cancelled, merged; /* lies: in its queue still; runs: still; neither: it has ended */
};

/* A span in which what ran on a thread was awaited. */
struct sbx_stall_await {
    int64_t begin_ns, end_ns;
    uint64_t message; /* 0 none */
    uint32_t thread;
    uint32_t stack; /* of the functions that awaited it, which did not run: callstack id */
};

/* A queue into which tasks came, at the trigger and in the last seconds before it. */
struct sbx_stall_queue {
    uint64_t pending;       /* tasks that lay in it */
    uint64_t queued, begun; /* in the window */
    uint32_t window_ms;     /* 0: nothing came or went lately */
    uint32_t object;        /* ordinal + 1; 0 none */
    uint8_t op;             /* enum sbx_op: how tasks came into it */
};

enum {
    SBX_STALL_RUNTIMES_MAX = 4
};

struct sbx_stall {
    uint8_t payload_id[16], session_id[16];
    char payload_id_text[33]; /* lower hex */
    uint8_t app_build_id[32];
    uint32_t app_build_id_bytes;
    bool has_rotating_id;
    uint8_t rotating_id[16]; /* proto/erasure_format.h */
    uint32_t app_version[3];
    uint64_t app_what; /* sbx_app_what() of the name it was given; 0: none */
    uint64_t program;  /* the same of its executable's file name, where it was given none; 0: not told */
    uint32_t created_day, uptime_bucket;
    struct {
        uint32_t os, os_major, kernel_major, kernel_minor, arch, log2_cores, log2_ram_gib;
    } platform;
    struct {
        uint64_t points;
        uint32_t epoch, interval_us, gap_us, wait_min_us, anr_ms, slow_message_ms, slow_frame_ms, detail_level,
            async_interval_us;
        uint64_t seq;
    } policy;
    struct {
        uint32_t kind, thread, threshold_ms;
        uint32_t signal; /* that ended the process; 0 none, or not known */
        uint32_t fault;  /* enum sbx_fault */
        bool in_progress;
        int64_t duration_ns, history_ns;
        uint64_t message;
        int32_t watch;         /* index of the watch or deadline that was not kept; -1 none */
        uint32_t after_ms;     /* recording went on for so long afterwards */
        uint32_t frames;       /* frames dropped in a burst; 0: it was none */
        uint32_t message_kind; /* of the judged message, as the application numbers them; 0: not told */
        uint32_t scene;        /* that the application was in, likewise; below SBX_SCENES */
    } trigger;
    /* How it ended, where it was told while it went on: of kind SBX_TRIGGER_END by the payload itself, else once it was
     * completed. */
    struct {
        uint32_t how;    /* enum sbx_stall_end; NONE: not known */
        uint32_t signal; /* of DIED: that ended the process; 0 none, or not known */
        int64_t duration_ns;
    } end;
    struct {
        bool is_worker;             /* a child of fork() that is no program of its own */
        uint32_t stalled_beside;    /* others of the family that stalled at the same time */
        uint64_t moment;            /* stalls of the family that overlapped have it in common; 0: none */
        uint8_t id[16], parent[16]; /* of a worker: session ids of the family's first process, and of its parent */
    } family;
    struct {
        uint32_t kind;         /* enum sbx_runtime_kind */
        uint32_t state;        /* enum sbx_runtime_state */
        uint32_t major, minor; /* its version; 0.0: not told */
    } runtimes[SBX_STALL_RUNTIMES_MAX];
    uint32_t runtime_count;
    uint8_t completes[16]; /* SBX_TRIGGER_END alone: the payload_id of the stall. There are no threads then */
    struct {
        uint32_t modules_hidden, frames_hidden, thread_names_hidden, objects_renumbered, records_cut;
    } redactions;
    struct { /* what recording cost, in millionths of the program's CPU time; all 0: not told */
        uint64_t shed;
        uint32_t budget_ppm, cost_ppm, window_ppm, modules_ppm, interval_us, gap_us, changes, cost_ms;
    } overhead;
    struct {
        uint32_t weight; /* how many stalls this one stands for, 1 to SBX_WEIGHT_MAX */
        uint32_t one_in; /* it was picked with the chance 1 / one_in */
    } sampling;
    uint64_t drops[SBX_DROP_COUNT];

    struct sbx_stall_module *modules;
    struct sbx_stall_thread *threads;
    struct sbx_stall_process *processes;
    uint32_t process_count;
    struct sbx_stall_watch *watches;
    uint32_t watch_count;
    struct sbx_stall_frame *frames;
    struct sbx_stall_callstack *callstacks; /* callstacks[0] is unused: ids start at 1 */
    struct sbx_stall_record *records;       /* grouped by thread, by end within a thread */
    struct sbx_stall_task
        *tasks; /* records of kinds HOP and TASK, which are not among the others; by runner, then by begin */
    struct sbx_stall_await
        *awaits; /* records of kind AWAITED, which are not among the others; by thread, then by end */
    struct sbx_stall_queue *queues;
    uint32_t queue_count;
    struct sbx_stall_count *counts; /* records of kind KERNEL, which are not among the others; ordered alike */
    uint32_t module_count, thread_count, frame_count, callstack_count; /* ids 1..callstack_count */
    size_t record_count, count_count, task_count, await_count;
};

/* Decode one envelope (proto/envelope_format.h). Returns 0 and a value (given: sbx_stall_destroy), or -EPROTO with the
 * reason in `why` when the bytes are no valid payload, -ENOTSUP when sealed or of a newer version, -ENOMEM. Bounded: at
 * most SBX_PAYLOAD_BYTES_MAX decompressed bytes and a small multiple of that in memory. */
int sbx_stall_decode(const void *envelope, size_t bytes, struct sbx_stall **stall_out, char *why, size_t why_bytes);

/* The frames of callstack `stack`, leaf first, as indexes into stall->frames. Returns how many were written (<= max). */
size_t sbx_stall_frames(const struct sbx_stall *stall, uint32_t stack, uint32_t *frames_out, size_t max);

/* Is this no stall, but how one ended? Then it has an identity and an end, and nothing to report. */
bool sbx_stall_is_end(const struct sbx_stall *stall);

/* Complete a stall that was told while it went on by how it ended; nothing happens, and false is returned, when that is not
 * the end of this stall, or it has one. */
bool sbx_stall_complete(struct sbx_stall *stall, const struct sbx_stall *end);

/* How long it lasted, as far as that is known. */
int64_t sbx_stall_lasted_ns(const struct sbx_stall *stall);

void sbx_stall_destroy(struct sbx_stall *stall);

#endif
