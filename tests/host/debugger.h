/* SPDX-License-Identifier: Apache-2.0 */
/* debugger.h - a tracer of all threads of a host, in the order in which gdb does it: it attaches, lets them go on, and is told of their signals. */
#ifndef DEBUGGER_H
#define DEBUGGER_H

#include <stdbool.h>
#include <sys/types.h>

enum {
    DEBUGGER_THREADS = 64
};

struct debugger {
    pid_t pid;
    pid_t tids[DEBUGGER_THREADS]; /* the first thread is the first */
    int count;
    int shown; /* real-time signals that it was told of */
};

/* Stop and trace all threads of the process. False: it is not allowed; nothing is traced then. */
bool debugger_attach(struct debugger *debugger, pid_t pid);

/* Let them go on, the first thread first, and be told of their signals, which they get, for so long. */
void debugger_go_on(struct debugger *debugger, long ms);

/* Stop them all, and let them go. */
void debugger_detach(struct debugger *debugger);

#endif
