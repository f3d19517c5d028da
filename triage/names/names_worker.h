/* SPDX-License-Identifier: Apache-2.0 */
/* names_worker.h - sources are read in a process of their own.
 *
 * Sources and archives are untrusted. A forked process reads them behind a filter of system calls, with limits of
 * memory and time. If a file ends the process, the result names that file, and another process reads the next files. */
#ifndef SBX_NAMES_WORKER_H
#define SBX_NAMES_WORKER_H

#include "class_mapping.h"
#include "name_list.h"

enum sbx_names_runtime {
    SBX_NAMES_PYTHON,
    SBX_NAMES_JAVASCRIPT,
    SBX_NAMES_JAVA, /* a class file, or an archive of them */
    SBX_NAMES_RUNTIMES
};

/* "python": what its map and its provider are called. */
const char *sbx_names_runtime_name(enum sbx_names_runtime runtime);

/* One file. */
struct sbx_names_job {
    enum sbx_names_runtime runtime;
    struct sbx_name_text file; /* as the runtime calls it, less the folder */
    struct sbx_name_text text; /* its bytes */
    struct sbx_name_text map;  /* of a script its source map, of classes what an obfuscator wrote down; or nothing */
    int result;                /* out: 0, -ECHILD when reading it ended the process, or what reading returned */
};

/* Read `count` files. What they name is added to `lists`, one for each runtime: lines of a map, not to be believed before
 * sbx_provider_map_add() has taken them. Results are in the jobs. Returns 0, or -errno when no process can be had. To be called by a
 * process with one thread. */
int sbx_names_worker_read(struct sbx_names_job *jobs, size_t count, struct sbx_name_list lists[SBX_NAMES_RUNTIMES]);

/* What the process keeps from one file to the next. Begins as zeros. */
struct sbx_names_reading {
    struct sbx_class_mapping mapping;
    const char *mapped; /* where the text lies that it was read of; NULL: none was */
};

/* What the process does with one file; for tests and fuzzers. */
int sbx_names_read(struct sbx_names_reading *reading, const struct sbx_names_job *job, struct sbx_name_list *list);
void sbx_names_reading_finish(struct sbx_names_reading *reading);

#endif
