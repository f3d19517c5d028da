/* SPDX-License-Identifier: Apache-2.0 */
/* steered_agents.h - the running agents that follow one policy, and the orders they were given.
 *
 * An agent is ours when it has our spool, and its process carries our mark in the environment it was started with; or
 * no mark, where we steer all users of the spool. Each agent gets an order once: the next order does not switch on an agent
 * that a user has switched off by hand (`stallbox ctl disable`) meanwhile. */
#ifndef SBX_STEERED_AGENTS_H
#define SBX_STEERED_AGENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"
#include "recording_format.h"

/* The environment variable that tells whose companion a process has: "PID-STARTTICKS". */
#define SBX_ENV_COMPANION "STALLBOX_COMPANION"

enum {
    SBX_STEERED_MAX = 256
}; /* processes of one application that are steered at a time */

/* An agent that was looked at. */
struct sbx_steered_agent {
    char name[96];                       /* of its recording's file; "": the place is free */
    uint64_t order;                      /* number of the order it has, or that is not for it */
    bool is_seen;                        /* in this look */
    uint32_t misses;                     /* how often there was no recording in it */
    char app_name[SBX_APP_NAME_MAX + 1]; /* that it says of itself, where its user lets it record; "": none */
    uint32_t app_version[3];
    struct sbx_capture_settings told;
};

struct sbx_steered_agents {
    const char *recordings;   /* folder of recordings, borrowed; NULL: none is named */
    bool searches_recordings; /* then those where recordings may lie (recording_folder.h); else there are none */
    const char *spool_path;   /* absolute, borrowed */
    const char *mark;         /* "STALLBOX_COMPANION=...", borrowed; NULL: whoever carries none */
    uint64_t key;             /* or the agents that have this in their recording; 0: none */
    bool has_consent;         /* out: one of ours was seen whose user lets it record */
    struct sbx_steered_agent places[SBX_STEERED_MAX];
};

/* Bring every agent to order number `order` (from 1 on), which is these settings. Returns whether to look again soon: one is
 * starting, or has not taken the order before. One thread at a time; waits for nobody. */
bool sbx_steered_agents_bring(struct sbx_steered_agents *agents, const struct sbx_capture_settings *wanted,
                              uint64_t order);

#endif
