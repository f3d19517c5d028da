/* SPDX-License-Identifier: Apache-2.0 */
/* recording_format.h - the recording: one mapped file, drawn byte by byte.
 *
 *   offset 0        +--------------------------------------------------+
 *                   | header            struct sbx_recording_header    |  4 KiB  identity, clocks, section table,
 *                   |                                                  |         trigger, note, loss counters
 *   SBX_CONTROL_AT  +--------------------------------------------------+
 *                   | control page      struct sbx_control_page        |  4 KiB  the one door for settings
 *   modules_at      +--------------------------------------------------+
 *                   | modules           struct sbx_module_entry[n]     |  immortal: the ring never eats it
 *   threads_at      +--------------------------------------------------+
 *                   | threads           struct sbx_thread_entry[n]     |  immortal; entries of dead threads are reused
 *   watches_at      +--------------------------------------------------+         with a new generation
 *                   | watches           struct sbx_watch_entry[n]      |  watches and deadlines that are open now
 *   kinds_at        +--------------------------------------------------+
 *                   | message kinds     struct sbx_kind_entry[n]       |  immortal; what the application calls them, and its scenes
 *   tasks_at        +--------------------------------------------------+
 *                   | tasks             struct sbx_task_entry[n]       |  tasks that are queued, or run, now
 *   queues_at       +--------------------------------------------------+
 *                   | queues            struct sbx_queue_entry[n]      |  what came into each queue, and out of it
 *   frames_at       +--------------------------------------------------+
 *                   | frames            uint64_t[2][n]                 |  interned (module, offset); two halves, one an epoch
 *   nodes_at        +--------------------------------------------------+
 *                   | callstack nodes   uint64_t[2][n]                 |  two halves, one an epoch
 *   ids_at          +--------------------------------------------------+
 *                   | functions         uint64_t[n]                    |  immortal; ids that providers gave their functions
 *   chunks_at       +--------------------------------------------------+
 *                   | ring              struct sbx_chunk[n] of 4 KiB   |  recycled oldest first
 *   file_bytes      +--------------------------------------------------+
 *                   | guests            whole recordings               |  of a snapshot alone: copies of those of other processes
 *                   +--------------------------------------------------+         that a thread waited for (header.guests)
 *
 * The agent maps it shared and writes; a snapshot is a copy taken while writers go on; recovery after a kill reads the
 * same bytes. So there is one reader (agent/snapshot) and one format. Integers are in the byte order of the machine that
 * wrote them: a recording never leaves it. Nothing here is a pointer; places are indexes or file offsets. */
#ifndef SBX_RECORDING_FORMAT_H
#define SBX_RECORDING_FORMAT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "capture_settings.h"
#include "frame_word.h"
#include "payload_numbers.h"
#include "ring_format.h"

#define SBX_RECORDING_MAGIC   "SBXREC\r\n" /* 8 bytes; the line end shows a text-mode transfer */
#define SBX_RECORDING_VERSION 17u
#define SBX_RECORDING_SUFFIX  ".rec"
#define SBX_RAW_SUFFIX        ".raw"

enum {
    SBX_CONTROL_AT = 4096,
    SBX_MODULES_MAX = 1024,
    SBX_THREADS_MAX = 1024,
    SBX_WATCHES_MAX = 256, /* a watch's id has its index in its lowest byte */
    SBX_WATCH_NAME_MAX = 48,
    SBX_TASKS_MAX = 2048, /* power of two, below 2^15: an id has its index (calls/task.h) */
    SBX_QUEUES_MAX = 64,
    SBX_QUEUE_WINDOWS = 8,
    SBX_QUEUE_WINDOW_SHIFT = 29, /* nanoseconds of a window as a power of two: half a second; four seconds in all */
    SBX_APP_NAME_MAX = 48,
    SBX_MESSAGE_KINDS = 224,   /* an application's own, 1 to 223; they travel as the op of a MESSAGE record */
    SBX_FRAMES_MAX = 1 << 17,  /* both halves, power of two; 2 x 512 KiB. As many slots a half as nodes: a node has
                                     one frame, so frames are never what fills up first by much */
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
    SBX_STATE_CLEAN = 3,    /* stopped or exited in order */
    SBX_STATE_SNAPSHOT = 4, /* this file is a copy; header.trigger says why */
    SBX_STATE_PUBLISHED =
        5, /* of a dead process: its snapshot is durable under its temporary name (recording_recover.h) */
};

/* Why a snapshot was made. Times are CLOCK_MONOTONIC nanoseconds. */
struct sbx_trigger_entry {
    uint32_t kind;         /* enum sbx_trigger_kind */
    uint32_t thread;       /* index of the thread that did not answer */
    uint64_t begin_ns;     /* when the judged thing began (message begin) */
    uint64_t end_ns;       /* when the trigger fired, or when the message ended, or the last sign of life */
    uint64_t message;      /* sequence number of the judged message; 0: none */
    uint32_t threshold_ms; /* the limit that was crossed */
    uint32_t in_progress;  /* 1: the stall had not ended when the snapshot was made */
    uint32_t watch;        /* index + 1 of the watch or deadline that was not kept; 0: none */
    uint32_t after_ms;     /* recording went on for so long after the trigger, before the copy was made */
    uint32_t frames;       /* `slow_frame`: frames dropped, when it was a burst of them; else 0 or 1 */
    uint32_t signal;       /* number of the signal that ended the process; 0: none, or not known */
    uint32_t fault;        /* enum sbx_fault: what kind of signal that was */
    uint32_t message_kind; /* of the judged message, as the application numbers them; 0: not told */
    /* SBX_TRIGGER_END alone: how the stall ended, which its snapshot told while it went on */
    uint32_t ended;       /* enum sbx_stall_end */
    uint32_t scene;       /* that the application was in, as it numbers them, below SBX_SCENES; 0: not told */
    uint8_t first_id[16]; /* of that snapshot */
};

/* What the user said about recording (docs: stallbox.h). Only what was recorded after GRANTED may be kept. */
enum sbx_consent {
    SBX_CONSENT_UNKNOWN = 0,
    SBX_CONSENT_GRANTED = 1,
    SBX_CONSENT_DENIED = 2,
};

/* Left while a message is open too long, withdrawn when it ends: an open note of a dead process is a stall that killed
 * it. Written by the watch thread: fields first, then `open` with release. */
struct sbx_note {
    uint32_t open; /* 1: the note stands */
    uint32_t thread;
    uint64_t message;
    uint64_t begin_ns;
    uint32_t message_kind;
    uint32_t scene; /* as of a trigger */
};

enum {
    SBX_TOLD_MAX = 8, /* stalls that are told and go on, at a time */
};

enum sbx_told_state {
    SBX_TOLD_FREE = 0,
    SBX_TOLD_STANDS = 1,  /* it goes on */
    SBX_TOLD_ENDED = 2,   /* it has ended, and nothing durable says so yet */
    SBX_TOLD_SETTLED = 3, /* its end is durable, or was given up: the place may be used again */
};

/* A stall that was told in a durable snapshot while it went on. Its end becomes a snapshot of its own, without records, that
 * names the first (SBX_TRIGGER_END); its id follows from the first's, so that who makes it twice makes it once. Written by the
 * watch thread: fields first, then `state` with release. Whoever finds the recording of a dead process ends what stands. */
struct sbx_told {
    uint32_t state; /* enum sbx_told_state */
    uint32_t kind;  /* enum sbx_trigger_kind of the first */
    uint32_t thread, watch;
    uint64_t message, begin_ns;
    uint64_t end_ns; /* ENDED */
    uint32_t ended;  /* ENDED: enum sbx_stall_end */
    uint32_t reserved;
    uint8_t snapshot_id[16]; /* of the first */
};
static_assert(sizeof(struct sbx_told) == 64, "no padding");

/* Where the kernel makes the signals of our timers (capture/signals/sample_signal.h). */
enum sbx_signal_place {
    SBX_SIGNAL_PLACE_UNKNOWN = 0,  /* nobody has been sampled by signal yet */
    SBX_SIGNAL_PLACE_OUTSIDE = 1,  /* when the thread goes back to its own code: no call is cut short */
    SBX_SIGNAL_PLACE_ANYWHERE = 2, /* in the middle of calls as well, as before Linux 5.11 */
};

enum sbx_pending_state {
    SBX_PENDING_NONE = 0,
    SBX_PENDING_FIRED = 1,   /* nothing of it is durable yet */
    SBX_PENDING_DURABLE = 2, /* it is durable under its temporary name */
};

/* The snapshot that is being made because something fired, so that a process which dies at that moment is not silent
 * about it. Written by the watch thread: fields first, then `state` with release. A snapshot made by hand has none: who
 * asked for it is gone. */
struct sbx_pending {
    uint32_t state; /* enum sbx_pending_state */
    uint32_t reserved;
    uint8_t snapshot_id[16]; /* its file is raw/.ID.raw.PID.tmp, then raw/ID.raw */
    struct sbx_trigger_entry trigger;
};

/* The fatal signal that is ending the process (handler/crash_handler.h). The first thread that gets one takes `claim`,
 * fills in the rest, then `signal` with release; whoever is second leaves it alone. */
struct sbx_crash {
    uint32_t claim;  /* 1: taken */
    uint32_t signal; /* its number; 0: none */
    uint32_t fault;  /* enum sbx_fault */
    uint32_t thread; /* index of the thread it came to; UINT32_MAX: one without an entry */
    uint64_t at_ns;
};

/* An embedded runtime that tells its logical frames. Filled before header.provider_count says so; never changed. */
struct sbx_provider_entry {
    uint64_t code_begin, code_end;    /* addresses of the interpreter's loop; end 0: the whole module that holds begin;
                                      begin 0: not told */
    char name[SBX_PROVIDER_NAME_MAX]; /* "lua": local only */
};

/* A runtime that the program has, and whose provider comes with us (agent/providers/runtime_modules.h). Words first, then `state` with
 * release. */
struct sbx_runtime_entry {
    uint32_t state;        /* enum sbx_runtime_state */
    uint32_t kind;         /* enum sbx_runtime_kind */
    uint32_t major, minor; /* its version; 0.0: not told */
    char name[SBX_PROVIDER_NAME_MAX];
    char why[SBX_RUNTIME_WHY_MAX]; /* for people, local only */
};

/* What recording costs the application, and what the governor made of it (agent/governor.h). Written by the watch thread,
 * word by word, once a window: numbers for people. CPU times since the start. */
struct sbx_overhead {
    uint64_t application_ns;      /* the process's, without the four below */
    uint64_t watch_ns;            /* the watch thread's */
    uint64_t modules_ns;          /* the module thread's: rows and hooks, mostly at the start; not governed */
    uint64_t captures_ns;         /* of the application's threads: captures, counted and one in 16 timed */
    uint64_t calls_ns;            /* the same: calls through points that recorded nothing, counted and estimated */
    uint32_t budget_permille;     /* 0: none */
    uint32_t window_ppm;          /* cost of the last window by its application time, in millionths */
    uint32_t interval_us, gap_us; /* in force */
    uint32_t changes;             /* steps taken, either way */
    uint32_t budget_tenths;       /* of a thousandth, besides */
    uint64_t shed;                /* SBX_POINT_BIT() of the groups that are out */
};

/* Whose process it is, of those that fork from one another. */
struct sbx_family_entry {
    uint8_t id[16];             /* random, the first process's; zero where the role is NONE */
    uint8_t parent_session[16]; /* session_id of the process that forked it; zero: it was not recorded */
    uint32_t role;              /* enum sbx_family_role */
    uint32_t parent_pid;        /* local only; 0: none */
    uint32_t stalled_beside;    /* of a snapshot: others of the family that stalled at the same time */
    uint32_t reserved;
    uint64_t moment; /* of a snapshot: random, and the same for stalls of the family that overlapped; 0: none */
};

enum sbx_holder_kind {
    SBX_HOLDER_NONE = 0,
    SBX_HOLDER_MUTEX = 1,     /* it owns the process-shared mutex */
    SBX_HOLDER_FILE_LOCK = 2, /* it has the lock on the file */
    SBX_HOLDER_OTHER_END = 3, /* it has the other end of the pipe or socket */
    SBX_HOLDER_SEMAPHORE = 4, /* it was the last that changed the semaphore */
    SBX_HOLDER_HANDS = 5,     /* it took what they share, or let it go (capture/threads/shared_hands.h) */
    SBX_HOLDER_KINDS
};

/* Another process that a thread of this one waits for, or waited for a moment ago. Written by the watch thread, the newest in the
 * place of the oldest (agent/family/outside_holders.h). */
struct sbx_holder_entry {
    uint32_t thread;   /* index of the thread that waits */
    uint32_t pid, tid; /* the holder, in this pid namespace; tid 0: which of its threads is not known */
    uint32_t kind;     /* enum sbx_holder_kind; NONE: the place is free */
    uint64_t begin_ns; /* of the wait */
    uint64_t seen_ns;  /* when it was last seen to hold */
    uint64_t object;   /* of the wait */
};

/* A copy of the recording of another process of the family, behind the snapshot's own bytes (agent/snapshot/guest_copy.h). */
struct sbx_guest_entry {
    uint64_t at;    /* file offset, a multiple of 4096; 0: none */
    uint64_t bytes; /* whole */
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
    uint64_t process_start_ticks; /* field 22 of /proc/PID/stat: with pid and boot_id names one process */
    uint8_t boot_id[16];
    uint8_t session_id[16];  /* random, one a recording */
    uint8_t snapshot_id[16]; /* random, one a snapshot; becomes the payload id; zero in a live recording */
    uint64_t started_ns;     /* CLOCK_MONOTONIC */
    uint64_t started_real_s; /* CLOCK_REALTIME seconds; only its UTC day ever leaves */
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
    /* records made, by way; captures_sync is of threads that ended: those of the living are in their entries */
    uint64_t captures_sync, captures_async, captures_observed;
    uint64_t async_interval_ns; /* what the gap filler really achieved: moving mean of tick distances */
    uint32_t snapshots_made;
    uint32_t last_error;     /* errno of the last failed snapshot; 0: none */
    uint32_t hooked_slots;   /* GOT slots patched now; 0 when off */
    uint32_t async_signal;   /* signal number of the gap filler now; 0: off */
    uint32_t clock_source;   /* enum sbx_clock_source (capture/port/thread_clock.h): what times come from */
    uint32_t architecture;   /* enum sbx_architecture: of the code that was recorded; 0: not told */
    uint32_t crash_signals;  /* 1 << number of each fatal signal whose handler is ours now */
    uint32_t provider_count; /* entries in use, append only, release-stored */
    uint32_t signal_place;   /* enum sbx_signal_place: where the signals of our timers are made */
    struct sbx_provider_entry providers[SBX_PROVIDERS_MAX];
    char spool_path[SBX_PATH_MAX];      /* where snapshots go: raw/ below it; local only, never in a payload */
    char executable_path[SBX_PATH_MAX]; /* local only */
    struct sbx_section watches;
    uint32_t watch_count;       /* watches and deadlines open now, those that rest among them */
    uint32_t consent;           /* enum sbx_consent: may what is recorded be kept and sent */
    uint64_t consent_ns;        /* CLOCK_MONOTONIC since when it was given; nothing older may be kept */
    uint64_t epoch_begun_ns[2]; /* by half: when its epoch began. The epoch's byte in a callstack id comes round: a
                                     record older than this names a stack of an earlier epoch */
    struct sbx_crash crash;
    uint64_t pid_namespace; /* inode of /proc/self/ns/pid: in another one `pid` names somebody else; 0: not known */
    uint32_t owner_locked;  /* 1: the process holds a lock (flock) on this file as long as it lives */
    uint32_t reserved_owner;
    struct sbx_overhead overhead;
    struct sbx_pending pending;
    struct sbx_section kinds;
    struct sbx_told told[SBX_TOLD_MAX];
    char app_name[SBX_APP_NAME_MAX]; /* what `stallbox run --app` calls the application; "": not told. Local only */
    uint32_t app_version[3];         /* the same, major, minor, patch; all 0: not told */
    uint32_t scene;                  /* that the application is in, at the watch thread's last tick */
    struct sbx_family_entry family;
    struct sbx_runtime_entry runtimes[SBX_RUNTIMES_MAX];
    struct sbx_section tasks, queues;
    struct sbx_holder_entry holders[SBX_HOLDERS_MAX];
    struct sbx_guest_entry guests[SBX_GUESTS_MAX]; /* of a snapshot alone */
};
static_assert(sizeof(struct sbx_recording_header) <= 4096, "the header is one page");

/* A snapshot that the process could not write by itself, asked of its companion (agent/stalls/handover.h, tool/companion/handover_taker.h). The
 * watch thread fills it, bumps `request` and writes one byte of `wake` through a descriptor, which inotify(7) tells the
 * companion; that one bumps the bell when it has answered. Who reads it outside of the process believes nothing of it. */
struct sbx_handover {
    uint64_t key; /* the companion's (preload.h): whose recording this is; 0: nobody's */
    uint64_t
        roster; /* the companion's (agent/snapshot/roster.h), for who makes the snapshot of a dead process; 0: none */
    uint32_t request;        /* bumped by the watch thread when the rest is whole */
    uint32_t answer;         /* last request that was answered, by the companion; release-stored */
    uint32_t result;         /* 0, or errno of that answer */
    uint32_t error;          /* errno with which the process itself could not write it */
    uint64_t until_ns;       /* CLOCK_MONOTONIC: nobody waits for it any more */
    uint32_t made;           /* snapshots that the companion made */
    uint32_t wake;           /* its first byte is written, with what it holds */
    uint8_t snapshot_id[16]; /* of the snapshot that was made, by the companion, before `answer` */
    struct sbx_trigger_entry trigger;
};

/* What the user said, on its way to the agent: enum sbx_consent + 1, or one of two words more. */
enum sbx_consent_order {
    SBX_CONSENT_ORDER_NONE = 0,
    SBX_CONSENT_ORDER_UNKNOWN = 1,
    SBX_CONSENT_ORDER_GRANTED = 2,
    SBX_CONSENT_ORDER_DENIED = 3,
    SBX_CONSENT_ORDER_NOT_ASKED =
        4,                      /* as at a start without an answer: it is the application's own decision what that is */
    SBX_CONSENT_ORDER_READ = 5, /* read it in the spool */
};

/* The one door for settings: policy -> numbers -> here -> capture. Writers (the agent at start, the companion, ctl) fill
 * `wanted`, then add 1 to `generation` (release) and ring `bell`; the watch thread takes them over. */
struct sbx_control_page {
    uint32_t generation;       /* bumped by the writer after `wanted` is whole */
    uint32_t applied;          /* last generation the agent took over */
    uint32_t bell;             /* futex word (shared): bumped and woken to call the watch thread */
    uint32_t snapshot_request; /* bumped by ctl to ask for a manual snapshot */
    uint32_t snapshot_answer;  /* last request that was answered */
    uint32_t snapshot_result;  /* 0, or errno of that answer */
    uint32_t consent_order;    /* enum sbx_consent_order: taken by the watch thread, which puts it back to 0 */
    uint32_t reserved;
    uint64_t hooked_points; /* SBX_POINT_BIT() of the groups whose hooks are in now: written by the module thread */
    struct sbx_capture_settings wanted;
    struct sbx_capture_settings in_force; /* written by the agent: what is true now */
    struct sbx_handover handover;
    uint32_t
        look_request; /* bumped by another process of the family, which is about to tell what it waits for here (guest_look.h) */
    uint32_t look_answer; /* last request that was answered; release-stored */
    uint64_t looked_ns;   /* CLOCK_MONOTONIC: when all threads that sleep were last looked at for one; 0: never */
};
static_assert(sizeof(struct sbx_control_page) <= 4096, "the control page is one page");

enum sbx_module_flag {
    SBX_MODULE_MAIN = 1, /* the executable */
    SBX_MODULE_VDSO = 2,
    SBX_MODULE_AGENT = 4, /* our own library */
    SBX_MODULE_UNLOADED = 8,
    SBX_MODULE_NO_ROWS = 16,      /* no unwind data */
    SBX_MODULE_ROWS_CACHED = 32,  /* its rows are those of the cache on disk, found there or kept there */
    SBX_MODULE_ROWS_PENDING = 64, /* its rows are not there yet: walks end in it */
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

/* A sample that was taken again and again without anything new: what of it is not in the ring yet. The first sample of
 * a run is a record of its own at once; the looks that follow only move this on, and when the run ends, one record with
 * `repeats` tells of them. Who writes it makes `sequence` odd first and even afterwards (a seqlock, so that a snapshot
 * of the living and a recovery of the dead read it whole or not at all). */
struct sbx_repeat {
    uint32_t sequence;
    uint32_t stack;   /* callstack id; 0: no run is open */
    uint32_t repeats; /* looks since the first; 0: nothing to tell yet */
    uint8_t kind, op, fd_class, flags;
    uint64_t begin_ns, end_ns; /* first and last look */
    uint64_t cpu_ns;           /* at end */
    uint64_t alloc_count, alloc_bytes;
    uint64_t message, object, amount;
};

/* One thread. Its own words lie on lines of their own, the hottest together: an allocation touches one line. */
struct sbx_thread_entry {
    uint32_t state; /* enum sbx_thread_state */
    uint32_t tid;
    uint32_t
        generation; /* number of its thread's life, never 0 once taken: another for each thread of the process, and the same
                                wherever that thread sits */
    uint32_t flags; /* enum sbx_thread_flag */
    char name[16];  /* as the kernel has it; local only */
    uint64_t born_ns;
    uint64_t died_ns;
    uint64_t away_ns;       /* when its thread gave it back for the time of a wait; 0: it sits there, or has ended */
    uint32_t starter_stack; /* callstack id of who started the thread; 0: not known. Carried into each new epoch */
    uint32_t starter_tid;
    /* written by the thread itself from here */
    uint64_t alloc_count; /* exact since registration, recorded or not */
    uint64_t alloc_bytes; /* the same, and what a runtime's own heap gave it as far as it was asked (providers.h) */
    uint64_t free_count;
    int64_t countdown;         /* leaf calls left until the clock is asked whether a sample is due */
    uint64_t message;          /* sequence number of the message it is in or was last in; 0: no loop seen */
    uint64_t message_begin_ns; /* 0: no message is open */
    uint64_t map_count;        /* mmap and munmap calls */
    uint64_t map_bytes;        /* bytes mapped by them */
    uint64_t call_begin_ns;    /* entry time of the blocking call it is in */
    uint32_t call_kind;        /* enum sbx_record_kind of that call; 0: none */
    uint32_t call_op;          /* enum sbx_op of that call */
    uint64_t call_object;      /* lock or wait object's address, or descriptor + 1 */
    uint32_t call_peer;        /* tid of the holder seen when the call began; 0: unknown */
    uint32_t last_stack;       /* callstack id of its newest record */
    uint64_t last_record_ns;   /* end of its newest record */
    uint64_t last_cpu_ns;      /* its CPU time then */
    uint32_t call_wait;        /* wait id of that call; 0: none */
    uint32_t reserved_call;
    uint64_t captures;       /* samples and waits it recorded of itself */
    struct sbx_repeat own;   /* the thread's samples of itself */
    uint32_t run_generation; /* in a copy: generation and tid of the entry when its runs were copied; 0: as above */
    uint32_t run_tid;
    uint64_t reserved_own[5];
    struct sbx_repeat observed; /* the watch thread's looks at it: written by that thread only */
    uint64_t reserved_observed[6];
};
static_assert(sizeof(struct sbx_repeat) == 80, "no padding");
static_assert(sizeof(struct sbx_thread_entry) == 448, "seven cache lines a thread");

/* A watch or a deadline: something that must happen by begin + timeout. Any thread takes a free entry, keeps it and gives
 * it back, each by one compare-and-swap of `word` (agent/stalls/watch_table.h); the watch thread looks at the times. Two cache
 * lines: what a beat touches lies on the first. */
struct sbx_watch_entry {
    uint64_t word;     /* generation << 8 | enum sbx_watch_state; the generation is 0 until it is first used */
    uint64_t begin_ns; /* CLOCK_MONOTONIC: when it was begun, or the newest beat */
    uint64_t end_ns;   /* LATE: when it was kept; of a watch: the beat that ended the silence that was told */
    uint32_t kind;     /* enum sbx_watch_kind */
    uint32_t timeout_ms;
    uint32_t thread; /* index of the thread that began it or beat last; UINT32_MAX: not known */
    uint32_t thread_generation;
    uint64_t what;          /* its name as a number: FNV-1a, 64 bits */
    uint64_t told_begin_ns; /* of a watch: begin_ns of the silence that was told; 0: none was */
    uint64_t beats;
    char name[SBX_WATCH_NAME_MAX]; /* local only */
    uint64_t opened_ns;
    uint64_t reserved;
};
static_assert(sizeof(struct sbx_watch_entry) == 128, "two cache lines");

/* A task that somebody queued and that has not ended yet (capture/calls/task.h). Whoever queues it takes the entry from FREE
 * to FILLING, fills it in, and stores QUEUED with release; who runs it exchanges that for RUNNING, and RUNNING for FREE at its
 * end. A copy of an entry counts only where `word` did not change meanwhile. */
enum sbx_task_state {
    SBX_TASK_FREE = 0,
    SBX_TASK_FILLING = 1,
    SBX_TASK_QUEUED = 2,
    SBX_TASK_RUNNING = 3
};

struct sbx_task_entry {
    uint64_t word;            /* id of the hop << 8 | enum sbx_task_state */
    uint64_t queue;           /* number of its queue: an address, mostly */
    uint64_t queued_ns;       /* CLOCK_MONOTONIC, as all times */
    uint64_t begun_ns;        /* RUNNING: when it began */
    uint64_t message;         /* of the thread that queued it, in which it did; 0: in none */
    uint32_t stack;           /* callstack id of who queued it; the watch thread carries it into each new epoch */
    uint32_t tid;             /* and its thread */
    uint32_t runner;          /* RUNNING: thread that runs it */
    uint32_t before;          /* how many lay in the queue */
    uint8_t op, flags, group; /* enum sbx_op: how it was queued; SBX_FLAG_MERGED; enum sbx_point_group */
    uint8_t queue_at;         /* its queue's place among the queues; without meaning where it lies in none */
    uint8_t reserved[4];
};
static_assert(sizeof(struct sbx_task_entry) == 64,
              "one cache line, which goes from the thread that queues to the one that runs");

/* What came into a queue and out of it, whether the tasks were followed or not. An entry is taken by storing `queue`, and belongs to it until
 * its points say that it has ended, or until it has rested with nothing in it and another queue needs the entry. */
struct sbx_queue_window {
    uint32_t number; /* time >> SBX_QUEUE_WINDOW_SHIFT */
    uint32_t queued,
        begun; /* the totals when the first came or went in it, in their low 32 bits: its counts are what they grew by since */
    uint32_t reserved;
};

/* Three parts, each written by others: who queues, who takes out, and hardly anybody. So the two sides take no line from each other, but for
 * who queues, to see how many lie there. Processors fetch lines in pairs: none of the two lines is in one pair with another's. */
struct sbx_queue_entry {
    uint64_t queue; /* 0: free; all ones: being given to a queue */
    uint32_t op;    /* enum sbx_op by which tasks come into it */
    uint32_t turn;  /* how many queues have had the entry, this one among them: ids of counted tasks have it */
    struct sbx_queue_window windows[SBX_QUEUE_WINDOWS];
    uint64_t unused[6];
    uint64_t queued; /* since the first; what lies there now is this less the two below */
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

/* What the application calls the messages of a kind; the kind is the index. The first name stays: who takes `state` from
 * FREE to FILLING writes it, then stores SET with release. */
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

/* Samples and waits that the application's threads recorded of themselves. `header` heads a whole recording that may be
 * live: a number for people. */
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
