/* SPDX-License-Identifier: Apache-2.0 */
/* stallbox.h - the public interface of libstallbox: a flight recorder for stalls inside your application.
 *
 * Start it once; nothing more is necessary:
 *
 *     #include <stallbox/stallbox.h>
 *     int main(void) { stallbox_start(NULL); ... }
 *
 * From then on the call stacks of all threads go into a fixed-size recording. When the application does not respond in
 * time, the seconds *before* that are kept as a file in SPOOL/raw. `stallbox deliver` (or `stallbox run`) encodes,
 * redacts and uploads it. An application that cannot be changed is run as `stallbox run -- ./application`: the same
 * library, preloaded.
 *
 * WHAT IS NOTICED WITHOUT ANOTHER CALL
 *
 *   anr           the main thread's loop has not come back to its poll, epoll_wait or select for anr_ms
 *   slow_message  it came back, after slow_message_ms or more
 *   slow_frame    a thread took slow_frame_ms between two presents (SDL, EGL, GLX, Vulkan), or dropped more than a
 *                 quarter of its last 32 frames
 *   killed        the process died in the middle of one of these (the next `stallbox run` or `deliver` finds it)
 *
 * WHAT A FEW CALLS ADD
 *
 *   messages   stallbox_message_begin(kind); handle(); stallbox_message_end();
 *              for a loop that does not poll, and for loops of other threads: slow_message and anr for them too
 *   frames     stallbox_frame_begin(); draw(); stallbox_frame_end();
 *              for a renderer whose presents are not known: slow_frame
 *   deadlines  id = stallbox_deadline_begin("save", 2000); ... stallbox_deadline_end(id);
 *              work that has to be done by a certain time, by any thread; many may run at once: deadline
 *   watches    id = stallbox_watch_open("worker", 5000); for (;;) { stallbox_watch_rest(id); job = wait_for_job();
 *              stallbox_watch_beat(id); work(job); }
 *              a thread that has to show that it is alive: watchdog
 *   tasks      id = stallbox_task_queued(); ... stallbox_task_begin(id); work(); stallbox_task_end(id);
 *              work that one thread queues and another runs: a report of slow work names the queuing function
 *   by hand    stallbox_snapshot(1000): manual
 *
 * Every function here may be called from any thread, unless its comment says otherwise. All are harmless before the
 * start and after the stop: messages, frames, deadlines, watches and tasks then cost one predictable branch. None of
 * these five allocates, takes a lock or waits. When the recorder rests because the application rests, the first of
 * these calls wakes it (one system call). Their tables have a fixed size: entries that do not fit are counted, and not
 * checked.
 *
 * The library links nothing but libc, starts two threads, and never calls exit, abort or printf. It takes no part in
 * C++ exceptions. What a longjmp() or an exception leaves open stays open until the next begin or end of that thread,
 * so put the ends where your cleanup is. All functions keep errno, except stallbox_start(), stallbox_stop(),
 * stallbox_snapshot(), stallbox_snapshot_after() and stallbox_set_consent().
 *
 * NAMES AND NUMBERS THAT YOU GIVE. The name of a deadline or a watch stays on this machine. A payload has 40 bits of
 * its FNV-1a hash instead. `stallbox report` prints the name if it finds it in the spool beside the payload. Message
 * kinds are small numbers, which leave the machine as they are; their names stay, and are printed in the same way. Use
 * no personal data in any of them.
 *
 * VERSIONS. Structs begin with their size, so that they may grow: a program that was compiled against an older or a
 * newer header works. Symbols are versioned (STALLBOX_0.1). Numbers of enumerations are fixed; new ones are appended.
 * Usable from C99, C11, C17 and C++. */
#ifndef STALLBOX_H
#define STALLBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STALLBOX_VERSION_STRING "0.1.0"

#if defined(__GNUC__)
#define STALLBOX_EXPORT __attribute__((visibility("default")))
#else
#define STALLBOX_EXPORT
#endif

/* ---- life ---- */

/* The result of a call. Numbers are fixed; new ones are appended. */
enum stallbox_result {
    STALLBOX_OK = 0,
    STALLBOX_NOT_RUNNING = 1,     /* no recorder is running in this process, or it is switched off */
    STALLBOX_ALREADY_RUNNING = 2, /* it was started before, perhaps by `stallbox run`; that recorder stays */
    STALLBOX_BAD_ARGUMENT = 3,    /* an option is out of range, or the struct's size is not known */
    STALLBOX_NO_MEMORY = 4,
    STALLBOX_TIMED_OUT = 5,
    STALLBOX_DECLINED = 6,    /* switched off: STALLBOX_DISABLE is set, or the process runs set-user-id */
    STALLBOX_UNSUPPORTED = 7, /* this kernel or C library lacks something that the recorder needs */
    STALLBOX_IO_FAILED = 8,   /* the recording or the spool could not be created */
    STALLBOX_NO_CONSENT = 9   /* the user has not agreed: nothing was kept */
};

/* A limit that is never reached: the trigger is off. */
#define STALLBOX_OFF UINT32_MAX

/* How to start. Zero the struct, set sizeof_options, then set what should differ from the default. Zero means the default. */
struct stallbox_options {
    size_t sizeof_options;      /* sizeof(struct stallbox_options) */
    const char *spool_path;     /* borrowed until return. Default: $XDG_STATE_HOME/stallbox/spool, else
                                   ~/.local/state/stallbox/spool */
    const char *recording_path; /* folder of the recording file; borrowed until return. Default: /dev/shm/stallbox-UID;
                                   if other users can write there, another place. A folder given here that other
                                   users can write to is refused: STALLBOX_IO_FAILED */
    uint32_t anr_ms;            /* a message that is open for so long fires `anr`; 100..600000, default 5000 */
    uint32_t
        slow_message_ms;  /* a message that took so long fires `slow_message` when it ends; 10..600000, default 1000 */
    uint32_t interval_us; /* a thread takes at most one sample in this time; 1000..1000000, default 1000 */
    uint32_t slow_frame_ms;    /* a frame that took so long fires `slow_frame`; 10..60000, default 700, Android's
                                   "frozen frame". Off: bursts are off too */
    uint32_t after_ms;         /* recording goes on for so long after a trigger before the snapshot: at most 10000,
                                   default 0. A process that exits meanwhile does not wait for the rest */
    uint32_t consent_required; /* 1: nothing is kept before stallbox_set_consent(STALLBOX_CONSENT_GRANTED), in this
                                   run or one before with the same spool. 0: you have another basis to record */
    uint32_t leave_crashes;    /* 1: no handler for fatal signals, and no snapshot of a crash. By default the recorder
                                   installs a handler for each of SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS and
                                   SIGTRAP that has the default action. The handler records the stack and lets the
                                   signal end the process as usual. A handler of yours, installed before or after, is
                                   never touched */
    uint32_t max_cpu_permille; /* recording may cost so many thousandths of the application's CPU time; 1..50, default
                                   5. Above that, the recorder takes samples less often and removes capture points
                                   (docs/GOVERNOR.md) */
    uint32_t recording_kib;    /* size of the recording's ring; 1024..65536, default 4096 */
    uint32_t leave_forks;      /* 1: children of fork() are not recorded. By default a child that calls no exec is
                                   recorded, in a recording of its own, from its first wait or its first 5 ms of work
                                   on, or from the moment when it drops privileges */
    const char *app_name;      /* name of the application, the same in all its versions: up to 47 bytes without
                                   control characters; borrowed until return. A payload has a number instead, 40 bits of
                                   its hash; the name stays on this machine. Default: the executable's file name. The
                                   name that `stallbox run --app` gave is kept */
    uint32_t app_version[3];   /* its version: 1.4.2 is {1, 4, 2}; each up to 999999. It leaves the machine. All 0: not
                                   given, and then a server cannot tell versions apart */
    uint32_t max_cpu_tenths; /* tenths of a thousandth, added to max_cpu_permille if that is not 0; 0..9. 2 and 5 are a
                                quarter of one per cent */
};

/* Start recording. `options` is copied and may be NULL for the defaults. The call takes some milliseconds.
 * Returns STALLBOX_OK, or the reason why nothing is recorded; the application goes on unharmed in every case. A recorder
 * that was stopped cannot be started again in the same process (STALLBOX_UNSUPPORTED). In a forked child of a recorded
 * process it starts the child's recorder now, with its parent's options; STALLBOX_UNSUPPORTED if children are not
 * recorded, or too many are. Not from a signal handler. */
STALLBOX_EXPORT enum stallbox_result stallbox_start(const struct stallbox_options *options);

/* Stop: remove every hook, stop the recorder's threads and remove the recording. What is in the spool stays. Waits for a
 * snapshot that is being written, at most `timeout_ms`; STALLBOX_TIMED_OUT: it was not finished. Not from a signal handler. */
STALLBOX_EXPORT enum stallbox_result stallbox_stop(uint32_t timeout_ms);

/* Say whether a recorder is running in this process. May be called from a signal handler. */
STALLBOX_EXPORT bool stallbox_is_running(void);

/* ---- by hand ---- */

/* Save the recent past now, as a snapshot of kind `manual`. Waits until it is durable, at most `timeout_ms`. With 0 the
 * call returns at once, and the snapshot is made later. Two manual snapshots within a second are one: the second call
 * returns STALLBOX_OK and saves nothing. STALLBOX_IO_FAILED when the spool could not be written. Not from a signal
 * handler. */
STALLBOX_EXPORT enum stallbox_result stallbox_snapshot(uint32_t timeout_ms);

/* The same, but recording goes on for `after_ms` (at most 60000) first, because what followed often explains the stall. The
 * stacks of all threads are taken at once. `timeout_ms` counts from the call on and should be longer than `after_ms`. */
STALLBOX_EXPORT enum stallbox_result stallbox_snapshot_after(uint32_t timeout_ms, uint32_t after_ms);

/* ---- messages ---- */

/* The calling thread begins to handle a message, and has handled it. `kind` is a number of your own, 1 to 223, for
 * messages of one sort; reports show it. 0 or a larger number: none.
 *
 * A message that is begun inside another one is part of that one, also if the outer one is that of the main thread's poll
 * loop: the outermost counts. An end without its begin does nothing. Not from a signal handler. */
STALLBOX_EXPORT void stallbox_message_begin(uint32_t kind);
STALLBOX_EXPORT void stallbox_message_end(void);

/* Give the messages of a kind (1 to 223) a name. `name` is borrowed until return, is copied up to 47 bytes, and stays on
 * this machine (see above). Call it after the start, once for each kind: the first name is kept, and calls before the start
 * or for the second time do nothing. A forked child has the names that its parent gave before the fork. From any thread; not
 * from a signal handler. */
STALLBOX_EXPORT void stallbox_message_name(uint32_t kind, const char *name);

/* ---- the scene ---- */

/* Set the scene: the page, dialog or state that the application shows, as a number of its own, 1 to 255. 0 or a larger
 * number: none. It holds for the whole process until another one is set. A snapshot has the scene at its trigger. It leaves
 * the machine: number the sorts of pages, and use no number that tells one document or person from another. A scene that is
 * set before the start is kept for the start. A forked process begins with its parent's. One store: from any thread and any
 * signal handler. */
STALLBOX_EXPORT void stallbox_set_scene(uint32_t scene);

/* Give a scene (1 to 255) a name, as stallbox_message_name() does. */
STALLBOX_EXPORT void stallbox_scene_name(uint32_t scene, const char *name);

/* ---- frames ---- */

/* The calling thread begins a frame, and has finished it (after its present). From the first call on, this thread's frames
 * lie between these two calls, and its presents are not looked at. A frame that is open for anr_ms fires before it
 * ends. A frame that is begun inside another one is part of that one. Not from a signal handler. */
STALLBOX_EXPORT void stallbox_frame_begin(void);
STALLBOX_EXPORT void stallbox_frame_end(void);

/* ---- deadlines ---- */

/* Promise that `what` is done within `timeout_ms` (1..86400000). Returns an id to end it with. Returns 0 if the recorder
 * does not run, the timeout is out of range, or 256 watches and deadlines are open already (counted as dropped). 0 may be
 * ended like any other id, and nothing happens. `what` may be NULL, is borrowed until return, and stays on this machine (see
 * above). If the deadline is missed, the thread that began it is judged. */
STALLBOX_EXPORT uint64_t stallbox_deadline_begin(const char *what, uint32_t timeout_ms);

/* The work is done. From any thread, once: later calls do nothing. A deadline that is ended too late fires too. A deadline
 * that is still open when it fires is reported again, with its whole length, when it is ended. At most eight missed deadlines
 * that are never ended are remembered. */
STALLBOX_EXPORT void stallbox_deadline_end(uint64_t id);

/* ---- watches ---- */

/* Watch the calling thread: from now on it has to beat at least every `timeout_ms` (1..86400000), or to rest. Returns an id,
 * or 0 as stallbox_deadline_begin() does. The thread that beats is the watched one, so a watch may be opened for another
 * thread. */
STALLBOX_EXPORT uint64_t stallbox_watch_open(const char *what, uint32_t timeout_ms);

/* The calling thread is alive and at work. This costs about as much as reading the clock, and ends a rest. A silence fires
 * once; the next beat begins anew. */
STALLBOX_EXPORT void stallbox_watch_beat(uint64_t id);

/* The thread has nothing to do: it is not judged until its next beat. Call it before every wait for work. A thread that
 * waits without this call causes a false alarm. */
STALLBOX_EXPORT void stallbox_watch_rest(uint64_t id);

/* End the watch. A watch whose thread has ended is closed automatically. */
STALLBOX_EXPORT void stallbox_watch_close(uint64_t id);

/* ---- tasks ----
 *
 * Work that changes hands: one thread puts it into a queue, another takes it out and runs it. A report of slow work then
 * names the function that queued it, how long before, and how many tasks lay before it. The queues of several libraries
 * (GLib, Qt, libuv, libevent and others: docs/CAPTURE_POINTS.md) are known without these calls. */

/* The calling thread queues a task: call it just before the task is put into its queue. Keep the id with the task. `queue` is
 * any address that stands for the queue. It is used as a number only; an ordinal of it leaves the machine. NULL: the one
 * queue without a name, which stallbox_task_queued() uses too. Returns 0 if the recorder does not run. 0 may be begun, ended
 * and cancelled like any other id, and nothing happens. At most some 2,000 tasks are followed at a time, and one in 4 us of a
 * thread, with bursts of 64; the others are counted. Any thread; not from a signal handler. */
STALLBOX_EXPORT uint64_t stallbox_task_queued(void);
STALLBOX_EXPORT uint64_t stallbox_task_queued_in(const void *queue);

/* The calling thread begins to run the task, and has run it. Tasks may lie one inside another (a nested loop). An end also
 * ends the tasks that were begun inside of it. So does the next begin from the same place of the stack, which ends a task that
 * was left by an exception or by longjmp(). The thread that begins a task should end it: an end from another thread is noted,
 * but not reported. Not from a signal handler. */
STALLBOX_EXPORT void stallbox_task_begin(uint64_t id);
STALLBOX_EXPORT void stallbox_task_end(uint64_t id);

/* The task was taken out of its queue and will never run. A task that is never begun, ended or cancelled counts as forgotten
 * after a minute, when its place is needed. Any thread; not from a signal handler. */
STALLBOX_EXPORT void stallbox_task_cancelled(uint64_t id);

/* ---- consent ---- */

/* The user's answer about recording and sending. */
enum stallbox_consent {
    STALLBOX_CONSENT_UNKNOWN = 0, /* not asked yet: recorded in memory only, nothing is written to the spool */
    STALLBOX_CONSENT_GRANTED = 1, /* what is recorded from now on may be kept and sent; nothing older may */
    STALLBOX_CONSENT_DENIED =
        2 /* every hook is removed, nothing is recorded, older records are overwritten, and what waits in
                                     the spool is deleted */
};

/* Set the user's answer. It is stored in the spool (the file SPOOL/consent), for later runs and for every process that
 * delivers from it: nothing is sent from a spool whose user said no. Data that was sent before is deleted on the server: the
 * process that delivers from the spool asks for this until it is done (docs/PRIVACY.md). The user may also answer elsewhere
 * (`stallbox consent`). That takes effect here too, and stallbox_read_counts() returns the answer in force.
 *
 * Returns STALLBOX_OK when the answer is in force and durable; STALLBOX_NOT_RUNNING before the start; STALLBOX_IO_FAILED if it
 * could not be stored, and is in force for this run only; STALLBOX_TIMED_OUT if it is still being stored. The recorder's
 * thread writes a file, and the call waits for it: not from a signal handler. */
STALLBOX_EXPORT enum stallbox_result stallbox_set_consent(enum stallbox_consent consent);

/* ---- when to send ---- */

/* What a policy may wait for before payloads are sent (docs/POLICY.md, upload_conditions). */
enum stallbox_condition {
    STALLBOX_UNMETERED = 1, /* the network is not paid by the byte */
    STALLBOX_CHARGING = 2,  /* the machine does not run on a battery */
    STALLBOX_IDLE = 4       /* no user works at the machine now */
};

/* Set which conditions hold now, as an or of enum stallbox_condition; those left out do not hold. Call it again whenever that
 * changes, from the callbacks that your platform has for it. While this process lives, its conditions replace what the
 * companion finds out itself (STALLBOX_CONDITIONS, the power supplies). If several processes share a spool, the last call
 * counts.
 *
 * Returns STALLBOX_NOT_RUNNING before the start; STALLBOX_BAD_ARGUMENT for other bits; STALLBOX_IO_FAILED if it could not be
 * stored; STALLBOX_TIMED_OUT if the recorder's thread was busy for two seconds, which stores it as soon as it can. It is a
 * small file, which is not synced. The recorder's thread writes it, so a sandbox of yours need not allow that. Any thread, not
 * from a signal handler. */
STALLBOX_EXPORT enum stallbox_result stallbox_set_conditions(uint32_t conditions);

/* ---- numbers ---- */

/* Running totals since the start. Zero the struct and set sizeof_counts; fields beyond it are not written. */
struct stallbox_counts {
    size_t sizeof_counts;
    uint64_t captures_sync;     /* records made by the threads themselves, at capture points */
    uint64_t captures_async;    /* samples of running threads taken by signal */
    uint64_t captures_observed; /* samples of blocked threads read from outside */
    uint64_t messages;          /* messages of all living threads */
    uint64_t snapshots;         /* snapshots written */
    uint64_t dropped;           /* everything lost, of every kind; `stallbox ctl PID status` prints the kinds */
    uint64_t frames;            /* frames of all living threads */
    uint64_t watches;           /* watches and deadlines open now */
    uint64_t watches_dropped;   /* watches and deadlines that found no room */
    uint64_t triggers_dropped;  /* triggers that kept nothing: too soon after another, or without consent */
    uint64_t snapshots_failed;  /* snapshots that could not be written */
    uint64_t consent;           /* enum stallbox_consent */
};

/* Copy the running counts, up to counts->sizeof_counts. May be called from a signal handler. */
STALLBOX_EXPORT enum stallbox_result stallbox_read_counts(struct stallbox_counts *counts);

/* ---- logical frames of an embedded runtime ----
 *
 * A runtime that interprets or compiles a language of its own has functions that no native stack shows. A runtime that is
 * registered here is asked for them wherever one of its threads records itself. Only numbers are recorded and may leave the
 * machine: a 64-bit id for each function (stallbox_function_id() makes one from its place in the source) and a line. Names
 * come from a file beside the symbols when a report is made. docs/PROVIDERS.md has the design, examples/lua a provider for
 * Lua. */

/* A registered runtime; never freed. */
struct stallbox_provider;

enum stallbox_provider_flag {
    /* `walk` may be called in a signal handler, at any instruction of the runtime. Without this flag `walk` is called only
     * in the middle of the thread's own calls of libc (malloc, read, pthread_mutex_lock ...), never below a handler. */
    STALLBOX_PROVIDER_SIGNAL_SAFE = 1,
    /* The runtime calls stallbox_provider_poll() wherever it can be asked, or soon after `want`. */
    STALLBOX_PROVIDER_SAFEPOINTS = 2
};

/* `walk` returns this when the runtime is in an inconsistent state: the sample is then taken at the next safepoint. */
#define STALLBOX_PROVIDER_NOT_NOW SIZE_MAX

/* In `lines` of a walk: this frame is the outermost one of a native entry into the runtime. A report then shows native
 * and logical frames in the order of their calls, run by run: the first run on the innermost entry, and so on. Native
 * entries are frames in `code` (each frame; for a whole module, adjacent frames are one entry) or in generated code. */
#define STALLBOX_PROVIDER_BORDER (UINT32_C(1) << 31)

/* Where the calling thread was interrupted by the recorder's signal. */
struct stallbox_interrupted {
    uint64_t pc, sp, fp;
    const uint64_t *registers; /* all, as in uc_mcontext (x86-64: gregs, aarch64: regs); borrowed */
};

enum stallbox_code_flag {
    STALLBOX_CODE_EXACT = 1, /* pc was interrupted; otherwise it is a return address */
    STALLBOX_CODE_FP = 2     /* fp is known */
};

/* One frame of generated code. `step` changes it into the frame of its caller, including the flags. */
struct stallbox_code_frame {
    uint64_t pc, sp, fp;
    uint64_t stack_low,
        stack_high;      /* what may be read of the stack: [low, high), each word at its address + stack_delta */
    int64_t stack_delta; /* not 0: it is another thread, and this is a copy */
    uint32_t flags;      /* enum stallbox_code_flag */
};

/* How work was queued that the runtime will run later. The names come from asyncio and JavaScript. */
enum stallbox_work {
    STALLBOX_WORK_CALL_SOON = 1,   /* a callback, as soon as the loop comes to it */
    STALLBOX_WORK_CALL_LATER = 2,  /* a callback, at a set time */
    STALLBOX_WORK_CREATE_TASK = 3, /* a coroutine, which becomes a task of its own */
    STALLBOX_WORK_TO_THREAD = 4,   /* a call, by a thread of a pool, awaited in the loop */
    STALLBOX_WORK_SUBMIT = 5,      /* a call, by a thread of a pool (concurrent.futures) */
    STALLBOX_WORK_SET_TIMEOUT = 6, /* a function, at a set time */
    STALLBOX_WORK_SET_INTERVAL = 7 /* the same repeatedly: the item keeps its number */
};

/* Work items that a runtime numbers itself. An item has one number in its queue, which is never 0 and is never used
 * again. */
struct stallbox_queued_work {
    uint64_t queue, item;
    uint32_t work; /* enum stallbox_work */
};

struct stallbox_running_work {
    uint64_t queue, item;
    uint64_t queued_in; /* the item that ran when this one was queued; 0: none, or unknown */
};

/* Zero the struct, set sizeof_options, name and walk or walk_at, then all other members that apply. A provider that was
 * compiled against an older header has a smaller struct, and still works. */
struct stallbox_provider_options {
    size_t sizeof_options; /* sizeof(struct stallbox_provider_options) */
    const char *name;      /* copied: 1 to 23 of a-z 0-9 - _ . */
    /* Report the logical stack of the calling thread, to which `context` belongs (stallbox_provider_enter()). Frame
     * number 0 is the innermost. Write the frames from number `first` on, at most `max`, into `functions` (ids; 0:
     * unknown) and `lines` (0: unknown). Return the total number of frames, or STALLBOX_PROVIDER_NOT_NOW. Called twice
     * for stacks deeper than 128. Must not allocate, lock, wait, or be left by longjmp or an exception, and must keep
     * errno. Its calls of libc are not recorded. */
    size_t (*walk)(void *context, size_t first, uint64_t *functions, uint32_t *lines, size_t max);
    /* Ask the runtime for a safepoint soon. Called in a signal handler on the thread to which `context` belongs; may be
     * NULL. */
    void (*want)(void *context);
    /* The code of the interpreter's loop: logical frames are shown on top of the innermost native frame in it. With 0
     * bytes: the whole module in which `code` lies. NULL: unknown, and logical frames are shown at the leaf. */
    const void *code;
    size_t code_bytes;
    uint32_t flags; /* enum stallbox_provider_flag */
    /* Return the calling thread's context, or NULL if the thread does not run the runtime. Called at each capture of a
     * thread that has set no context with stallbox_provider_enter(). It must be signal safe, as with SIGNAL_SAFE. May
     * be NULL. */
    void *(*resolve)(void);
    /* Like walk, which may then be NULL. `interrupted` (borrowed) says where a signal interrupted the thread; it is
     * NULL in the middle of the thread's own calls. Before structures that may be incomplete are read, they must be
     * checked with stallbox_provider_can_read(). */
    size_t (*walk_at)(void *context, const struct stallbox_interrupted *interrupted, size_t first, uint64_t *functions,
                      uint32_t *lines, size_t max);
    /* Unwind one frame of code in the ranges of stallbox_provider_add_code(): the native walk continues at the caller.
     * Return 0 if this is impossible: then the frame pointer is used. Also called by a thread of the recorder for
     * another thread, so it must not use state of the calling thread. The same rules as for walk, also in signal
     * handlers. May be NULL. */
    int (*step)(struct stallbox_code_frame *frame);
    /* The calling thread, to which `context` belongs, is about to wait for a condition, a semaphore or a futex. Return
     * the kernel's thread id of the holder; 0: there is no holder, or it is unknown. The same rules as for walk. May be
     * NULL. */
    uint32_t (*holder)(void *context);
    /* A thread begins to wait for the condition variable (pthread_cond_t) at `condition`. Does the runtime wait for one
     * of its own locks in this way? Then the wait is reported as a wait for a lock: return the holder's thread id; 0:
     * there is no holder, or it is unknown; -1: this is another condition. Called at every such wait of every thread,
     * so it must be quick. Other rules as for resolve. May be NULL. */
    int (*lock_holder)(const void *condition);
    /* Report the functions that await the task which the calling thread, to which `context` belongs, runs. These
     * functions are suspended until the task ends, as coroutines are. The order is from the awaiting function outwards.
     * They are written and marked as by walk_at (the border is the outermost function of each task), at most `max`;
     * return the total number. Called in the middle of long messages, and of calls that may block. The same rules as
     * for walk_at. May be NULL. */
    size_t (*awaited_by)(void *context, const struct stallbox_interrupted *interrupted, uint64_t *functions,
                         uint32_t *lines, size_t max);
    /* For a runtime that calls no function of libc but a clock when it queues work: the native code that calls
     * clock_gettime() then, and perhaps at other times. NULL: there is none. */
    const void *queuing_code;
    size_t queuing_code_bytes;
    /* The calling thread, to which `context` belongs, has read the clock in queuing_code. Does it queue work at this
     * moment? 1: yes, and *work_out describes it; 0: no. Called some thousand times a second at most, never in a signal
     * handler. Other rules as for walk. May be NULL. */
    int (*queues)(void *context, struct stallbox_queued_work *work_out);
    /* Which item of queued work does the calling thread, to which `context` belongs, run? 1: *work_out describes it; 0:
     * none, or it is unknown. Called at each capture; the same rules as for walk_at. May be NULL. */
    int (*runs)(void *context, const struct stallbox_interrupted *interrupted, struct stallbox_running_work *work_out);
    /* How many bytes has the calling thread, to which `context` belongs, allocated in the runtime's own heap since it
     * began? They count as allocations of the thread, in addition to those of malloc(). 0: unknown. Called at each
     * capture; the same rules as for walk_at. May be NULL. */
    uint64_t (*allocated)(void *context);
    /* How many frames of compiled code has the runtime deoptimized since it began, to continue in its interpreter? How
     * many compilations has it begun? These are totals of the process that only grow. Called some times a second while
     * a message is open, by a thread of the recorder, never in a signal handler. May be NULL. */
    void (*deoptimized)(uint64_t *frames_out, uint64_t *compilations_out);
};

/* Register a runtime, before or after stallbox_start(), once in each process. It stays registered, so its code must
 * stay loaded. At most four. `options` is copied; *provider_out is set on success. STALLBOX_BAD_ARGUMENT, or
 * STALLBOX_NO_MEMORY for a fifth. Any thread; not in a signal handler. */
STALLBOX_EXPORT enum stallbox_result stallbox_provider_register(const struct stallbox_provider_options *options,
                                                                struct stallbox_provider **provider_out);

/* From now on the calling thread runs in the runtime: `walk` gets `context`, which must stay valid until the leave.
 * Returns the thread's former context, or NULL when it was not in the runtime; pass it to stallbox_provider_leave().
 * Calls nest, and an outer leave also ends an inner enter whose leave was skipped. A few instructions; any thread, also
 * in a signal handler. With a NULL provider (when registering failed) both do nothing. */
STALLBOX_EXPORT void *stallbox_provider_enter(struct stallbox_provider *provider, void *context);
STALLBOX_EXPORT void stallbox_provider_leave(struct stallbox_provider *provider, void *former);

/* A safepoint: the calling thread's logical stack can be walked now. Records a sample if one is wanted; otherwise it
 * costs two loads. Any thread; not in a signal handler. */
STALLBOX_EXPORT void stallbox_provider_poll(void);

/* The runtime generates code in [begin, end), now or later. This cannot be undone. At most eight ranges a process. Any thread, one at a
 * time; not in a signal handler. STALLBOX_BAD_ARGUMENT, or STALLBOX_NO_MEMORY for a ninth. */
STALLBOX_EXPORT enum stallbox_result stallbox_provider_add_code(struct stallbox_provider *provider, const void *begin,
                                                                const void *end);

/* Names for the file provider-NAME.map, which a thread of the recorder writes beside the spool's list of modules: a function's
 * id, the line and file of its definition, and its name (UTF-8, copied, cut to 200 and 96 bytes). Call it when an id is made,
 * also from walk. Returns 1, or 0 if there is no room now: then call it again the next time. Signal safe. */
STALLBOX_EXPORT int stallbox_provider_tell_name(struct stallbox_provider *provider, uint64_t function, uint32_t line,
                                                const char *source, size_t source_bytes, const char *name,
                                                size_t name_bytes);

/* May `bytes` (at most 4096) at `at` be read? 1 or 0. The kernel is asked (100 ns). Its answer is kept for one walk, or for
 * one question about a holder. No handler of faults is touched. For pointers that may be stale or half written. Signal safe. */
STALLBOX_EXPORT int stallbox_provider_can_read(const void *at, size_t bytes);

/* For providers whose runtime has a queue of its own. Any thread; not in a signal handler.
 *
 * stallbox_provider_work_queued(): the calling thread puts work into the queue now, and its stack shows which function
 * queues it. `queue` is an address that stands for the queue, in which the work is counted; NULL: none. Returns the id
 * of a task, for stallbox_task_begin(), _end() and _cancelled(); 0: the work is not followed.
 *
 * stallbox_provider_work_passed_on(): the runtime queues work for the function that queued the task `id`, which the
 * calling thread runs. That function, at that time, counts as the one that queued the work. Returns 0 if the thread
 * runs no such task.
 *
 * stallbox_provider_work_forgotten(): no call will follow for this task. It stays counted in its queue.
 *
 * stallbox_provider_work_taken_out(): a task that was forgotten in this way was taken out of its queue, to be run. */
STALLBOX_EXPORT uint64_t stallbox_provider_work_queued(enum stallbox_work work, const void *queue);
STALLBOX_EXPORT uint64_t stallbox_provider_work_passed_on(enum stallbox_work work, uint64_t id);
STALLBOX_EXPORT void stallbox_provider_work_forgotten(uint64_t id);
STALLBOX_EXPORT void stallbox_provider_work_taken_out(const void *queue);

/* The id of a function by its place in the source: FNV-1a, 64 bits, of the bytes "SOURCE:LINE", and ":NAME" when `name` is
 * not NULL (runtimes whose functions share lines). `line` in decimal. So ids can be made from the sources alone, on another
 * machine. Never 0. Signal safe. */
STALLBOX_EXPORT uint64_t stallbox_function_id(const char *source, size_t source_bytes, uint32_t line, const char *name);

/* Name of a result, e.g. "STALLBOX_TIMED_OUT"; "STALLBOX_UNKNOWN" for other numbers; never NULL. Signal safe. */
STALLBOX_EXPORT const char *stallbox_result_name(enum stallbox_result result);

/* Version of the library actually loaded, e.g. "0.1.0". Signal safe. */
STALLBOX_EXPORT const char *stallbox_version(void);

#ifdef __cplusplus
}
#endif

#if defined(__cplusplus) && __cplusplus >= 201103L
namespace stallbox
{

/* A task from queuing to its end, for C++. Construct it where the work is queued, and move it along with the work:
 *
 *     queue.push([task = stallbox::task(&queue)]() mutable { stallbox::task::run running(task); work(); });
 *
 * If it is destroyed without having run, it is cancelled. An exception that leaves the scope of `run` ends the task. */
class task
{
  public:
    task() noexcept : id_(stallbox_task_queued())
    {
    }
    explicit task(const void *queue) noexcept : id_(stallbox_task_queued_in(queue))
    {
    }
    task(task &&other) noexcept : id_(other.id_)
    {
        other.id_ = 0;
    }
    task &operator=(task &&other) noexcept
    {
        if (this != &other) {
            stallbox_task_cancelled(id_);
            id_ = other.id_;
            other.id_ = 0;
        }
        return *this;
    }
    task(const task &) = delete;
    task &operator=(const task &) = delete;
    ~task()
    {
        stallbox_task_cancelled(id_);
    }

    /* The run of a task: from construction to destruction. */
    class run
    {
      public:
        explicit run(task &which) noexcept : id_(which.id_)
        {
            which.id_ = 0;
            stallbox_task_begin(id_);
        }
        ~run()
        {
            stallbox_task_end(id_);
        }
        run(const run &) = delete;
        run &operator=(const run &) = delete;

      private:
        uint64_t id_;
    };

  private:
    uint64_t id_;
};

} // namespace stallbox
#endif
#endif
