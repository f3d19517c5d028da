/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - the program that `stallbox run` runs, as if `stallbox run` did not exist: input, output, signals and exit
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
    uint64_t start_ticks; /* identifies the process together with the pid; 0: not known */
    int signal_fd;        /* signalfd: SIGCHLD, and the signals to pass on */
    bool has_ended;
    int status;        /* from waitpid() */
    uint64_t ended_ns; /* CLOCK_MONOTONIC of the end */
    struct sbx_memory_kills memory_kills;
    bool had_no_memory; /* it was killed while the kernel counted a kill for lack of memory */
    sigset_t mask_before;
    char *
        number_text; /* NULL, or SBX_CHILD_DIGITS characters of its environment where it writes its number before exec */
};

/* Set up *child, with `number_text` NULL. Block the signals that are passed on, and open the signalfd. Call this before
 * any thread is started. Returns 0 or -errno. */
int sbx_child_prepare(struct sbx_child *child);

/* Write the number of the process that will be the program. NULL is fine. */
void sbx_child_put_number(char *text, unsigned number);

/* Start argv[0] (found in PATH) with `environment`. Returns 0; -errno of fork or of exec (-ENOENT: no such program), and
 * then nothing runs. */
int sbx_child_start(struct sbx_child *child, char **argv, char **environment);

/* Call this while the program runs, every SBX_MEMORY_KILLS_EVERY_MS. */
void sbx_child_look(struct sbx_child *child);

/* Read the signalfd: pass signals on, and notice stops and the end. */
void sbx_child_on_signal(struct sbx_child *child);

/* End this process as the child ended: with its exit status, or by the signal that ended it. Never returns. */
void sbx_child_end_likewise(const struct sbx_child *child) __attribute__((noreturn));

#endif
