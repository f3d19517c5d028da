/* SPDX-License-Identifier: Apache-2.0 */
/* names_worker.h - reads sources in a separate process.
 *
 * Sources and archives are untrusted. A forked process reads them behind a filter of system calls, with limits of
 * memory and time. If the process ends while it reads a file, the result names that file, and another process reads the
 * next files. */
#ifndef SBX_NAMES_WORKER_H
#define SBX_NAMES_WORKER_H

#include "class_mapping.h"
#include "name_list.h"

enum sbx_names_runtime {
    SBX_NAMES_PYTHON,
    SBX_NAMES_JAVASCRIPT,
    SBX_NAMES_JAVA, /* a class file, or an archive of class files */
    SBX_NAMES_RUNTIMES
};

/* "python": the name of the runtime's map and provider. */
const char *sbx_names_runtime_name(enum sbx_names_runtime runtime);

/* One file. */
struct sbx_names_job {
    enum sbx_names_runtime runtime;
    struct sbx_name_text file; /* the name that the runtime uses, without the folder */
    struct sbx_name_text text; /* its bytes */
    struct sbx_name_text map;  /* source map of a script, or obfuscator's mapping of classes; or nothing */
    int result; /* out: 0, -ECHILD if the process ended while it read the file, or the result of reading */
};

/* Read `count` files. Their functions are added to `lists`, one for each runtime, as lines of a map. These are not
 * trusted until sbx_provider_map_add() has accepted them. The results are in the jobs. Returns 0, or -errno if no
 * process can be started. Call it only in a process with one thread. */
int sbx_names_worker_read(struct sbx_names_job *jobs, size_t count, struct sbx_name_list lists[SBX_NAMES_RUNTIMES]);

/* Data that the process keeps from one file to the next. It begins as all zero. */
struct sbx_names_reading {
    struct sbx_class_mapping mapping;
    const char *mapped; /* the text from which `mapping` was read; NULL: no mapping was read */
};

/* Read one file in this process; for the worker, tests and fuzzers. */
int sbx_names_read(struct sbx_names_reading *reading, const struct sbx_names_job *job, struct sbx_name_list *list);
void sbx_names_reading_finish(struct sbx_names_reading *reading);

#endif
