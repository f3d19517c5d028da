/* SPDX-License-Identifier: Apache-2.0 */
/* triager_inside.h - the inside of a triager, for the files that work on it: triager.c has the threads and says what they do next,
 * triage_one.c does it for one payload, symbol_outage.c knows whether there are symbols to be had. */
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
    uint64_t heard; /* of triager.arrivals_ever: what its worker was told */
    bool is_first;  /* it also does what only one can do: opening what is sealed, what symbols came for */
};

/* Whether the store of symbols is away. */
struct sbx_symbol_outage {
    int64_t since_ms; /* 0: it is there */
    bool wants_look;  /* what came to it meanwhile is still to be looked for */
    char said[400];   /* what was said last of damage in it */
    /* Below: the first hand's own. */
    bool has_looked;
    int64_t next_look_ms;
};

struct sbx_triager {
    struct sbx_triager_settings settings; /* its places and keys are not used */
    struct sbx_unseal_keys unseal_keys;
    struct sbx_byte_buffer greeting; /* of workers */
    struct sbx_triage_hand *hands;
    unsigned hand_count; /* that were started */

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    bool stopping, is_woken, grants_no_more;
    int64_t used_ms; /* when something came last that somebody waits for, or was begun (monotonic_in.h) */
    struct sbx_wish *wishes, **wishes_end; /* oldest first */
    size_t wish_count;
    struct sbx_triage_queue *queue;
    bool has_more;                             /* of what waits there is more in the store than in the queue */
    struct sbx_arrival arrivals[ARRIVALS_MAX]; /* the newest, by number modulo their count */
    uint64_t arrivals_ever;
    struct sbx_symbol_outage outage;
    int64_t heard_arrival; /* the first hand's: the last that another server of the database took */
};

/* What triage of one came to, beside 0 (it is settled) and -ENOENT (it is gone). */
enum {
    SBX_TRIAGE_NOT_NOW = -EAGAIN /* it is to be tried again */
};

/* Triage one; `is_anew`: because symbols came; `tries`: how often that was put off. Returns 0 when it is settled, -ENOENT when it is gone, or SBX_TRIAGE_NOT_NOW. */
int sbx_triage_one(struct sbx_triage_hand *hand, const uint8_t id[SBX_ID_BYTES], bool is_anew, unsigned tries);
/* Make what somebody wishes for, and tell him. */
void sbx_triage_grant(struct sbx_triage_hand *hand, struct sbx_wish *wish);

/* ---- symbol_outage.c: a store of symbols that goes and comes back ---- */

/* What a worker met there. That it went is said once. */
void sbx_outage_note(struct sbx_triager *triager, enum sbx_store_trouble trouble, const char *words);
bool sbx_outage_is_on(struct sbx_triager *triager);
/* Is it away for so short a time that stalls wait for their names? */
bool sbx_outage_is_waited_for(struct sbx_triager *triager);
/* Has the first hand something to look for? The lock is held. */
bool sbx_outage_is_to_be_tended(const struct sbx_triager *triager);
/* The first hand's, again and again: look whether it is back, and for what came to it meanwhile. */
void sbx_outage_tend(struct sbx_triage_hand *hand);

/* A line for the operator about one payload. */
void sbx_triage_log(const struct sbx_triager *triager, const uint8_t id[SBX_ID_BYTES], const char *what,
                    const char *why);

#endif
