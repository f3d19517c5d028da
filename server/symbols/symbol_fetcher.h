/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_fetcher.h - one thread that asks a debuginfod server for the symbols that stalls lack.
 *
 *   store_symbols.h gives the missing build-ids, those that most stalls lack first
 *   fetch_helper.h fetches a file
 *   symbol_intake.h takes it like a file that a person sends: a process parses it, the store keeps it, and stalls are
 *   named anew
 *
 * Build-ids tell which programs people run. So this runs only when the operator names a server, and asks for nothing
 * that a page would not show (--min-machines). No request waits for it. */
#ifndef SBX_SYMBOL_FETCHER_H
#define SBX_SYMBOL_FETCHER_H

#include <stddef.h>
#include <stdint.h>

#include "metrics.h"
#include "operator_log.h"
#include "store.h"

struct sbx_fetch_helper;
struct sbx_symbol_intake;
struct sbx_symbol_fetcher;

struct sbx_fetcher_settings { /* borrowed until stop, except the texts, which are copied */
    const char *url;          /* checked: sbx_debuginfod_is_url() */
    const char *data_dir;     /* its folder "fetched" has the file that is being fetched */
    struct sbx_store *store;
    struct sbx_symbol_intake *intake; /* must exist longer than the fetcher */
    struct sbx_fetch_helper *helper;
    struct sbx_metrics *metrics;
    const struct sbx_operator_log *log; /* NULL: silent */
    uint32_t every_ms;                  /* interval of the search for missing symbols; 0: half a minute */
};

/* Returns 0 or -errno. */
int sbx_symbol_fetcher_start(const struct sbx_fetcher_settings *settings, struct sbx_symbol_fetcher **fetcher_out);
/* Stop, also in the middle of a fetch. Call it after sbx_symbol_intake_end() and before sbx_symbol_intake_destroy().
 * NULL is fine. */
void sbx_symbol_fetcher_stop(struct sbx_symbol_fetcher *fetcher);

/* The pause before asking again for what the server did not have, `times` in a row: ten minutes, doubled each time, a
 * day at most. */
uint32_t sbx_fetch_again_s(uint32_t times);

/* What was asked for, and when to ask again: a table of bounded size; the oldest entry is dropped first. Pure. */
struct sbx_fetch_memory;
struct sbx_fetch_memory *sbx_fetch_memory_create(size_t max);   /* NULL without memory */
void sbx_fetch_memory_destroy(struct sbx_fetch_memory *memory); /* NULL is fine */
/* May `build_id` (hex) be asked for at `now_s`? */
int sbx_fetch_memory_allows(const struct sbx_fetch_memory *memory, const char *build_id, uint64_t now_s);
/* Note that it was asked for at `now_s`. */
void sbx_fetch_memory_note(struct sbx_fetch_memory *memory, const char *build_id, uint64_t now_s);

#endif
