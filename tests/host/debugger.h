/* SPDX-License-Identifier: Apache-2.0 */
/* debugger.h - a tracer of all threads of a host, in the order in which gdb does it: it attaches, lets the threads
 * continue, and is notified of their signals. */
#ifndef DEBUGGER_H
#define DEBUGGER_H

#include <stdbool.h>
#include <sys/types.h>

enum {
    DEBUGGER_THREADS = 64
};

struct debugger {
    pid_t pid;
    pid_t tids[DEBUGGER_THREADS]; /* tids[0] is the first thread */
    int count;
    int shown; /* number of real-time signals that were shown to it */
};

/* Stop and trace all threads of the process. False: not allowed; then nothing is traced. */
bool debugger_attach(struct debugger *debugger, pid_t pid);

/* Let the threads continue, the first thread first, for `ms`. The debugger is notified of their signals and passes them
 * on. */
void debugger_go_on(struct debugger *debugger, long ms);

/* Stop all threads and detach from them. */
void debugger_detach(struct debugger *debugger);

#endif
