/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_worker.h - sbx_symbol_make() in a process of its own.
 *
 * Symbol files come from strangers, and the libraries that read them were not made for that. The worker has the open
 * files and nothing else: a filter of its system calls lets it open no file and reach no network, its memory, its time
 * and what it writes have limits, and when it dies the caller goes on. What it wrote is not believed either:
 * sbx_symbol_store_commit() checks all of it. */
#ifndef SBX_SYMBOL_WORKER_H
#define SBX_SYMBOL_WORKER_H

#include "symbol_make.h"

/* As sbx_symbol_make(), and -ECHILD when the worker died, -ETIME when its time was over; words in `why`. To be called by
 * a process with one thread. `memory_bytes` is the limit of its address space, beside the files themselves;
 * 0: 4 GiB. */
int sbx_symbol_worker_make(const struct sbx_making *making, uint64_t memory_bytes, char *why, size_t why_bytes);

#endif
