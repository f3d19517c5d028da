/* SPDX-License-Identifier: Apache-2.0 */
/* run_environment.h - what `stallbox run` puts into its program's environment: the library, and what its agent must know. */
#ifndef SBX_RUN_ENVIRONMENT_H
#define SBX_RUN_ENVIRONMENT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "policy.h"

struct sbx_run_world {              /* all borrowed */
    const char *library;            /* absolute */
    const char *spool, *recordings; /* folders, absolute */
    uint64_t key, roster;           /* by which its companion knows it (preload.h) */
    const char *app_name;           /* NULL: not told */
    uint32_t app_version[3];
    const struct sbx_policy *policy; /* in force */
    const char *mark;                /* "STALLBOX_COMPANION=..." of its companion; NULL: none */
};

/* libstallbox.so: where STALLBOX_LIBRARY says, else beside this command. False: it is not there. */
bool sbx_run_find_library(char path_out[PATH_MAX]);

/* The file that execvp() will find, for knowing when it is another version. NULL: none. Given: free(). */
char *sbx_run_find_program(const char *name);

/* Our environment with that. A place for the program's own number is in it, to be filled in before exec (child.h). NULL without
 * memory. Given for good: the texts go with us. */
char **sbx_run_environment(const struct sbx_run_world *world);

#endif
