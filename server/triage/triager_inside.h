/* SPDX-License-Identifier: Apache-2.0 */
/* triager_inside.h - the inside of a triager, for its files: triager.c has the threads and decides what they do next,
 * triage_one.c does it for one payload, symbol_outage.c knows whether the symbol store can be reached. */
#ifndef SBX_TRIAGER_INSIDE_H
#define SBX_TRIAGER_INSIDE_H

#include <errno.h>
#include <pthread.h>

#include "symbol_store.h"
#include "triage_process.h"
#include "triage_queue.h"
#include "triager.h"

enum {
    ARRIVALS_MAX = SBX_WORKER_ARRIVALS_MAX
};

/* One of the threads. */
struct sbx_triage_hand {
    struct sbx_triager *triager;
    struct sbx_triage_process *process;
    pthread_t thread;
    uint64_t heard; /* number of triager.arrivals_ever that its worker knows */
    /* it also does what only one thread may do: opening sealed payloads, and stalls whose symbols came */
    bool is_first;
};

/* Can the symbol store be reached? */
struct sbx_symbol_outage {
    int64_t since_ms; /* 0: it can be reached */
    bool wants_look;  /* symbols that came to it meanwhile must still be looked for */
    char said[400];   /* last log line about damage in it */
    /* Only the first hand uses the members below. */
    bool has_looked;
    int64_t next_look_ms;
};

struct sbx_triager {
    struct sbx_triager_settings settings; /* its places and keys are not used */
    struct sbx_unseal_keys unseal_keys;
    struct sbx_byte_buffer greeting; /* first message to workers */
    struct sbx_triage_hand *hands;
    unsigned hand_count; /* started threads */

    pthread_mutex_t lock; /* protects all below */
    pthread_cond_t changed;
    bool stopping, is_woken, grants_no_more;
    int64_t used_ms; /* when work came that a client waits for, or such work began (monotonic_in.h) */
    struct sbx_wish *wishes, **wishes_end; /* oldest first */
    size_t wish_count;
    struct sbx_triage_queue *queue;
    bool has_more;                             /* the store has more waiting payloads than the queue */
    struct sbx_arrival arrivals[ARRIVALS_MAX]; /* the newest ones, by number modulo ARRIVALS_MAX */
    uint64_t arrivals_ever;
    struct sbx_symbol_outage outage;
    int64_t heard_arrival; /* for the first hand: the last arrival from another server of the database */
};

/* The result of one triage, besides 0 (settled) and -ENOENT (no such stall). */
enum {
    SBX_TRIAGE_NOT_NOW = -EAGAIN /* try again later */
};

/* Triage one stall. `is_anew`: again, because symbols came. `tries`: how often it was put off. Returns 0 when it is
 * settled, -ENOENT when there is no such stall, or SBX_TRIAGE_NOT_NOW. */
int sbx_triage_one(struct sbx_triage_hand *hand, const uint8_t id[SBX_ID_BYTES], bool is_anew, unsigned tries);
/* Make the rendering of a wish, and report it. */
void sbx_triage_grant(struct sbx_triage_hand *hand, struct sbx_wish *wish);

/* ---- symbol_outage.c: a store of symbols that goes and comes back ---- */

/* Note the trouble that a worker met with the store. The begin of an outage is logged once. */
void sbx_outage_note(struct sbx_triager *triager, enum sbx_store_trouble trouble, const char *words);
bool sbx_outage_is_on(struct sbx_triager *triager);
/* Is the outage still so short that stalls wait for their names? */
bool sbx_outage_is_waited_for(struct sbx_triager *triager);
/* Has the first hand something to check? The lock is held. */
bool sbx_outage_is_to_be_tended(const struct sbx_triager *triager);
/* For the first hand, again and again: check whether the store is back, and look for symbols that came to it
 * meanwhile. */
void sbx_outage_tend(struct sbx_triage_hand *hand);

/* A line for the operator about one payload. */
void sbx_triage_log(const struct sbx_triager *triager, const uint8_t id[SBX_ID_BYTES], const char *what,
                    const char *why);

#endif
