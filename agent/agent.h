/* SPDX-License-Identifier: Apache-2.0 */
/* agent.h - the recorder of this process: one recording, two threads, off -> running -> off.
 *
 * The one place that wires capture, triggers and snapshots together, and the only one that starts threads:
 *
 *   sbx-watch    ticks while the application works, sleeps while it rests; looks at the main thread's message, fills
 * gaps, makes snapshots. Never takes a lock, never waits for the loader, never allocates. sbx-modules  follows dlopen
 * and dlclose, compiles unwind rows, puts hooks in and takes them out. May wait for the loader's lock; nobody waits for
 * it but stop, and that with a time-out. */
#ifndef SBX_AGENT_H
#define SBX_AGENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"
#include "recording_file.h"

struct sbx_agent {
    struct sbx_recording_file recording;
    pthread_t watch_thread, module_thread;
    uint32_t watch_tid, module_tid; /* written by the threads themselves; 0: not up yet */
    uint32_t stopping;              /* 1: both threads end */
    uint32_t is_running;            /* public state */
    /* module thread */
    uint32_t module_bell;    /* futex: bumped and woken to call it */
    uint32_t wanted_points;  /* what the hooks should be; 0: none */
    uint32_t applied_points; /* what they are; UINT32_MAX until the first round */
    char rows_folder[SBX_RECORDING_PATH_MAX]; /* where unwind rows are kept; "": nowhere */
    /* snapshots */
    uint32_t snapshot_active; /* 1: one is being made */
    uint32_t snapshot_wanted; /* bumped by stallbox_snapshot() */
    uint32_t snapshot_done;   /* last value of it that was answered */
    int32_t snapshot_result;  /* 0 or -errno of that */
};

extern struct sbx_agent sbx_the_agent;

/* Start with these settings. `recordings_folder` and `spool_path` are borrowed. Returns 0, or -errno: -EALREADY
 * running, -ECANCELED switched off by STALLBOX_DISABLE or because the process runs set-user-id, others from the files.
 */
int sbx_agent_start(const char *recordings_folder, const char *spool_path, const struct sbx_capture_settings *settings);

/* Stop; 0, -ESRCH when not running, -ETIMEDOUT when a thread did not end in time (it is left to end by itself). */
int sbx_agent_stop(uint32_t timeout_ms);

/* The process exits in order: finish a snapshot in flight, mark the recording clean and take its name away. */
void sbx_agent_process_exits(void);

/* The two threads' bodies (watch.c, module_thread.c). */
void *sbx_watch_main(void *unused);
void *sbx_module_main(void *unused);

/* Ask the module thread to bring the hooks to `points` and look at the modules again. */
void sbx_module_thread_call(uint32_t points);

#endif
