/* SPDX-License-Identifier: Apache-2.0 */
/* stall.h - a decoded payload: checked, and still without names.
 *
 * stall_decode.c makes it from the bytes of an envelope. These come from a stranger, so every count, index and length
 * is checked, and memory is bounded. attribute.c and the exporters read it. It does not change after decoding. Plain
 * data; any thread may read it. Times are nanoseconds relative to the trigger's end: negative is before it. */
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
    uint32_t process;                  /* 0: the process that stalled; else i + 1 of stall.processes[i] */
    uint32_t call_kind, call_op;       /* the blocking call that the thread was in at the trigger; 0 none */
    int64_t call_ns;                   /* time since the begin of that call */
    int32_t call_peer;                 /* thread ordinal of the lock's holder; -1 unknown */
    uint32_t call_object;              /* object ordinal + 1; 0 none */
    uint32_t last_stack;               /* callstack of its newest record; 0 none */
    size_t record_begin, record_count; /* its rows in stall.records */
    size_t count_begin, count_count;   /* and in stall.counts */
};

/* Another process with a thread that held what a thread waited for. */
struct sbx_stall_process {
    bool is_recorded, is_worker;
    uint8_t session_id[16]; /* of that process's own recording */
};

/* A watch or a deadline that was open at the trigger. */
struct sbx_stall_watch {
    uint32_t kind, state; /* enum sbx_watch_kind, enum sbx_watch_state */
    int32_t thread;       /* ordinal of its thread; -1 unknown */
    uint32_t timeout_ms;
    uint64_t what;  /* 40 bits of the hash of its name */
    int64_t age_ns; /* time since it was begun, or since the newest beat */
};

enum sbx_frame_kind {
    SBX_FRAME_CODE = 0,
    SBX_FRAME_END = 1,
    SBX_FRAME_GENERATED = 2,
    SBX_FRAME_LOGICAL = 4, /* a function of an embedded runtime */
    SBX_FRAME_CUT = 3,     /* frames that were left out of a deep stack; both ends are kept */
};

struct sbx_stall_frame {
    uint32_t kind;   /* enum sbx_frame_kind */
    uint32_t module; /* index, for CODE and LOGICAL */
    uint32_t line;   /* line, for LOGICAL; 0 unknown */
    uint64_t
        offset; /* file-relative virtual address for CODE; enum sbx_walk_end for END; id of the function for LOGICAL,
                        0 unknown */
    uint64_t function; /* for CODE: the begin of its function, by the module's unwind data; 0 not told */
    bool exact;        /* interrupted pc: the code is at `offset`; else the call is at offset - 1 */
};

struct sbx_stall_callstack {
    uint32_t frame;  /* index into frames: the leaf of this callstack */
    uint32_t parent; /* callstack id of the caller; 0: outermost. Always smaller than its own id */
};

struct sbx_stall_record {
    int64_t begin_ns, end_ns;
    int64_t cpu_ns; /* the thread's CPU time at end, from a start of its own; -1: not read */
    int64_t alloc_count, alloc_bytes;
    uint64_t message; /* 0 none */
    uint64_t amount;
    uint32_t thread;
    uint32_t stack;   /* callstack id 1..callstack_count; 0 none */
    uint32_t object;  /* ordinal + 1; 0 none */
    uint32_t wait;    /* ordinal + 1, shared by a wait and the WAKE record that ended it; 0 none */
    uint32_t repeats; /* of a sample: number of looks after the one at begin; the last is at end */
    int32_t peer;     /* thread ordinal; -1 unknown */
    /* with SBX_FLAG_USAGE: since the thread's first reading in the payload */
    uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
    uint8_t kind, op, fd_class, flags;
    bool stack_lost; /* the callstack table was full */
};

/* A number that the kernel counts, at one moment. */
struct sbx_stall_count {
    int64_t at_ns;
    uint64_t value; /* growth since the first value of its thread and kind in the payload; SWAPPED_KIB: the number
                     * itself */
    uint32_t thread;
    uint32_t what; /* enum sbx_kernel_count */
};

/* A task that moved between threads: made from its records HOP and TASK. */
struct sbx_stall_task {
    int64_t queued_ns;
    int64_t begun_ns;                   /* 0 if it has not begun, or was cancelled */
    int64_t ended_ns;                   /* 0 if it still runs; for a cancelled task the time of that */
    int32_t runner;                     /* thread ordinal; -1: it has not begun */
    int32_t from;                       /* the thread that queued it; -1 unknown */
    uint32_t stack;                     /* of the thread that queued it: callstack id; 0 none */
    uint32_t queue;                     /* object ordinal + 1; 0 none */
    uint64_t from_message;              /* the message in which it was queued; 0 none */
    uint64_t message;                   /* of the runner */
    uint64_t before;                    /* number of tasks in the queue before it */
    uint8_t op;                         /* enum sbx_op: how it was queued */
    bool lies, runs, cancelled, merged; /* lies: still in its queue; runs: it still runs; neither: it has ended */
};

/* A span in which functions awaited what ran on a thread. */
struct sbx_stall_await {
    int64_t begin_ns, end_ns;
    uint64_t message; /* 0 none */
    uint32_t thread;
    uint32_t stack; /* callstack id of the suspended functions that awaited it */
};

/* A queue with its tasks, at the trigger and in the last seconds before it. */
struct sbx_stall_queue {
    uint64_t pending;       /* tasks that lay in it */
    uint64_t queued, begun; /* in the window */
    uint32_t window_ms;     /* 0: no task came or left lately */
    uint32_t object;        /* ordinal + 1; 0 none */
    uint8_t op;             /* enum sbx_op: how tasks came into it */
};

enum {
    SBX_STALL_RUNTIMES_MAX = 4
};

struct sbx_stall {
    uint8_t payload_id[16], session_id[16];
    char payload_id_text[33]; /* lower-case hex */
    uint8_t app_build_id[32];
    uint32_t app_build_id_bytes;
    bool has_rotating_id;
    uint8_t rotating_id[16]; /* proto/erasure_format.h */
    uint32_t app_version[3];
    uint64_t app_what; /* sbx_app_what() of the given name; 0: none */
    uint64_t program;  /* the same for its executable's file name, if it has no given name; 0: not told */
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
        uint32_t signal; /* the signal that ended the process; 0 none, or not known */
        uint32_t fault;  /* enum sbx_fault */
        bool in_progress;
        int64_t duration_ns, history_ns;
        uint64_t message;
        int32_t watch;         /* index of the watch or deadline that was missed; -1 none */
        uint32_t after_ms;     /* how long recording continued after the trigger */
        uint32_t frames;       /* frames dropped in a burst; 0: no burst */
        uint32_t message_kind; /* of the judged message, as the application numbers them; 0: not told */
        uint32_t scene;        /* the application's scene, likewise; below SBX_SCENES */
    } trigger;
    /* How the stall ended, if it was reported while it went on. For kind SBX_TRIGGER_END, from the payload itself; else
     * set when the stall was completed. */
    struct {
        uint32_t how;    /* enum sbx_stall_end; NONE: not known */
        uint32_t signal; /* for DIED: the signal that ended the process; 0 none, or not known */
        int64_t duration_ns;
    } end;
    struct {
        bool is_worker;             /* a child of fork() that did not execute another program */
        uint32_t stalled_beside;    /* number of other processes of the family that stalled at the same time */
        uint64_t moment;            /* common to overlapping stalls of the family; 0: none */
        uint8_t id[16], parent[16]; /* of a worker: session ids of the family's first process, and of its parent */
    } family;
    struct {
        uint32_t kind;         /* enum sbx_runtime_kind */
        uint32_t state;        /* enum sbx_runtime_state */
        uint32_t major, minor; /* its version; 0.0: not told */
    } runtimes[SBX_STALL_RUNTIMES_MAX];
    uint32_t runtime_count;
    uint8_t completes[16]; /* only for SBX_TRIGGER_END: the payload_id of the stall. Such a payload has no threads */
    struct {
        uint32_t modules_hidden, frames_hidden, thread_names_hidden, objects_renumbered, records_cut;
    } redactions;
    struct { /* cost of recording, in millionths of the program's CPU time; all 0: not told */
        uint64_t shed;
        uint32_t budget_ppm, cost_ppm, window_ppm, modules_ppm, interval_us, gap_us, changes, cost_ms;
    } overhead;
    struct {
        uint32_t weight; /* number of stalls that this one stands for, 1 to SBX_WEIGHT_MAX */
        uint32_t one_in; /* it was selected with probability 1 / one_in */
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
        *tasks; /* from records of kinds HOP and TASK, which are not in `records`; by runner, then by begin */
    struct sbx_stall_await
        *awaits; /* from records of kind AWAITED, which are not in `records`; by thread, then by end */
    struct sbx_stall_queue *queues;
    uint32_t queue_count;
    struct sbx_stall_count *counts; /* from records of kind KERNEL, which are not in `records`; in the same order */
    uint32_t module_count, thread_count, frame_count, callstack_count; /* ids 1..callstack_count */
    size_t record_count, count_count, task_count, await_count;
};

/* Decode one envelope (proto/envelope_format.h). Returns 0 and a value (given: sbx_stall_destroy), or -EPROTO with the
 * reason in `why` if the bytes are not a valid payload, -ENOTSUP if it is sealed or of a newer version, -ENOMEM.
 * Bounded: at most SBX_PAYLOAD_BYTES_MAX decompressed bytes, and a small multiple of that in memory. */
int sbx_stall_decode(const void *envelope, size_t bytes, struct sbx_stall **stall_out, char *why, size_t why_bytes);

/* The frames of callstack `stack`, leaf first, as indexes into stall->frames. Returns how many were written (<= max). */
size_t sbx_stall_frames(const struct sbx_stall *stall, uint32_t stack, uint32_t *frames_out, size_t max);

/* Is this payload not a stall, but the end of one? Then it has an identity and an end, and nothing to report. */
bool sbx_stall_is_end(const struct sbx_stall *stall);

/* Complete a stall that was reported while it went on: add how it ended. If `end` is not the end of this stall, or the
 * stall has an end already, nothing is changed and false is returned. */
bool sbx_stall_complete(struct sbx_stall *stall, const struct sbx_stall *end);

/* How long the stall lasted, as far as that is known. */
int64_t sbx_stall_lasted_ns(const struct sbx_stall *stall);

void sbx_stall_destroy(struct sbx_stall *stall);

#endif
