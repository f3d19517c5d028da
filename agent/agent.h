/* SPDX-License-Identifier: Apache-2.0 */
/* agent.h - the recorder of this process: one recording, two threads, off -> running -> off.
 *
 * The one place that wires capture, triggers and snapshots together, and the only one that starts threads:
 *
 *   sbx-watch    ticks while the application works, sleeps while it rests; looks at what is open (watchdog.h), fills
 *                gaps, makes snapshots. Never takes a lock, never waits for the loader, never allocates.
 *   sbx-modules  follows dlopen and dlclose, compiles unwind rows, puts hooks in and takes them out. May wait for the
 *                loader's lock; nobody waits for it but stop, and that with a time-out. */
#ifndef SBX_AGENT_H
#define SBX_AGENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"
#include "recording_file.h"

enum sbx_opening {
    SBX_OPENING = 0,
    SBX_OPENED = 1,   /* what is captured is recorded */
    SBX_OPEN_NOT = 2, /* there is no memory for it, and never will be */
};

struct sbx_agent {
    struct sbx_recording_file recording;
    pthread_t watch_thread, module_thread;
    uint32_t watch_tid, module_tid; /* written by the threads themselves; 0: not up yet */
    uint32_t stopping;              /* 1: both threads end */
    uint32_t is_running;            /* public state */
    uint32_t is_consent_required;   /* what an application that was not asked is: 0 as if GRANTED, 1 UNKNOWN */
    uint32_t consent_said;  /* enum sbx_consent: the last word that was said; other words in the spool are news */
    uint64_t companion_key; /* set before the start: names who makes snapshots that we cannot write; 0: nobody */
    uint32_t watch_is_up;   /* 1: the watch thread has opened what it may have no right to later. A futex word */
    /* module thread */
    uint32_t opened;                /* enum sbx_opening: what the module thread made of the recording. A futex word */
    uint32_t hooks_are_handed_over; /* 1: the starting thread is done with the hooks; from here on they are the module
                                       thread's. A futex word */
    uint32_t module_bell;           /* futex: bumped and woken to call it */
    uint32_t wanted_points;         /* what the hooks should be; 0: none */
    uint32_t applied_points;        /* what they are; UINT32_MAX until the first round */
    char rows_folder[SBX_RECORDING_PATH_MAX]; /* where unwind rows are kept; "": nowhere */
    /* snapshots */
    uint32_t snapshot_active;   /* 1: one is being made */
    uint32_t snapshot_wanted;   /* bumped by stallbox_snapshot() */
    uint32_t snapshot_after_ms; /* of the newest of them: recording goes on so long before the copy */
    uint32_t hurry;             /* 1: the process exits, nothing waits for what comes after a trigger */
    uint32_t exit_asked;        /* 1: the process exits, and the watch thread is to take the recording's name away */
    uint32_t exit_done;         /* 1: it has. A futex word */
    uint32_t snapshot_done;     /* last value of it that was answered */
    int32_t snapshot_result;    /* 0 or -errno of that */
};

extern struct sbx_agent sbx_the_agent;

/* Start with these settings. `said` is what the spool says of consent, `is_consent_required` whether silence is a no.
 * `recordings_folder` and `spool_path` are borrowed. Returns 0, or -errno: -EALREADY
 * running, -ECANCELED switched off by STALLBOX_DISABLE, because the process runs set-user-id or because our maps
 * would stand in the way of its mlockall(), others from the files.
 */
int sbx_agent_start(const char *recordings_folder, const char *spool_path, const struct sbx_capture_settings *settings,
                    enum sbx_consent said, bool is_consent_required);

/* Valgrind, a set-user-id program, STALLBOX_DISABLE: the recorder stays out. */
bool sbx_agent_is_declined(void);

/* Read what is read of the environment, once. By the starting thread, or before main(). */
void sbx_agent_look_at_environment(void);

/* Make a thread of ours: all signals blocked, room on its stack. Returns 0 or -errno. */
int sbx_agent_start_thread(pthread_t *thread, void *(*body)(void *));

/* The user said something: make it true now, then write it down in the spool. Returns 0, -ESRCH when not running, or
 * -errno of the file. Any thread; one at a time. */
int sbx_agent_set_consent(enum sbx_consent consent);

/* Has somebody else said something, in the spool? Then it is put in force. Reads a file, of a disk that may be slow:
 * module thread. */
void sbx_agent_follow_consent(void);

/* Stop; 0, -ESRCH when not running, -ETIMEDOUT when a thread did not end in time (it is left to end by itself). */
int sbx_agent_stop(uint32_t timeout_ms);

/* The process exits in order: finish a snapshot in flight, mark the recording clean and take its name away. */
void sbx_agent_process_exits(void);

/* The two threads' bodies (watch.c, module_thread.c). */
void *sbx_watch_main(void *unused);
void *sbx_module_main(void *unused);

/* Make the snapshots of processes that died, out of the recordings they left in our folder (orphans.c). Module thread. */
void sbx_agent_recover_orphans(void);

/* Ask the module thread to bring the hooks to `points` and look at the modules again. */
void sbx_module_thread_call(uint32_t points);

#endif
