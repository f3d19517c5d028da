/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_worker.h - runs sbx_symbol_make() in a process of its own.
 *
 * Symbol files come from strangers, and the libraries that read them were not made for that. The worker has only the
 * open files. A filter of its system calls lets it open no file and reach no network. Its memory, its time and the size
 * of its output have limits. If it dies, the caller continues. Its output is not trusted either:
 * sbx_symbol_store_commit() checks all of it. */
#ifndef SBX_SYMBOL_WORKER_H
#define SBX_SYMBOL_WORKER_H

#include "symbol_make.h"

/* As sbx_symbol_make(), and -ECHILD if the worker died, -ETIME if its time was over; with a text in `why`. Call it only
 * in a process with one thread. `memory_bytes` limits its address space, in addition to the files themselves; 0: 4
 * GiB. */
int sbx_symbol_worker_make(const struct sbx_making *making, uint64_t memory_bytes, char *why, size_t why_bytes);

#endif
