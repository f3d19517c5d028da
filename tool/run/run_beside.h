/* SPDX-License-Identifier: Apache-2.0 */
/* run_beside.h - what has to be done before the program takes the place of `stallbox run --beside` is done by a child of it.
 *
 * A service manager starts the command as it would start the service: under its limits, and below its filter of system calls, which may end
 * whoever makes another. Here that costs the recording, and the program starts without it: before it does, the process that becomes it has only
 * forked, read a pipe and waited. */
#ifndef SBX_RUN_BESIDE_H
#define SBX_RUN_BESIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "marks.h"

enum {
    SBX_BESIDE_WITHOUT = 64 /* status of a child that has said why nothing is recorded */
};

struct sbx_beside {
    pid_t child; /* 0: this is it */
    int end;     /* of the pipe, ours */
    char *text;  /* the environment's strings, one behind the other */
    char **environment;
};

/* Fork. Both return here: 0 or -errno. */
SBX_MUST_CHECK int sbx_beside_part(struct sbx_beside *beside);

/* The child: tell what the program is to be started with. The companion is there by then. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_beside_tell(const struct sbx_beside *beside, char *const *environment);

/* The other: wait for the child. Returns its wait status; beside->environment is NULL unless it has told all of it. */
int sbx_beside_wait(struct sbx_beside *beside);

#endif
