/* SPDX-License-Identifier: Apache-2.0 */
/* triager.h - turns stored payloads into verdicts, and into reports that are asked for.
 *
 * It has some threads, each with a worker process (triage_process.h) that reads the untrusted bytes. The threads take
 * waiting payloads, pass them to the worker, and store its answers. Payloads that wait for a verdict are in the store,
 * and their order is in memory (triage_queue.h), so after a crash or kill the next start continues. Stalls whose
 * symbols came are marked in the store too (store_symbols.h). A report is made when a request asks for it, before all
 * waiting payloads; it changes nothing in the store.
 *
 * A payload that exceeds its bounds, or that ends its worker twice, is set aside with a message for people. After a
 * temporary shortage (disk, memory, descriptors, a worker that the system killed) it is tried again. While a symbol
 * server is unreachable, stalls wait for it for a while. Then they get verdicts without names, and new ones when it is
 * back. */
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

struct sbx_triager_settings { /* borrowed until stop, except `places` and the keys, which are copied */
    struct sbx_store *store;
    struct sbx_sealed_store *sealed;
    struct sbx_renderings *renderings;
    struct sbx_metrics *metrics;
    const struct sbx_operator_log *log; /* NULL: silent */
    struct sbx_symbol_store *symbols;   /* a handle that is used for nothing else */
    const struct sbx_worker_places *places;
    const struct sbx_unseal_keys *unseal_keys; /* NULL: sealed payloads stay sealed */
    struct sbx_triage_nursery *nursery;
    unsigned workers;            /* at least 1 */
    uint32_t cpu_ms;             /* processor time per payload */
    size_t pending_max;          /* maximum of waiting payloads */
    uint32_t symbol_patience_ms; /* how long stalls wait for an unreachable symbol store; 0: the default */
};

/* Returns 0 or -errno. */
int sbx_triager_start(const struct sbx_triager_settings *settings, struct sbx_triager **triager_out);
/* Returns after the current payloads are done. NULL is fine. */
void sbx_triager_stop(struct sbx_triager *triager);

/* This payload, or this end of a stall, was stored. Any thread. */
void sbx_triager_came(struct sbx_triager *triager, const struct sbx_stall *stall);
/* A sealed payload was stored. Any thread. */
void sbx_triager_wake(struct sbx_triager *triager);
/* Is there room for another waiting payload? Any thread. */
bool sbx_triager_has_room(struct sbx_triager *triager);

/* Symbols of a build-id came (NULL: names of an embedded runtime), and the store has noted it. Stalls that lacked them
 * are triaged again one at a time, after all waiting payloads. Any thread. */
void sbx_triager_symbols_came(struct sbx_triager *triager, const uint8_t *build_id, size_t bytes);

/* One rendering that a request waits for. */
struct sbx_wish {
    uint8_t id[SBX_ID_BYTES];
    enum sbx_rendering kind;
    void (*done)(void *context); /* called once, by any thread, when the result is there */
    void *context;
    /* The triager owns the members below until `done` is called. */
    struct sbx_wish *next;
    /* 0; -ENOENT: its bytes are gone; -ECANCELED: the server stops; -EAGAIN: not now; else it cannot be made */
    int result;
    char why[200];               /* words for people */
    struct sbx_byte_buffer body; /* given: sbx_wish_finish */
};

/* Ask for a rendering. `wish` is borrowed until `done`. Returns 0, or -EAGAIN when too many wait already, or the server
 * stops; then `done` is not called. Any thread. */
int sbx_triager_wish(struct sbx_triager *triager, struct sbx_wish *wish);
/* Answer all wishes with -ECANCELED, and accept no more. NULL is fine. */
void sbx_triager_end_wishes(struct sbx_triager *triager);
void sbx_wish_finish(struct sbx_wish *wish); /* releases its body */

#endif
