/* SPDX-License-Identifier: Apache-2.0 */
/* run_words.h - the messages of `stallbox run` about its program: that nothing is recorded, and, at the end, what was
 * recorded and what was not. All sentences are in this file, apart from run.c. */
#ifndef SBX_RUN_WORDS_H
#define SBX_RUN_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "courier.h"
#include "handover_taker.h"
#include "roster.h"
#include "snapshot_fates.h"

struct sbx_run_told {
    const char *program;      /* as it was named on the command line */
    uint32_t pid;             /* of the program */
    const char *recordings;   /* folder */
    const char *spool;        /* folder */
    const char *server_url;   /* NULL: none */
    const char *server_error; /* why the last attempt to send failed; "": it did not */
    uint64_t lived_ms;        /* run time of the program */
    uint32_t judged_ms;       /* the shortest stall that is reported; a program that ran for less has none */
    bool is_quiet;            /* print only what went wrong */
};

/* The path without its folders. */
const char *sbx_run_name(const char *program);

/* How to repair a spool that could not be opened. `error`: -errno. */
const char *sbx_run_spool_remedy(int error);

/* One line: nothing is recorded of the program, the reason, and the remedy. */
void sbx_run_tell_off(const char *program, const char *why, const char *remedy);

/* The same for the state in the roster, if there is one. Returns whether there was. `has_ended`: a program without a
 * state now will never have one. */
bool sbx_run_tell_state(const struct sbx_run_told *told, const struct sbx_roster *roster, bool has_ended);

/* At the end: what was recorded, and what was not and why. */
void sbx_run_tell_end(const struct sbx_run_told *told, const struct sbx_roster *roster,
                      const struct sbx_snapshot_fates *fates);

/* Snapshots that could not be made, also when the program ended well. The agent cannot print, so it has reported each
 * failure to the companion. */
void sbx_run_tell_failures(const struct sbx_handover_counts *counts);

/* What the courier could not do. */
void sbx_run_tell_courier(const char *spool, const struct sbx_courier_counts *counts);

/* The program has ended, but not all processes that it started: report whether a companion attends them. `result`: 0,
 * or -errno without one. */
void sbx_run_tell_stay(const char *program, bool is_quiet, int result);

#endif
