/* SPDX-License-Identifier: Apache-2.0 */
/* the_agent.h - what the recorder of this process is: the one value that its two threads and its doors share.
 *
 * It lies on the ground, below all that works with it: the threads (watch.h, module_thread.h) know nothing of agent.h, which
 * starts and stops them. */
#ifndef SBX_THE_AGENT_H
#define SBX_THE_AGENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "light_sleep.h"
#include "recording_file.h"

enum sbx_opening {
    SBX_OPENING = 0,
    SBX_OPENED = 1,   /* what is captured is recorded */
    SBX_OPEN_NOT = 2, /* there is no memory for it, and never will be */
};

/* By these waits a program shows that it lives on. None of them is called with an allocator's lock held. */
#define SBX_WAITS_THAT_ASK                                                                                  \
    (SBX_POINT_BIT(SBX_GROUP_POLL) | SBX_POINT_BIT(SBX_GROUP_SLEEP) | SBX_POINT_BIT(SBX_GROUP_COND) |       \
     SBX_POINT_BIT(SBX_GROUP_SEMAPHORE) | SBX_POINT_BIT(SBX_GROUP_JOIN) | SBX_POINT_BIT(SBX_GROUP_SOCKET) | \
     SBX_POINT_BIT(SBX_GROUP_PROCESS) | SBX_POINT_BIT(SBX_GROUP_FUTEX))
#define SBX_OLD_ENOUGH_NS UINT64_C(20000000) /* from here on any of them counts; before, the poll family alone */

struct sbx_agent {
    struct sbx_recording_file recording;
    pthread_t watch_thread, module_thread;
    uint32_t watch_tid, module_tid; /* written by the threads themselves; 0: not up yet */
    uint32_t stopping;              /* 1: both threads end */
    uint32_t is_closing;            /* 1: and the recording is of no use then: its name goes with the watch thread */
    uint32_t is_running;            /* public state */
    uint32_t is_consent_required;   /* what an application that was not asked is: 0 as if GRANTED, 1 UNKNOWN */
    uint32_t consent_said; /* enum sbx_consent: the last word that was said; other words in the spool are news */
    char app_name[SBX_APP_NAME_MAX]; /* set before the start: what the application is called; "": not told */
    uint32_t app_version[3];
    uint32_t scene; /* which the application said last (stallbox_set_scene); 0: none. Any thread writes it */
    struct sbx_family_entry family; /* set before the start of a worker: whose it is */
    uint32_t parent_modules;        /* the same: how many modules its parent had */
    uint64_t companion_key;      /* set before the start: names who makes snapshots that we cannot write; 0: nobody */
    uint32_t watch_is_up;        /* 1: the watch thread has opened what it may have no right to later. A futex word */
    uint32_t shares_descriptors; /* 1: both threads have one table of their own, made before the second began */
    /* module thread */
    uint32_t opened;                /* enum sbx_opening: what the module thread made of the recording. A futex word */
    uint32_t hooks_are_handed_over; /* 1: the starting thread is done with the hooks; from here on they are the module
                                       thread's. A futex word */
    struct sbx_light_sleep module_sleep;      /* rung to call it */
    uint64_t wanted_points;                   /* what the hooks should be; 0: none */
    uint64_t applied_points;                  /* what they are; UINT64_MAX until the first round */
    uint32_t hooks_were_whole;                /* 1: a round has left no module of that time without its hooks */
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

/* In a forked child, before its start: what was ordered stays, what came of it is the parent's. */
void sbx_the_agent_forget_parent(void);

/* Wait on a futex word of the agent's or of the control page for at most `timeout_ms` until it is `wanted`. Returns whether it
 * is. Any thread but the watch thread, and no hook. */
bool sbx_agent_wait_for(uint32_t *word, uint32_t wanted, uint32_t timeout_ms);

#endif
