/* SPDX-License-Identifier: Apache-2.0 */
/* steered_agents.h - the running agents that follow one policy, and the orders that they got.
 *
 * An agent is ours when it has our spool, and its process was started with our mark in the environment, or with no mark
 * when we steer all users of the spool. Each agent gets an order once. A later order does not switch on an agent that a
 * user has switched off by hand (`stallbox ctl disable`) meanwhile. */
#ifndef SBX_STEERED_AGENTS_H
#define SBX_STEERED_AGENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"
#include "recording_format.h"

/* The environment variable that names the companion of a process: "PID-STARTTICKS". */
#define SBX_ENV_COMPANION "STALLBOX_COMPANION"

enum {
    SBX_STEERED_MAX = 256
}; /* processes of one application that are steered at a time */

/* An agent that was looked at, in one place of the table. */
struct sbx_steered_agent {
    char name[96];                       /* name of its recording's file; "": the place is free */
    uint64_t order;                      /* number of the last order that it has, or that it need not have */
    bool is_seen;                        /* found in this look */
    uint32_t misses;                     /* looks that found no valid recording */
    char app_name[SBX_APP_NAME_MAX + 1]; /* the name that it gives itself, when its user allows recording; "": none */
    uint32_t app_version[3];
    struct sbx_capture_settings told;
};

struct sbx_steered_agents {
    const char *recordings; /* folder of recordings, borrowed; NULL: none is given */
    /* without a folder: search the usual ones (recording_folder.h); else no agents are found */
    bool searches_recordings;
    const char *spool_path; /* absolute, borrowed */
    const char *mark;       /* "STALLBOX_COMPANION=...", borrowed; NULL: processes without a mark */
    uint64_t key;           /* agents with this key in their recording are ours too; 0: none */
    bool has_consent;       /* out: the user of at least one of ours allows recording */
    struct sbx_steered_agent places[SBX_STEERED_MAX];
};

/* Bring every agent to order number `order` (from 1 on), which has these settings. Returns whether to look again soon,
 * because an agent is starting or has not taken the previous order. One thread at a time; does not wait. */
bool sbx_steered_agents_bring(struct sbx_steered_agents *agents, const struct sbx_capture_settings *wanted,
                              uint64_t order);

#endif
