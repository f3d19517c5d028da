/* SPDX-License-Identifier: Apache-2.0 */
/* triager.h - the one thread that turns stored payloads into verdicts and rendered reports.
 *
 * What waits is in the store, not in memory: after a crash or kill the next start goes on where this one stopped. The
 * thread owns the symbolizer (symbol_sources.h). It is told of new payloads (wake) and of renderings someone asks for that are no longer
 * there (want). Stalls whose symbols came are marked in the store too (store_symbols.h). */
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

/* Render this triaged snapshot again, before all that waits. Any thread. Forgotten when too many are wanted already:
 * who wants it asks again. */
void sbx_triager_want(struct sbx_triager *triager, const uint8_t id[SBX_ID_BYTES]);

#endif
