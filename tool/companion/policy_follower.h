/* SPDX-License-Identifier: Apache-2.0 */
/* policy_follower.h - the companion's policy: asks for it, verifies it, and hands it on as plain numbers.
 *
 *   FILE, and SERVER/v1/policy/APP --> policy_store (verified, kept) --> decided --> control pages of running agents
 *                                                                          |
 *                                                                          +--> redaction and gate of the deliverer
 *
 * A thread of its own, because a question to a server may take its time. The application is never asked anything: it finds
 * new numbers on its control page. An application that a user switched off by hand (`stallbox ctl disable`) is not switched on. */
#ifndef SBX_POLICY_FOLLOWER_H
#define SBX_POLICY_FOLLOWER_H

#include <stdbool.h>
#include <stdint.h>

#include "delivery_gate.h"
#include "keyset.h"
#include "marks.h"
#include "policy.h"
#include "spool.h"
#include "steered_agents.h"

enum {
    SBX_COMPANION_BYTES = 48
};

struct sbx_follower_options { /* all borrowed until the follower is closed */
    struct sbx_spool *spool;
    const char *file;       /* the shipped bundle: it begins with the KEYSET to trust; followed when it is replaced */
    const char *server_url; /* NULL: nobody is asked */
    const char *token;      /* of the server, for machine-days; NULL: none */
    const char *
        app_name; /* what the application is called; NULL: not told, and then machine-days are of names that agents say */
    uint32_t app_version[3];  /* all 0: not told */
    const char *recordings;   /* folder of recordings; NULL: none is named */
    bool searches_recordings; /* then those where recordings may lie are searched; else none are steered */
    const char *spool_path;   /* absolute: agents with this spool are ours */
    bool only_own; /* of those, only processes that carry our SBX_ENV_COMPANION; else those that carry none */
    const char
        *mark;    /* that they carry, when a companion before us has started them; NULL or "": one of ours is made */
    uint64_t key; /* of their recordings (preload.h): known by it, they need not show their mark; 0: none */
    bool judges_starts;  /* the caller starts the application and says how it ended */
    const char *program; /* its file, for knowing its version; NULL: unknown */
    uint32_t poll_ms;    /* 0: as the policy says */
    /* What a person said on the command line, over any policy; NULL: nothing. Any thread. */
    void (*adjust)(void *context, struct sbx_policy *policy);
    const char *command;                                               /* for messages: "run" */
    void (*on_change)(void *context, const struct sbx_policy *policy); /* another policy is in force; any thread */
    /* The KEYSET in force, after each look at documents (borrowed until it returns), and what time it is as far as that
     * is known; NULL: nobody cares. Any thread. */
    void (*on_keyset)(void *context, const struct sbx_keyset *keyset, uint64_t now_s);
    void *context;
};

struct sbx_policy_follower;

/* Read the file, decide what is in force, and write the start down when starts are judged: the application is to be started
 * after this. *policy_out is what it starts with. Returns 0 and a follower (given: close) or -errno with "why". */
SBX_MUST_CHECK int sbx_follower_open(const struct sbx_follower_options *options,
                                     struct sbx_policy_follower **follower_out, struct sbx_policy *policy_out,
                                     char *why, size_t why_bytes);

/* What the application's environment must carry, "STALLBOX_COMPANION=...". Borrowed until close. */
const char *sbx_follower_mark(const struct sbx_policy_follower *follower);

/* The gate for packing and delivering by the policy in force. Borrowed until close. */
const struct sbx_delivery_gate *sbx_follower_gate(struct sbx_policy_follower *follower);

/* Ask the server once, now: for a command that does not stay. Not after start. Blocks as long as a question does. */
void sbx_follower_ask(struct sbx_policy_follower *follower);

/* Follow from now on, on a thread. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_follower_start(struct sbx_policy_follower *follower);

/* The application has ended, with this wait status: orderly, or not. Nothing is followed any more. */
void sbx_follower_ended(struct sbx_policy_follower *follower, int wait_status);

/* End the thread (which may take as long as a question does) and release. NULL is fine. */
void sbx_follower_close(struct sbx_policy_follower *follower);

#endif
