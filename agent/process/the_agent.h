/* SPDX-License-Identifier: Apache-2.0 */
/* the_agent.h - the state of this process's recorder: one value that its two threads and its public functions share.
 *
 * It is the lowest layer, below everything that uses it: the threads (watch.h, module_thread.h) do not depend on
 * agent.h, which starts and stops them. */
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
    SBX_OPEN_NOT = 2, /* there is no memory for the recording, and never will be */
};

/* A program that calls one of these waits will probably live longer. None of them is called with an allocator's lock
 * held. */
#define SBX_WAITS_THAT_ASK                                                                                  \
    (SBX_POINT_BIT(SBX_GROUP_POLL) | SBX_POINT_BIT(SBX_GROUP_SLEEP) | SBX_POINT_BIT(SBX_GROUP_COND) |       \
     SBX_POINT_BIT(SBX_GROUP_SEMAPHORE) | SBX_POINT_BIT(SBX_GROUP_JOIN) | SBX_POINT_BIT(SBX_GROUP_SOCKET) | \
     SBX_POINT_BIT(SBX_GROUP_PROCESS) | SBX_POINT_BIT(SBX_GROUP_FUTEX))
#define SBX_OLD_ENOUGH_NS UINT64_C(20000000) /* from this age on each of them counts; before, only polls */

struct sbx_agent {
    struct sbx_recording_file recording;
    pthread_t watch_thread, module_thread;
    uint32_t watch_tid, module_tid;  /* written by the threads themselves; 0: not running yet */
    uint32_t stopping;               /* 1: both threads end */
    uint32_t is_closing;             /* 1: the recording will not be needed: the watch thread removes its name */
    uint32_t is_running;             /* public state */
    uint32_t is_consent_required;    /* for an application that was not asked: 0 means GRANTED, 1 means UNKNOWN */
    uint32_t consent_said;           /* enum sbx_consent: the last answer; a different answer in the spool is new */
    char app_name[SBX_APP_NAME_MAX]; /* set before the start: the application's name; "": not given */
    uint32_t app_version[3];
    uint32_t scene;                 /* the last one of stallbox_set_scene(); 0: none. Any thread writes it */
    struct sbx_family_entry family; /* set before the start of a worker: its family */
    uint32_t parent_modules;        /* also: how many modules its parent had */
    uint64_t companion_key;      /* set before the start: names who makes snapshots that we cannot write; 0: nobody */
    uint32_t watch_is_up;        /* 1: the watch thread has opened what it may be forbidden later. A futex word */
    uint32_t shares_descriptors; /* 1: both threads have one table of their own, made before the second began */
    /* module thread */
    uint32_t opened;                     /* enum sbx_opening: whether the recording could be opened. A futex word */
    uint32_t hooks_are_handed_over;      /* 1: the starting thread has finished with the hooks. A futex word */
    struct sbx_light_sleep module_sleep; /* rung to call the module thread */
    uint64_t wanted_points;              /* the groups that should be hooked; 0: none */
    uint64_t applied_points;             /* the groups that are hooked; UINT64_MAX until the first round */
    uint32_t hooks_were_whole;           /* 1: after a round every module of that time had its hooks */
    char rows_folder[SBX_RECORDING_PATH_MAX]; /* where unwind rows are kept; "": nowhere */
    /* snapshots */
    uint32_t snapshot_active;   /* 1: one is being made */
    uint32_t snapshot_wanted;   /* bumped by stallbox_snapshot() */
    uint32_t snapshot_after_ms; /* of the newest request: how long recording goes on before the copy */
    uint32_t hurry;             /* 1: the process exits; snapshots do not wait for the time after a trigger */
    uint32_t exit_asked;        /* 1: the process exits, and the watch thread must remove the recording's name */
    uint32_t exit_done;         /* 1: the name is removed. A futex word */
    uint32_t snapshot_done;     /* the last value of snapshot_wanted that was answered */
    int32_t snapshot_result;    /* 0 or -errno of that snapshot */
};

extern struct sbx_agent sbx_the_agent;

/* In a forked child, before its start: keeps what was ordered, and clears the parent's results. */
void sbx_the_agent_forget_parent(void);

/* Wait on a futex word of the agent or of the control page, for at most `timeout_ms`, until it has the value `wanted`.
 * Returns whether it has. Any thread but the watch thread; not in a hook. */
bool sbx_agent_wait_for(uint32_t *word, uint32_t wanted, uint32_t timeout_ms);

#endif
