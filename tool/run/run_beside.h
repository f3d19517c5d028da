/* SPDX-License-Identifier: Apache-2.0 */
/* run_beside.h - a child process prepares everything before the program replaces `stallbox run --beside`.
 *
 * A service manager starts the command as it would start the service: under its limits, and under its filter of system
 * calls, which may kill a process that makes another call. Such a kill then costs only the recording, and the program
 * starts without it. The process that becomes the program has only forked, read a pipe and waited before. */
#ifndef SBX_RUN_BESIDE_H
#define SBX_RUN_BESIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "marks.h"

enum {
    SBX_BESIDE_WITHOUT = 64 /* exit status of a child that has printed why nothing is recorded */
};

struct sbx_beside {
    pid_t child; /* 0: this process is the child */
    int end;     /* our end of the pipe */
    char *text;  /* strings of the environment, one after the other */
    char **environment;
};

/* Fork. Both processes return from here: 0 or -errno. */
SBX_MUST_CHECK int sbx_beside_part(struct sbx_beside *beside);

/* In the child: send the environment for the program. The companion is running by then. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_beside_tell(const struct sbx_beside *beside, char *const *environment);

/* In the parent: wait for the child. Returns its wait status. beside->environment is NULL unless all of it arrived. */
int sbx_beside_wait(struct sbx_beside *beside);

#endif
