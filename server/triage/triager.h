/* SPDX-License-Identifier: Apache-2.0 */
/* triager.h - turns stored payloads into verdicts, and into reports that somebody asks for.
 *
 * Some threads, each with a worker process of its own (triage_process.h) that does what reads a stranger's bytes; the threads
 * take what waits, hand it over, and store what comes back. What waits for a verdict is in the store, and its order in memory
 * (triage_queue.h): after a crash or kill the next start goes on where this one stopped. Stalls whose symbols came are marked
 * in the store too (store_symbols.h). Reports are made for those who wish for one, before all that waits; that changes nothing
 * in the store.
 *
 * A payload that is over its bounds, or ends its worker twice, is set aside with a word for a person. What is short and
 * passes (disk, memory, descriptors, a worker that the system killed) is tried again. Where the store of symbols is a server and
 * away, stalls wait for it for a while, then they get verdicts without names, and others when it is back. */
#ifndef SBX_TRIAGER_H
#define SBX_TRIAGER_H

#include "metrics.h"
#include "operator_log.h"
#include "renderings.h"
#include "sealed_store.h"
#include "store.h"
#include "triage_worker.h"

struct sbx_symbol_store;
struct sbx_triage_nursery;
struct sbx_triager;

struct sbx_triager_settings { /* borrowed until stop, but `places` and the keys, which are copied */
    struct sbx_store *store;
    struct sbx_sealed_store *sealed;
    struct sbx_renderings *renderings;
    struct sbx_metrics *metrics;
    const struct sbx_operator_log *log; /* NULL: silent */
    struct sbx_symbol_store *symbols;   /* a handle that is nobody else's */
    const struct sbx_worker_places *places;
    const struct sbx_unseal_keys *unseal_keys; /* NULL: what is sealed stays so */
    struct sbx_triage_nursery *nursery;
    unsigned workers;            /* 1 and more */
    uint32_t cpu_ms;             /* of processor time for one payload */
    size_t pending_max;          /* payloads that wait */
    uint32_t symbol_patience_ms; /* that stalls wait for a store of symbols that is away; 0: as usual */
};

/* Returns 0 or -errno. */
int sbx_triager_start(const struct sbx_triager_settings *settings, struct sbx_triager **triager_out);
/* Ends after the payloads at hand. NULL is fine. */
void sbx_triager_stop(struct sbx_triager *triager);

/* This payload, or this end of a stall, was stored. Any thread. */
void sbx_triager_came(struct sbx_triager *triager, const struct sbx_stall *stall);
/* Something sealed was. Any thread. */
void sbx_triager_wake(struct sbx_triager *triager);
/* May another payload come to wait? Any thread. */
bool sbx_triager_has_room(struct sbx_triager *triager);

/* Symbols of a build-id came (NULL: names of an embedded runtime), and that is in the store: stalls that lacked them are
 * triaged anew, one at a time, behind all that waits. Any thread. */
void sbx_triager_symbols_came(struct sbx_triager *triager, const uint8_t *build_id, size_t bytes);

/* One rendering that somebody waits for. */
struct sbx_wish {
    uint8_t id[SBX_ID_BYTES];
    enum sbx_rendering kind;
    void (*done)(void *context); /* called once, by any thread; then the rest is there */
    void *context;
    /* Below: the triager's until then. */
    struct sbx_wish *next;
    int result; /* 0; -ENOENT its bytes are gone; -ECANCELED the server stops; -EAGAIN not now; else it cannot be made */
    char why[200];               /* of a person's words */
    struct sbx_byte_buffer body; /* given: sbx_wish_finish */
};

/* Have it made. `wish` is borrowed until `done`. Returns 0, or -EAGAIN when too many wait already, or the server stops: then
 * `done` is not called. Any thread. */
int sbx_triager_wish(struct sbx_triager *triager, struct sbx_wish *wish);
/* Answer all wishes with -ECANCELED, and take no more. NULL is fine. */
void sbx_triager_end_wishes(struct sbx_triager *triager);
void sbx_wish_finish(struct sbx_wish *wish); /* its body */

#endif
