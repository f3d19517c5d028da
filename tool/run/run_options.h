/* SPDX-License-Identifier: Apache-2.0 */
/* run_options.h - what the command line of `stallbox run` says. */
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
    const char *app_name;    /* NULL: not told; borrowed from argv */
    uint32_t app_version[3]; /* all 0: not told */
    bool is_quiet;
    bool is_beside;         /* the command takes our place, and its companion goes on beside it */
    struct sbx_policy told; /* the default with what the command line says */
    uint32_t told_options;  /* which of them it says, a bit each: run_options.c */
};

/* Returns 0; -1 when help was printed, which is all that was wanted; or the status to exit with, after a message. */
int sbx_run_options_read(struct sbx_run_options *options_out, int argc, char **argv);

/* What a person said on the command line holds over any policy: write it over `policy`. */
void sbx_run_options_hold(const struct sbx_run_options *options, struct sbx_policy *policy);

#endif
