/* SPDX-License-Identifier: Apache-2.0 */
/* recording_format.h - the recording: one mapped file, drawn byte by byte.
 *
 *   offset 0        +--------------------------------------------------+
 *                   | header            struct sbx_recording_header    |  4 KiB  identity, clocks, section table,
 *                   |                                                  |         trigger, note, loss counters
 *   SBX_CONTROL_AT  +--------------------------------------------------+
 *                   | control page      struct sbx_control_page        |  4 KiB  settings enter here only
 *   modules_at      +--------------------------------------------------+
 *                   | modules           struct sbx_module_entry[n]     |  permanent: the ring never overwrites it
 *   threads_at      +--------------------------------------------------+
 *                   | threads           struct sbx_thread_entry[n]     |  permanent; entries of dead threads are reused
 *   watches_at      +--------------------------------------------------+         with a new generation
 *                   | watches           struct sbx_watch_entry[n]      |  watches and deadlines that are open now
 *   kinds_at        +--------------------------------------------------+
 *                   | message kinds     struct sbx_kind_entry[n]       |  permanent; names that the application gives
 *   tasks_at        +--------------------------------------------------+
 *                   | tasks             struct sbx_task_entry[n]       |  tasks that are queued, or run, now
 *   queues_at       +--------------------------------------------------+
 *                   | queues            struct sbx_queue_entry[n]      |  counts of tasks into and out of each queue
 *   frames_at       +--------------------------------------------------+
 *                   | frames            uint64_t[2][n]                 |  interned (module, offset); one half per epoch
 *   nodes_at        +--------------------------------------------------+
 *                   | callstack nodes   uint64_t[2][n]                 |  one half per epoch
 *   ids_at          +--------------------------------------------------+
 *                   | functions         uint64_t[n]                    |  permanent; providers' ids of their functions
 *   chunks_at       +--------------------------------------------------+
 *                   | ring              struct sbx_chunk[n] of 4 KiB   |  recycled oldest first
 *   file_bytes      +--------------------------------------------------+
 *                   | guests            whole recordings               |  in a snapshot: recordings of other processes
 *                   +--------------------------------------------------+         that a thread waited for (header.guests)
 *
 * The agent maps it shared and writes. A snapshot is a copy taken while writers go on. Recovery after a kill reads the
 * same bytes. So there is one reader (agent/snapshot) and one format. Integers are in the byte order of the machine
 * that wrote them, because a recording never leaves it. Nothing here is a pointer: places are indexes or file
 * offsets. */
#ifndef SBX_RECORDING_FORMAT_H
#define SBX_RECORDING_FORMAT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "capture_settings.h"
#include "frame_word.h"
#include "payload_numbers.h"
#include "ring_format.h"

#define SBX_RECORDING_MAGIC   "SBXREC\r\n" /* 8 bytes; the line end reveals a text-mode transfer */
#define SBX_RECORDING_VERSION 17u
#define SBX_RECORDING_SUFFIX  ".rec"
#define SBX_RAW_SUFFIX        ".raw"

enum {
    SBX_CONTROL_AT = 4096,
    SBX_MODULES_MAX = 1024,
    SBX_THREADS_MAX = 1024,
    SBX_WATCHES_MAX = 256, /* the id of a watch has its index in its lowest byte */
    SBX_WATCH_NAME_MAX = 48,
    SBX_TASKS_MAX = 2048, /* power of two, below 2^15: an id contains its index (calls/task.h) */
    SBX_QUEUES_MAX = 64,
    SBX_QUEUE_WINDOWS = 8,
    SBX_QUEUE_WINDOW_SHIFT = 29, /* log2 of the nanoseconds of a window: half a second; all windows are four seconds */
    SBX_APP_NAME_MAX = 48,
    SBX_MESSAGE_KINDS = 224,   /* the application's own kinds are 1 to 223; stored as the op of a MESSAGE record */
    SBX_FRAMES_MAX = 1 << 17,  /* both halves, power of two; 2 x 512 KiB. A half has as many slots as nodes: a node
                                  has one frame, so frames do not fill up much earlier */
    SBX_NODES_MAX = 1 << 16,   /* per half, power of two; 2 x 512 KiB */
    SBX_CHUNKS_DEFAULT = 1024, /* 4 MiB of ring */
    SBX_IDS_MAX = 1 << 13,     /* functions of providers, power of two; 64 KiB */
    SBX_PROVIDER_NAME_MAX = 24,
    SBX_RUNTIMES_MAX = 4,
    SBX_HOLDERS_MAX = 8,
    SBX_GUESTS_MAX = 3,
    SBX_RUNTIME_WHY_MAX = 68,
    SBX_BUILD_ID_MAX = 32,
    SBX_PATH_MAX = 256,
};

enum sbx_recording_state {
    SBX_STATE_STARTING = 1,
    SBX_STATE_LIVE = 2,
    SBX_STATE_CLEAN = 3,    /* stopped or exited normally */
    SBX_STATE_SNAPSHOT = 4, /* this file is a copy; header.trigger says why */
    SBX_STATE_PUBLISHED =
        5, /* for a dead process: its snapshot is durable under its temporary name (recording_recover.h) */
};

/* Why a snapshot was made. Times are CLOCK_MONOTONIC nanoseconds. */
struct sbx_trigger_entry {
    uint32_t kind;         /* enum sbx_trigger_kind */
    uint32_t thread;       /* index of the thread that did not respond */
    uint64_t begin_ns;     /* begin of the judged item (of the message) */
    uint64_t end_ns;       /* when the trigger fired, or when the message ended, or the last sign of life */
    uint64_t message;      /* sequence number of the judged message; 0: none */
    uint32_t threshold_ms; /* the limit that was crossed */
    uint32_t in_progress;  /* 1: the stall had not ended when the snapshot was made */
    uint32_t watch;        /* index + 1 of the watch or deadline that was missed; 0: none */
    uint32_t after_ms;     /* recording continued for this long after the trigger, before the copy was made */
    uint32_t frames;       /* `slow_frame`: number of dropped frames if it was a burst; else 0 or 1 */
    uint32_t signal;       /* number of the signal that ended the process; 0: none, or not known */
    uint32_t fault;        /* enum sbx_fault: what kind of signal that was */
    uint32_t message_kind; /* kind of the judged message, in the application's numbers; 0: not given */
    /* Only SBX_TRIGGER_END: how the stall ended that an earlier snapshot reported while it went on. */
    uint32_t ended;       /* enum sbx_stall_end */
    uint32_t scene;       /* the application's scene, in its numbers, below SBX_SCENES; 0: not given */
    uint8_t first_id[16]; /* id of that earlier snapshot */
};

/* The user's decision about recording (docs: stallbox.h). Only what was recorded after GRANTED may be kept. */
enum sbx_consent {
    SBX_CONSENT_UNKNOWN = 0,
    SBX_CONSENT_GRANTED = 1,
    SBX_CONSENT_DENIED = 2,
};

/* Written while a message is open too long, and withdrawn when it ends. An open note of a dead process is a stall that
 * killed it. Written by the watch thread: fields first, then `open` with release. */
struct sbx_note {
    uint32_t open; /* 1: the note is valid */
    uint32_t thread;
    uint64_t message;
    uint64_t begin_ns;
    uint32_t message_kind;
    uint32_t scene; /* as in a trigger */
};

enum {
    SBX_TOLD_MAX = 8, /* stalls that were reported and go on, at one time */
};

enum sbx_told_state {
    SBX_TOLD_FREE = 0,
    SBX_TOLD_STANDS = 1,  /* the stall goes on */
    SBX_TOLD_ENDED = 2,   /* it has ended, and nothing durable says so yet */
    SBX_TOLD_SETTLED = 3, /* its end is durable, or was given up: the place may be reused */
};

/* A stall that a durable snapshot reported while it went on. Its end becomes a snapshot of its own, without records,
 * that names the first (SBX_TRIGGER_END). Its id is derived from the first's, so making it twice gives one snapshot.
 * Written by the watch thread: fields first, then `state` with release. The finder of a dead process's recording ends
 * the stalls that are left. */
struct sbx_told {
    uint32_t state; /* enum sbx_told_state */
    uint32_t kind;  /* enum sbx_trigger_kind of the first snapshot */
    uint32_t thread, watch;
    uint64_t message, begin_ns;
    uint64_t end_ns; /* ENDED */
    uint32_t ended;  /* ENDED: enum sbx_stall_end */
    uint32_t reserved;
    uint8_t snapshot_id[16]; /* id of the first snapshot */
};
static_assert(sizeof(struct sbx_told) == 64, "no padding");

/* Where the kernel makes the signals of our timers (capture/signals/sample_signal.h). */
enum sbx_signal_place {
    SBX_SIGNAL_PLACE_UNKNOWN = 0,  /* no thread has been sampled by signal yet */
    SBX_SIGNAL_PLACE_OUTSIDE = 1,  /* when the thread returns to its own code: no call is cut short */
    SBX_SIGNAL_PLACE_ANYWHERE = 2, /* in the middle of calls as well, as before Linux 5.11 */
};

enum sbx_pending_state {
    SBX_PENDING_NONE = 0,
    SBX_PENDING_FIRED = 1,   /* nothing of the snapshot is durable yet */
    SBX_PENDING_DURABLE = 2, /* it is durable under its temporary name */
};

/* The snapshot that is being made because a trigger fired. It is noted here so that a process that dies at that moment
 * still leaves a report. Written by the watch thread: fields first, then `state` with release. A snapshot made by hand
 * is not noted, because nobody waits for it after the death. */
struct sbx_pending {
    uint32_t state; /* enum sbx_pending_state */
    uint32_t reserved;
    uint8_t snapshot_id[16]; /* its file is raw/.ID.raw.PID.tmp, then raw/ID.raw */
    struct sbx_trigger_entry trigger;
};

/* The fatal signal that is ending the process (handler/crash_handler.h). The first thread that gets one takes `claim`,
 * fills in the other fields, then stores `signal` with release. A second thread changes nothing. */
struct sbx_crash {
    uint32_t claim;  /* 1: taken */
    uint32_t signal; /* its number; 0: none */
    uint32_t fault;  /* enum sbx_fault */
    uint32_t thread; /* index of the thread that got it; UINT32_MAX: a thread without an entry */
    uint64_t at_ns;
};

/* An embedded runtime that reports logical frames. Filled before header.provider_count counts it; never changed. */
struct sbx_provider_entry {
    uint64_t code_begin, code_end;    /* addresses of the interpreter's loop; end 0: the whole module that holds
                                         begin; begin 0: not given */
    char name[SBX_PROVIDER_NAME_MAX]; /* "lua": local only */
};

/* A runtime of the program whose provider comes with this library (agent/providers/runtime_modules.h). Other words
 * first, then `state` with release. */
struct sbx_runtime_entry {
    uint32_t state;        /* enum sbx_runtime_state */
    uint32_t kind;         /* enum sbx_runtime_kind */
    uint32_t major, minor; /* its version; 0.0: not known */
    char name[SBX_PROVIDER_NAME_MAX];
    char why[SBX_RUNTIME_WHY_MAX]; /* for people, local only */
};

/* What recording costs the application, and how the governor has reacted (agent/governor.h). Written by the watch
 * thread, word by word, once a window. These numbers are for people. CPU times are since the start. */
struct sbx_overhead {
    uint64_t application_ns;      /* of the process, without the four below */
    uint64_t watch_ns;            /* of the watch thread */
    uint64_t modules_ns;          /* of the module thread: rows and hooks, mostly at the start; not governed */
    uint64_t captures_ns;         /* of the application's threads: captures, counted, and one in 16 timed */
    uint64_t calls_ns;            /* the same: calls through points that recorded nothing, counted and estimated */
    uint32_t budget_permille;     /* 0: none */
    uint32_t window_ppm;          /* cost of the last window by its application time, in millionths */
    uint32_t interval_us, gap_us; /* in force */
    uint32_t changes;             /* steps taken, either way */
    uint32_t budget_tenths;       /* tenths of a thousandth to add */
    uint64_t shed;                /* SBX_POINT_BIT() of the groups that are out */
};

/* The process's place in its family: the processes that fork from one another. */
struct sbx_family_entry {
    uint8_t id[16];             /* random, from the first process; zero when the role is NONE */
    uint8_t parent_session[16]; /* session_id of the process that forked it; zero: it was not recorded */
    uint32_t role;              /* enum sbx_family_role */
    uint32_t parent_pid;        /* local only; 0: none */
    uint32_t stalled_beside;    /* in a snapshot: number of others of the family that stalled at the same time */
    uint32_t reserved;
    uint64_t moment; /* in a snapshot: random, and the same for overlapping stalls of the family; 0: none */
};

enum sbx_holder_kind {
    SBX_HOLDER_NONE = 0,
    SBX_HOLDER_MUTEX = 1,     /* it owns the process-shared mutex */
    SBX_HOLDER_FILE_LOCK = 2, /* it has the lock on the file */
    SBX_HOLDER_OTHER_END = 3, /* it has the other end of the pipe or socket */
    SBX_HOLDER_SEMAPHORE = 4, /* it changed the semaphore last */
    SBX_HOLDER_HANDS = 5,     /* it took the shared object, or let it go (capture/threads/shared_hands.h) */
    SBX_HOLDER_KINDS
};

/* Another process that a thread of this one waits for, or waited for a moment ago. Written by the watch thread; the
 * newest replaces the oldest (agent/family/outside_holders.h). */
struct sbx_holder_entry {
    uint32_t thread;   /* index of the waiting thread */
    uint32_t pid, tid; /* the holder, in this pid namespace; tid 0: its thread is not known */
    uint32_t kind;     /* enum sbx_holder_kind; NONE: the entry is free */
    uint64_t begin_ns; /* begin of the wait */
    uint64_t seen_ns;  /* when it was last seen to hold the object */
    uint64_t object;   /* object of the wait */
};

/* A copy of the recording of another process of the family. It follows the snapshot's own bytes
 * (agent/snapshot/guest_copy.h). */
struct sbx_guest_entry {
    uint64_t at;    /* file offset, a multiple of 4096; 0: none */
    uint64_t bytes; /* size of the whole copy */
};

struct sbx_section {
    uint64_t at;          /* file offset */
    uint32_t count;       /* elements */
    uint32_t entry_bytes; /* size of one element */
};

struct sbx_recording_header {
    char magic[8];
    uint32_t version;
    uint32_t layout_hash; /* sbx_layout_hash(): sizes and offsets of every struct here */
    uint64_t file_bytes;
    uint32_t state; /* enum sbx_recording_state */
    uint32_t pid;
    uint64_t process_start_ticks; /* field 22 of /proc/PID/stat: with pid and boot_id it identifies one process */
    uint8_t boot_id[16];
    uint8_t session_id[16];  /* random, one for each recording */
    uint8_t snapshot_id[16]; /* random, one for each snapshot; becomes the payload id; zero in a live recording */
    uint64_t started_ns;     /* CLOCK_MONOTONIC */
    uint64_t started_real_s; /* CLOCK_REALTIME seconds; only its UTC day may leave the machine */
    uint64_t snapshot_ns;    /* CLOCK_MONOTONIC when the copy was begun */
    uint64_t heartbeat_ns;   /* CLOCK_MONOTONIC of the watch thread's last tick: the last sign of life */
    struct sbx_section modules, threads, frames, nodes, ids, chunks; /* nodes.count counts both halves */
    uint32_t module_count;                                           /* entries in use, append only, release-stored */
    uint32_t thread_count;                                           /* entries ever used */
    uint32_t epoch;                                                  /* current callstack epoch, starts at 1 */
    uint32_t main_thread;                                            /* index of the main thread's entry */
    uint64_t ring_ticket;                                            /* next chunk ticket */
    uint64_t tick;                                                   /* the watch thread's ticks so far */
    struct sbx_trigger_entry trigger;
    struct sbx_note note;
    uint64_t drops[SBX_DROP_COUNT];
    /* Numbers of records by source. captures_sync counts threads that ended; the counts of living threads are in their
     * entries. */
    uint64_t captures_sync, captures_async, captures_observed;
    uint64_t async_interval_ns; /* what the gap filler really achieves: moving mean of the distance between ticks */
    uint32_t snapshots_made;
    uint32_t last_error;     /* errno of the last failed snapshot; 0: none */
    uint32_t hooked_slots;   /* GOT slots patched now; 0 when off */
    uint32_t async_signal;   /* signal number of the gap filler now; 0: off */
    uint32_t clock_source;   /* enum sbx_clock_source (capture/port/thread_clock.h): the source of times */
    uint32_t architecture;   /* enum sbx_architecture of the recorded code; 0: not given */
    uint32_t crash_signals;  /* 1 << number for each fatal signal whose handler is ours now */
    uint32_t provider_count; /* entries in use, append only, release-stored */
    uint32_t signal_place;   /* enum sbx_signal_place: where the signals of our timers are made */
    struct sbx_provider_entry providers[SBX_PROVIDERS_MAX];
    char spool_path[SBX_PATH_MAX];      /* folder for snapshots, with raw/ below it; local only, never in a payload */
    char executable_path[SBX_PATH_MAX]; /* local only */
    struct sbx_section watches;
    uint32_t watch_count;       /* watches and deadlines open now, including those that rest */
    uint32_t consent;           /* enum sbx_consent: may the recorded data be kept and sent */
    uint64_t consent_ns;        /* CLOCK_MONOTONIC when it was given; nothing older may be kept */
    uint64_t epoch_begun_ns[2]; /* by half: begin of its epoch. The epoch's byte in a callstack id wraps around, so a
                                   record older than this names a stack of an earlier epoch */
    struct sbx_crash crash;
    uint64_t pid_namespace; /* inode of /proc/self/ns/pid: elsewhere `pid` is another process; 0: not known */
    uint32_t owner_locked;  /* 1: the process holds a lock (flock) on this file as long as it lives */
    uint32_t reserved_owner;
    struct sbx_overhead overhead;
    struct sbx_pending pending;
    struct sbx_section kinds;
    struct sbx_told told[SBX_TOLD_MAX];
    char app_name[SBX_APP_NAME_MAX]; /* the application's name from `stallbox run --app`; "": not given. Local only */
    uint32_t app_version[3];         /* its version, major, minor, patch; all 0: not given */
    uint32_t scene;                  /* the application's scene at the watch thread's last tick */
    struct sbx_family_entry family;
    struct sbx_runtime_entry runtimes[SBX_RUNTIMES_MAX];
    struct sbx_section tasks, queues;
    struct sbx_holder_entry holders[SBX_HOLDERS_MAX];
    struct sbx_guest_entry guests[SBX_GUESTS_MAX]; /* only in a snapshot */
};
static_assert(sizeof(struct sbx_recording_header) <= 4096, "the header is one page");

/* The process could not write a snapshot by itself, so it asks its companion (agent/stalls/handover.h,
 * tool/companion/handover_taker.h). The watch thread fills this in, increments `request` and writes one byte of `wake`
 * through a descriptor. inotify(7) reports that write to the companion. The companion rings the bell when it has
 * answered. A reader outside of the process must not trust these fields. */
struct sbx_handover {
    uint64_t key; /* key of the companion (preload.h) that started this process; 0: none */
    /* The companion's roster (agent/snapshot/roster.h), for the process that makes the snapshot of a dead process; 0:
     * none. */
    uint64_t roster;
    uint32_t request;        /* incremented by the watch thread when the other fields are complete */
    uint32_t answer;         /* last request that the companion answered; release-stored */
    uint32_t result;         /* 0, or errno of that answer */
    uint32_t error;          /* errno with which the process itself could not write it */
    uint64_t until_ns;       /* CLOCK_MONOTONIC: after this the process does not wait for it any more */
    uint32_t made;           /* number of snapshots that the companion made */
    uint32_t wake;           /* its first byte is written, with the value that it has */
    uint8_t snapshot_id[16]; /* id of the snapshot; the companion stores it before `answer` */
    struct sbx_trigger_entry trigger;
};

/* The user's decision on its way to the agent: enum sbx_consent + 1, or one of two more values. */
enum sbx_consent_order {
    /* As at a start without an answer: the application decides what this means. */
    SBX_CONSENT_ORDER_NONE = 0,
    SBX_CONSENT_ORDER_UNKNOWN = 1,
    SBX_CONSENT_ORDER_GRANTED = 2,
    SBX_CONSENT_ORDER_DENIED = 3,
    SBX_CONSENT_ORDER_NOT_ASKED = 4,
    SBX_CONSENT_ORDER_READ = 5, /* read it in the spool */
};

/* The only place where settings enter: policy -> numbers -> here -> capture. Writers (the agent at start, the
 * companion, ctl) fill `wanted`, then add 1 to `generation` (release) and ring `bell`. The watch thread takes the
 * settings over. */
struct sbx_control_page {
    uint32_t generation;       /* incremented by the writer when `wanted` is complete */
    uint32_t applied;          /* last generation the agent took over */
    uint32_t bell;             /* futex word (shared): incremented and woken to wake the watch thread */
    uint32_t snapshot_request; /* incremented by ctl to ask for a manual snapshot */
    uint32_t snapshot_answer;  /* last request that was answered */
    uint32_t snapshot_result;  /* 0, or errno of that answer */
    uint32_t consent_order;    /* enum sbx_consent_order: the watch thread takes it and sets it back to 0 */
    uint32_t reserved;
    uint64_t hooked_points; /* SBX_POINT_BIT() of the groups with hooks in now: written by the module thread */
    struct sbx_capture_settings wanted;
    struct sbx_capture_settings in_force; /* written by the agent: the current values */
    struct sbx_handover handover;
    /* Incremented by another process of the family that is about to report what it waits for here (guest_look.h). */
    uint32_t look_request;
    uint32_t look_answer; /* last request that was answered; release-stored */
    uint64_t looked_ns;   /* CLOCK_MONOTONIC: when all sleeping threads were last looked at for it; 0: never */
};
static_assert(sizeof(struct sbx_control_page) <= 4096, "the control page is one page");

enum sbx_module_flag {
    SBX_MODULE_MAIN = 1, /* the executable */
    SBX_MODULE_VDSO = 2,
    SBX_MODULE_AGENT = 4, /* our own library */
    SBX_MODULE_UNLOADED = 8,
    SBX_MODULE_NO_ROWS = 16,      /* no unwind data */
    SBX_MODULE_ROWS_CACHED = 32,  /* its rows are in the cache on disk: found there, or stored there */
    SBX_MODULE_ROWS_PENDING = 64, /* its rows are not built yet: walks end in it */
};

struct sbx_module_entry {
    uint64_t start, end; /* mapped range of its segments */
    uint64_t bias;       /* address minus file-relative virtual address */
    uint32_t flags;      /* enum sbx_module_flag */
    uint32_t build_id_bytes;
    uint8_t build_id[SBX_BUILD_ID_MAX];
    char path[SBX_PATH_MAX]; /* local only */
};

enum sbx_thread_state {
    SBX_THREAD_FREE = 0,
    SBX_THREAD_LIVE = 1,
    SBX_THREAD_DEAD = 2
};

/* A sample that was taken again and again without anything new: the part that is not in the ring yet. The first sample
 * of a run becomes a record at once. The later looks only update this entry, and when the run ends, one record with
 * `repeats` stands for them. The writer makes `sequence` odd before and even after a change (a seqlock). So a snapshot
 * of a living process and the recovery of a dead one read the entry complete or not at all. */
struct sbx_repeat {
    uint32_t sequence;
    uint32_t stack;   /* callstack id; 0: no run is open */
    uint32_t repeats; /* looks since the first; 0: nothing to record yet */
    uint8_t kind, op, fd_class, flags;
    uint64_t begin_ns, end_ns; /* first and last look */
    uint64_t cpu_ns;           /* at end */
    uint64_t alloc_count, alloc_bytes;
    uint64_t message, object, amount;
};

/* One thread. The words that it writes itself have cache lines of their own, the hottest ones together: an allocation
 * touches one line. */
struct sbx_thread_entry {
    uint32_t state; /* enum sbx_thread_state */
    uint32_t tid;
    /* Number of its thread's life, never 0 once taken. Each thread of the process has another number, and keeps it in
     * whatever seat. */
    uint32_t generation;
    uint32_t flags; /* enum sbx_thread_flag */
    char name[16];  /* the kernel's name; local only */
    uint64_t born_ns;
    uint64_t died_ns;
    uint64_t away_ns;       /* when its thread gave the seat back for a wait; 0: the thread has it, or has ended */
    uint32_t starter_stack; /* callstack id of the start of the thread; 0: not known. Carried into each new epoch */
    uint32_t starter_tid;
    /* the fields from here on are written by the thread itself */
    uint64_t alloc_count; /* exact since registration, recorded or not */
    uint64_t alloc_bytes; /* the same, plus the allocations of a runtime's heap that are known (providers.h) */
    uint64_t free_count;
    int64_t countdown;         /* leaf calls left before the clock is read to check whether a sample is due */
    uint64_t message;          /* sequence number of its current or last message; 0: no loop seen */
    uint64_t message_begin_ns; /* 0: no message is open */
    uint64_t map_count;        /* mmap and munmap calls */
    uint64_t map_bytes;        /* bytes mapped by them */
    uint64_t call_begin_ns;    /* begin of its blocking call */
    uint32_t call_kind;        /* enum sbx_record_kind of that call; 0: none */
    uint32_t call_op;          /* enum sbx_op of that call */
    uint64_t call_object;      /* lock or wait object's address, or descriptor + 1 */
    uint32_t call_peer;        /* tid of the holder at the begin of the call; 0: unknown */
    uint32_t last_stack;       /* callstack id of its newest record */
    uint64_t last_record_ns;   /* end of its newest record */
    uint64_t last_cpu_ns;      /* its CPU time at that end */
    uint32_t call_wait;        /* wait id of that call; 0: none */
    uint32_t reserved_call;
    uint64_t captures;       /* samples and waits it recorded of itself */
    struct sbx_repeat own;   /* the thread's samples of itself */
    uint32_t run_generation; /* in a copy: generation and tid of the entry when its runs were copied; 0: as above */
    uint32_t run_tid;
    uint64_t reserved_own[5];
    struct sbx_repeat observed; /* the watch thread's looks at the thread: written by the watch thread only */
    uint64_t reserved_observed[6];
};
static_assert(sizeof(struct sbx_repeat) == 80, "no padding");
static_assert(sizeof(struct sbx_thread_entry) == 448, "seven cache lines a thread");

/* A watch or a deadline: something that must happen by begin + timeout. A thread takes a free entry, updates it and
 * gives it back, each with one compare-and-swap of `word` (agent/stalls/watch_table.h). The watch thread checks the
 * times. An entry has two cache lines, and a beat touches only the first. */
struct sbx_watch_entry {
    uint64_t word;     /* generation << 8 | enum sbx_watch_state; generation 0: never used */
    uint64_t begin_ns; /* CLOCK_MONOTONIC: its begin, or the newest beat */
    uint64_t end_ns;   /* LATE: when the deadline was met; for a watch: the beat that ended the reported silence */
    uint32_t kind;     /* enum sbx_watch_kind */
    uint32_t timeout_ms;
    uint32_t thread; /* index of the thread that began it, or of the last beat; UINT32_MAX: not known */
    uint32_t thread_generation;
    uint64_t what;          /* its name as a number: FNV-1a, 64 bits */
    uint64_t told_begin_ns; /* for a watch: begin_ns of the reported silence; 0: none */
    uint64_t beats;
    char name[SBX_WATCH_NAME_MAX]; /* local only */
    uint64_t opened_ns;
    uint64_t reserved;
};
static_assert(sizeof(struct sbx_watch_entry) == 128, "two cache lines");

/* A task that was queued and that has not ended yet (capture/calls/task.h). The thread that queues it moves the entry
 * from FREE to FILLING, fills it in, and stores QUEUED with release. The thread that runs it exchanges QUEUED for
 * RUNNING, and RUNNING for FREE at its end. A copy of an entry is valid only if `word` did not change meanwhile. */
enum sbx_task_state {
    SBX_TASK_FREE = 0,
    SBX_TASK_FILLING = 1,
    SBX_TASK_QUEUED = 2,
    SBX_TASK_RUNNING = 3
};

struct sbx_task_entry {
    uint64_t word;            /* id of the hop << 8 | enum sbx_task_state */
    uint64_t queue;           /* number of its queue: usually an address */
    uint64_t queued_ns;       /* CLOCK_MONOTONIC, like all times */
    uint64_t begun_ns;        /* RUNNING: its begin */
    uint64_t message;         /* message of the queuing thread in which it was queued; 0: none */
    uint32_t stack;           /* callstack id of the queuing code; the watch thread carries it into each new epoch */
    uint32_t tid;             /* the queuing thread */
    uint32_t runner;          /* RUNNING: thread that runs it */
    uint32_t before;          /* number of tasks before it in the queue */
    uint8_t op, flags, group; /* enum sbx_op: how it was queued; SBX_FLAG_MERGED; enum sbx_point_group */
    uint8_t queue_at;         /* index of its queue's entry; no meaning if the queue has none */
    uint8_t reserved[4];
};
static_assert(sizeof(struct sbx_task_entry) == 64,
              "one cache line, which goes from the thread that queues to the one that runs");

/* Counts of tasks into and out of a queue, whether the tasks were followed or not. A queue takes an entry by storing
 * `queue`. The entry stays with it until the queue's points say that the queue has ended, or until the queue was empty
 * and idle for some time and another queue needs the entry. */
struct sbx_queue_window {
    uint32_t number; /* time >> SBX_QUEUE_WINDOW_SHIFT */
    /* Low 32 bits of the totals when the first task came or went in this window. The window's counts are the growth
     * since then. */
    uint32_t queued, begun;
    uint32_t reserved;
};

/* Three parts with different writers: threads that queue, threads that take out, and rare writers. So the two sides do
 * not take cache lines from each other, except that a queuing thread reads how many tasks there are. Processors fetch
 * lines in pairs, so neither of the two lines is in a pair with another writer's line. */
struct sbx_queue_entry {
    uint64_t queue; /* 0: free; all ones: being given to a queue */
    uint32_t op;    /* enum sbx_op by which tasks come into the queue */
    uint32_t turn;  /* how many queues have had the entry, including this one: part of the ids of counted tasks */
    struct sbx_queue_window windows[SBX_QUEUE_WINDOWS];
    uint64_t unused[6];
    uint64_t queued; /* since the begin; minus the two below it is what lies there now */
    uint64_t unused_by_who_queues[7];
    uint64_t begun, cancelled;
    uint64_t unused_by_who_takes_out[14];
};
static_assert(sizeof(struct sbx_queue_entry) == 384 && offsetof(struct sbx_queue_entry, queued) == 192 &&
                  offsetof(struct sbx_queue_entry, begun) == 256,
              "six cache lines, the fourth of who queues, the fifth of who takes out");

static inline uint64_t sbx_task_word(uint32_t hop, enum sbx_task_state state)
{
    return (uint64_t)hop << 8 | (uint64_t)state;
}

static inline enum sbx_task_state sbx_task_state_of(uint64_t word)
{
    return (enum sbx_task_state)(word & 0xff);
}

static inline uint32_t sbx_task_hop_of(uint64_t word)
{
    return (uint32_t)(word >> 8);
}

/* The application's name of a message kind; the kind is the index. The first name stays: the thread that moves `state`
 * from FREE to FILLING writes it, then stores SET with release. */
enum sbx_kind_state {
    SBX_KIND_FREE = 0,
    SBX_KIND_FILLING = 1,
    SBX_KIND_SET = 2
};

struct sbx_kind_entry {
    uint32_t state; /* enum sbx_kind_state */
    uint32_t reserved;
    char name[SBX_WATCH_NAME_MAX]; /* local only */
};

static inline uint64_t sbx_watch_word(uint64_t generation, enum sbx_watch_state state)
{
    return generation << 8 | (uint64_t)state;
}

static inline enum sbx_watch_state sbx_watch_state_of(uint64_t word)
{
    return (enum sbx_watch_state)(word & 0xff);
}

/* Number of samples and waits that the application's threads recorded of themselves. `header` heads a whole recording,
 * which may be live. The number is for people. */
static inline uint64_t sbx_captures_by_threads(const struct sbx_recording_header *header)
{
    const struct sbx_thread_entry *entries =
        (const struct sbx_thread_entry *)(const void *)((const uint8_t *)header + header->threads.at);
    uint64_t captures = header->captures_sync;
    for (uint32_t i = 0; i < header->thread_count && i < header->threads.count; i++) {
        captures += entries[i].state == SBX_THREAD_LIVE ? entries[i].captures : 0;
    }
    return captures;
}

/* A number that changes when any struct of a recording does (FNV-1a over sizes). */
static inline uint32_t sbx_layout_hash(void)
{
    const uint32_t sizes[] = {sizeof(struct sbx_recording_header),
                              sizeof(struct sbx_control_page),
                              sizeof(struct sbx_module_entry),
                              sizeof(struct sbx_thread_entry),
                              sizeof(struct sbx_chunk),
                              sizeof(struct sbx_capture_settings),
                              sizeof(struct sbx_watch_entry),
                              sizeof(struct sbx_kind_entry),
                              sizeof(struct sbx_task_entry),
                              sizeof(struct sbx_queue_entry),
                              SBX_DROP_COUNT,
                              SBX_RECORDING_VERSION};
    uint32_t hash = 2166136261u;
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        hash = (hash ^ sizes[i]) * 16777619u;
    }
    return hash;
}

#endif
