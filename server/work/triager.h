/* SPDX-License-Identifier: Apache-2.0 */
/* triager.h - the one thread that turns stored payloads into verdicts and rendered reports.
 *
 * What waits is in the store, not in memory: after a crash or kill the next start goes on where this one stopped. The
 * thread owns the symbolizer. It is told of new payloads (wake) and of renderings someone asks for that are no longer
 * there (want). */
#ifndef SBX_TRIAGER_H
#define SBX_TRIAGER_H

#include <stdio.h>

#include "metrics.h"
#include "renderings.h"
#include "sealed_store.h"
#include "store.h"

struct sbx_triager_sources { /* borrowed until sbx_triager_start returns */
    const char *const *symbol_dirs;
    size_t symbol_dir_count;
    const char *const *index_paths;
    size_t index_path_count;
    const struct sbx_unseal_keys *unseal_keys; /* NULL: what is sealed stays so */
};

struct sbx_triager;

/* `store`, `sealed`, `renderings`, `metrics` and `log` (may be NULL) are borrowed until stop. Returns 0 or -errno. */
int sbx_triager_start(struct sbx_store *store, struct sbx_sealed_store *sealed, struct sbx_renderings *renderings,
                      struct sbx_metrics *metrics, FILE *log, const struct sbx_triager_sources *sources,
                      struct sbx_triager **triager_out);
/* Ends after the payload at hand. NULL is fine. */
void sbx_triager_stop(struct sbx_triager *triager);

/* There is something new in the store. Any thread. */
void sbx_triager_wake(struct sbx_triager *triager);

/* Render this triaged snapshot again, before all that waits. Any thread. Forgotten when too many are wanted already:
 * who wants it asks again. */
void sbx_triager_want(struct sbx_triager *triager, const uint8_t id[SBX_ID_BYTES]);

#endif
