/* SPDX-License-Identifier: Apache-2.0 */
/* process_facts.h - whether the process that a recording names is alive, as far as we may know. */
#ifndef SBX_PROCESS_FACTS_H
#define SBX_PROCESS_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

/* What is known now of the process a recording names. */
struct sbx_process_facts {
    bool is_running;        /* a process with that pid exists, and the kernel is not ending it */
    bool has_let_go;        /* the lock that it holds while it lives could be had: it is gone */
    uint64_t start_ticks;   /* when it started, field 22 of its stat */
    uint64_t pid_namespace; /* in which `pid` was looked up; 0: not known */
    uint8_t boot_id[16];    /* of the running kernel */
    uint32_t signal;        /* the signal that ended it, from its parent's waitpid(2); 0: none, or not known */
    bool had_no_memory;     /* from its parent: the kernel killed it for want of memory */
};

/* What a line of /proc/PID/stat says. */
struct sbx_process_stat {
    char state;
    bool is_ending;       /* field 9: its first thread makes no step of its own any more; it may not be a zombie yet */
    uint32_t threads;     /* field 20 */
    uint64_t start_ticks; /* field 22 */
};

/* Returns 0, or -EINVAL: it is no such line. Any thread: changes nothing but errno. */
SBX_MUST_CHECK int sbx_process_stat_parse(const char *text, struct sbx_process_stat *stat_out);

/* Ask /proc; fills all but has_let_go and what the parent knows. Returns 0, or -errno when it cannot be asked; "no such process" is an
 * answer. */
SBX_MUST_CHECK int sbx_process_facts_read(uint32_t pid, struct sbx_process_facts *facts_out);

#endif
