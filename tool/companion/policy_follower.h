/* SPDX-License-Identifier: Apache-2.0 */
/* policy_follower.h - the companion's policy: asks for it, verifies it, and hands it on as plain numbers.
 *
 *   FILE, and SERVER/v1/policy/APP --> policy_store (verified, kept) --> decided --> control pages of running agents
 *                                                                          |
 *                                                                          +--> redaction and gate of the deliverer
 *
 * It is a thread of its own, because a request to a server may take long. The application is never asked anything; it
 * finds new numbers on its control page. An application that a user switched off by hand (`stallbox ctl disable`) is
 * not switched on. */
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
    /* the shipped bundle, which begins with the KEYSET to trust; read again when it is replaced */
    const char *file;
    const char *server_url; /* NULL: no server is asked */
    const char *token;      /* token for machine-days; NULL: none */
    const char *
        app_name; /* what the application is called; NULL: not told, and then machine-days are of names that agents say */
    uint32_t app_version[3]; /* all 0: not given */
    const char *recordings;  /* folder of recordings; NULL: none is named */
    /* without a named folder: search the usual folders of recordings; else no agents are steered */
    bool searches_recordings;
    const char *spool_path; /* absolute: only agents with this spool are steered */
    bool only_own;          /* of these, only processes with our SBX_ENV_COMPANION; else only those without one */
    const char
        *mark;    /* that they carry, when a companion before us has started them; NULL or "": one of ours is made */
    uint64_t key; /* key in their recordings (preload.h), which replaces the mark; 0: none */
    bool judges_starts;  /* the caller starts the application and reports how it ended */
    const char *program; /* the application's file, to know its version; NULL: unknown */
    uint32_t poll_ms;    /* 0: the interval of the policy */
    /* Changes a policy as the command line says, which has priority; NULL: no change. Any thread. */
    void (*adjust)(void *context, struct sbx_policy *policy);
    const char *command;                                               /* for messages: "run" */
    void (*on_change)(void *context, const struct sbx_policy *policy); /* another policy is in force; any thread */
    /* Gets the KEYSET in force after each look at documents (borrowed until it returns), and the time as far as it is
     * known; NULL: not wanted. Any thread. */
    void (*on_keyset)(void *context, const struct sbx_keyset *keyset, uint64_t now_s);
    void *context;
};

struct sbx_policy_follower;

/* Read the file, decide what is in force, and store the start when starts are judged. Start the application after this.
 * *policy_out is the policy that it starts with. Returns 0 and a follower (given: close), or -errno with `why`. */
SBX_MUST_CHECK int sbx_follower_open(const struct sbx_follower_options *options,
                                     struct sbx_policy_follower **follower_out, struct sbx_policy *policy_out,
                                     char *why, size_t why_bytes);

/* The variable that the application's environment must have, "STALLBOX_COMPANION=...". Borrowed until close. */
const char *sbx_follower_mark(const struct sbx_policy_follower *follower);

/* The gate for packing and delivery under the policy in force. Borrowed until close. */
const struct sbx_delivery_gate *sbx_follower_gate(struct sbx_policy_follower *follower);

/* Ask the server once, now; for a command that does not stay. Do not call this after start. Blocks for one request. */
void sbx_follower_ask(struct sbx_policy_follower *follower);

/* Start following, on a thread. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_follower_start(struct sbx_policy_follower *follower);

/* The application has ended with this wait status. The follower then stops following. */
void sbx_follower_ended(struct sbx_policy_follower *follower, int wait_status);

/* End the thread (which may take as long as a request) and release everything. NULL is fine. */
void sbx_follower_close(struct sbx_policy_follower *follower);

#endif
