/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - the program `stallbox run` runs, as if `stallbox run` were not there: its input, output, signals and exit
 * status pass through. */
#ifndef SBX_CHILD_H
#define SBX_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "memory_kills.h"

enum {
    SBX_CHILD_DIGITS = 10
};

struct sbx_child {
    pid_t pid;
    uint64_t start_ticks; /* with the pid names the process; 0: not known */
    int signal_fd;        /* signalfd: SIGCHLD and what is to be passed on */
    bool has_ended;
    int status;        /* as waitpid gave it */
    uint64_t ended_ns; /* CLOCK_MONOTONIC of that */
    struct sbx_memory_kills memory_kills;
    bool had_no_memory; /* killed, while the kernel counted a kill for want of memory */
    sigset_t mask_before;
    char *
        number_text; /* NULL, or SBX_CHILD_DIGITS characters of its environment where it writes its number before exec */
};

/* Begin: *child is set up, with nothing in `number_text`. Block the signals that are passed on and open the signalfd. Before any thread is started. Returns 0 or -errno. */
int sbx_child_prepare(struct sbx_child *child);

/* Fill in the number of the process that is about to be the program. NULL is fine. */
void sbx_child_put_number(char *text, unsigned number);

/* Start argv[0] (found in PATH) with `environment`. Returns 0; -errno of fork or of exec (-ENOENT: no such program), and
 * then nothing runs. */
int sbx_child_start(struct sbx_child *child, char **argv, char **environment);

/* While it runs, each SBX_MEMORY_KILLS_EVERY_MS. */
void sbx_child_look(struct sbx_child *child);

/* Read what signalfd has: pass signals on, notice stops and the end. */
void sbx_child_on_signal(struct sbx_child *child);

/* End this process as the child ended: with its exit status, or by the signal that ended it. Does not return. */
void sbx_child_end_likewise(const struct sbx_child *child) __attribute__((noreturn));

#endif
