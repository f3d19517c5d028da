/* SPDX-License-Identifier: Apache-2.0 */
/* triager.h - the one thread that turns stored payloads into verdicts, and into reports that somebody asks for.
 *
 * What waits for a verdict is in the store, not in memory: after a crash or kill the next start goes on where this one
 * stopped. The thread owns the symbolizer (symbol_sources.h). It is told of new payloads (wake). Stalls whose symbols came are
 * marked in the store too (store_symbols.h). Reports are made for those who wish for one, before all that waits; that changes
 * nothing in the store. */
#ifndef SBX_TRIAGER_H
#define SBX_TRIAGER_H

#include <stdio.h>

#include "metrics.h"
#include "renderings.h"
#include "sealed_store.h"
#include "store.h"
#include "symbol_sources.h"

struct sbx_triager;

/* `store`, `sealed`, `renderings`, `metrics` and `log` (may be NULL) are borrowed until stop, `places` as symbol_sources.h
 * says; the keys are copied, NULL: what is sealed stays so. Returns 0 or -errno. */
int sbx_triager_start(struct sbx_store *store, struct sbx_sealed_store *sealed, struct sbx_renderings *renderings,
                      struct sbx_metrics *metrics, FILE *log, const struct sbx_symbol_places *places,
                      const struct sbx_unseal_keys *unseal_keys, struct sbx_triager **triager_out);
/* Ends after the payload at hand. NULL is fine. */
void sbx_triager_stop(struct sbx_triager *triager);

/* There is something new in the store. Any thread. */
void sbx_triager_wake(struct sbx_triager *triager);

/* Symbols of a build-id came (NULL: names of an embedded runtime), and that is in the store: stalls that lacked them are
 * triaged anew, one at a time, behind all that waits. Any thread. */
void sbx_triager_symbols_came(struct sbx_triager *triager, const uint8_t *build_id, size_t bytes);

enum {
    SBX_RENDERING_BYTES_MAX = 8 << 20 /* what is larger is not made */
};

/* One rendering that somebody waits for. */
struct sbx_wish {
    uint8_t id[SBX_ID_BYTES];
    enum sbx_rendering kind;
    void (*done)(void *context); /* called once, by any thread; then the rest is there */
    void *context;
    /* Below: the triager's until then. */
    struct sbx_wish *next;
    int result; /* 0; -ENOENT its bytes are gone; -ECANCELED the server stops; else it cannot be made, and `why` says why */
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
