/* SPDX-License-Identifier: Apache-2.0 */
/* process_facts.h - is the process that a recording names alive, as far as we can know? */
#ifndef SBX_PROCESS_FACTS_H
#define SBX_PROCESS_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

/* What is known now of the process that a recording names. */
struct sbx_process_facts {
    bool is_running;        /* a process with that pid exists, and the kernel is not ending it */
    bool has_let_go;        /* the lock that the process holds while it lives was obtained: it has ended */
    uint64_t start_ticks;   /* start time of the process, field 22 of its stat file */
    uint64_t pid_namespace; /* in which `pid` was looked up; 0: not known */
    uint8_t boot_id[16];    /* of the running kernel */
    uint32_t signal;        /* the signal that ended it, from its parent's waitpid(2); 0: none, or not known */
    bool had_no_memory;     /* reported by its parent: the kernel killed it because of lack of memory */
};

/* The values of a line of /proc/PID/stat. */
struct sbx_process_stat {
    char state;
    bool is_ending;       /* field 9: its first thread runs no own code any more; it may not be a zombie yet */
    uint32_t threads;     /* field 20 */
    uint64_t start_ticks; /* field 22 */
};

/* Returns 0, or -EINVAL if the text is no such line. Any thread: changes nothing but errno. */
SBX_MUST_CHECK int sbx_process_stat_parse(const char *text, struct sbx_process_stat *stat_out);

/* Read /proc; fills everything except has_let_go and the values that only the parent knows. Returns 0, or -errno if
 * /proc cannot be read; "no such process" is a valid answer. */
SBX_MUST_CHECK int sbx_process_facts_read(uint32_t pid, struct sbx_process_facts *facts_out);

#endif
