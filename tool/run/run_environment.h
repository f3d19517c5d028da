/* SPDX-License-Identifier: Apache-2.0 */
/* run_environment.h - what `stallbox run` adds to its program's environment: the library, and the settings for its
 * agent. */
#ifndef SBX_RUN_ENVIRONMENT_H
#define SBX_RUN_ENVIRONMENT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "policy.h"

struct sbx_run_world {              /* all borrowed */
    const char *library;            /* absolute path */
    const char *spool, *recordings; /* absolute paths of folders */
    uint64_t key, roster;           /* its companion knows the program by these (preload.h) */
    const char *app_name;           /* NULL: not given */
    uint32_t app_version[3];
    const struct sbx_policy *policy; /* the policy in force */
    const char *mark;                /* "STALLBOX_COMPANION=..." of the companion; NULL: none */
};

/* Find libstallbox.so: at STALLBOX_LIBRARY, else next to this command. False: it does not exist. */
bool sbx_run_find_library(char path_out[PATH_MAX]);

/* Find the file that execvp() will run, to notice another version later. NULL: none. Given: free(). */
char *sbx_run_find_program(const char *name);

/* Our environment with these additions. It has a place for the program's own number, to be filled in before exec
 * (child.h). NULL without memory. Never freed. */
char **sbx_run_environment(const struct sbx_run_world *world);

#endif
