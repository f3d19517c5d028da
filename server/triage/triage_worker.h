/* SPDX-License-Identifier: Apache-2.0 */
/* triage_worker.h - a process that turns one payload after the other into a verdict or a rendering.
 *
 * It is behind a filter of system calls (worker_sandbox.h): it reads files of symbols, and a Redis of them where there is one;
 * it writes to its socket, and nothing else. */
#ifndef SBX_TRIAGE_WORKER_H
#define SBX_TRIAGE_WORKER_H

#include <stdbool.h>
#include <stddef.h>

#include "byte_buffer.h"

/* Where its names come from. */
struct sbx_worker_places {
    const char *const *symbol_dirs;
    size_t symbol_dir_count;
    const char *const *index_paths; /* module index files */
    size_t index_path_count;
    const char *provider_dir;  /* names of embedded runtimes' functions; NULL: none */
    const char *symbol_store;  /* a folder, or the URL of Redis; asked before any file */
    const char *symbol_tenant; /* whose symbols there */
    bool skips_local_files;    /* of this machine's files none but these */
};

/* The places as the message in front of all tasks. 0, -E2BIG or -ENOMEM. */
int sbx_worker_pack_places(const struct sbx_worker_places *places, struct sbx_byte_buffer *greeting_out);

enum {
    SBX_WORKER_CANNOT_BEGIN = 3 /* it ended with this status: there is no sandbox, or no memory, before any task */
};

/* Take tasks from `socket` until its other end closes, and end the process. Called in a child with one thread. */
_Noreturn void sbx_triage_worker_run(int socket);

#endif
