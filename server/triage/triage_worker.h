/* SPDX-License-Identifier: Apache-2.0 */
/* triage_worker.h - a process that turns one payload after the other into a verdict or a rendering. It runs behind a
 * filter of system calls (worker_sandbox.h): it reads symbol files, and a Redis with symbols if there is one; it writes
 * only to its socket. */
#ifndef SBX_TRIAGE_WORKER_H
#define SBX_TRIAGE_WORKER_H

#include <stdbool.h>
#include <stddef.h>

#include "byte_buffer.h"

/* The sources of its names. */
struct sbx_worker_places {
    const char *const *symbol_dirs;
    size_t symbol_dir_count;
    const char *const *index_paths; /* module index files */
    size_t index_path_count;
    const char *provider_dir;  /* names for functions of embedded runtimes; NULL: none */
    const char *symbol_store;  /* a folder, or the URL of Redis; asked before any file */
    const char *symbol_tenant; /* the tenant that it uses there */
    bool skips_local_files;    /* use no other files of this machine */
};

/* Write the places as the first message, before all tasks. Returns 0, -E2BIG or -ENOMEM. */
int sbx_worker_pack_places(const struct sbx_worker_places *places, struct sbx_byte_buffer *greeting_out);

enum {
    SBX_WORKER_CANNOT_BEGIN = 3 /* its exit status when there is no sandbox, or no memory, before any task */
};

/* Take tasks from `socket` until the other end closes, then end the process. Called in a child with one thread. */
_Noreturn void sbx_triage_worker_run(int socket);

#endif
