/* SPDX-License-Identifier: Apache-2.0 */
/* run_options.h - the options on the command line of `stallbox run`. */
#ifndef SBX_RUN_OPTIONS_H
#define SBX_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "delivery_options.h"
#include "policy.h"

struct sbx_run_options {
    struct sbx_delivery_options delivery;
    char **command;          /* the program and its arguments, in argv */
    const char *app_name;    /* NULL: not given; borrowed from argv */
    uint32_t app_version[3]; /* all 0: not given */
    bool is_quiet;
    bool is_beside;         /* the program replaces this process, and its companion runs beside it */
    struct sbx_policy told; /* the default policy with the options of the command line */
    uint32_t told_options;  /* the options that were given, one bit each (run_options.c) */
};

/* Returns 0; -1 when only help was wanted, which was printed; or the exit status, after a message. */
int sbx_run_options_read(struct sbx_run_options *options_out, int argc, char **argv);

/* Write the options that were given into `policy`, because they have priority over any policy. */
void sbx_run_options_hold(const struct sbx_run_options *options, struct sbx_policy *policy);

#endif
