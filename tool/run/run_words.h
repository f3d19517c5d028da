/* SPDX-License-Identifier: Apache-2.0 */
/* run_words.h - what `stallbox run` says of its program: that nothing of it is recorded, and, at the end, what was recorded
 * and what was not. Apart from run.c so that a sentence is found where sentences are. */
#ifndef SBX_RUN_WORDS_H
#define SBX_RUN_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "courier.h"
#include "handover_taker.h"
#include "roster.h"
#include "snapshot_fates.h"

struct sbx_run_told {
    const char *program;      /* as it was called */
    uint32_t pid;             /* of it */
    const char *recordings;   /* folder */
    const char *spool;        /* folder */
    const char *server_url;   /* NULL: none */
    const char *server_error; /* why the last attempt to send failed; "": it did not */
    uint64_t lived_ms;        /* how long the program has run */
    uint32_t judged_ms;       /* the shortest stall that is reported; a shorter life had none */
    bool is_quiet;            /* say only what went wrong */
};

/* The path without its folders. */
const char *sbx_run_name(const char *program);

/* What mends a spool that could not be opened. `error`: -errno. */
const char *sbx_run_spool_remedy(int error);

/* One line: nothing is recorded of the program, why, and the remedy. */
void sbx_run_tell_off(const char *program, const char *why, const char *remedy);

/* The same for the state in the roster, when there is one. Returns whether there was. `has_ended`: a program without a state by now
 * will have none. */
bool sbx_run_tell_state(const struct sbx_run_told *told, const struct sbx_roster *roster, bool has_ended);

/* At the end: what was recorded, and what was not and why. */
void sbx_run_tell_end(const struct sbx_run_told *told, const struct sbx_roster *roster,
                      const struct sbx_snapshot_fates *fates);

/* What no snapshot was made of, also when the program ended well: the agent, which nobody hears, has asked us for each that it could not
 * write. */
void sbx_run_tell_failures(const struct sbx_handover_counts *counts);

/* What the courier could not do. */
void sbx_run_tell_courier(const char *spool, const struct sbx_courier_counts *counts);

/* The program has ended, but not all that it started: say whether a companion attends them. `result`: 0, or -errno without one. */
void sbx_run_tell_stay(const char *program, bool is_quiet, int result);

#endif
