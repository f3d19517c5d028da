/* SPDX-License-Identifier: Apache-2.0 */
/* cost_words.h - what recording cost the program, as the end of a sentence, for the report and for the page. */
#ifndef SBX_COST_WORDS_H
#define SBX_COST_WORDS_H

#include "stall.h"

enum {
    SBX_COST_WORDS_BYTES = 240
};

/* "0.31 % of the application's CPU time, of a budget of 0.5 %". The share is given if the program has run for some
 * time. For a program that has hardly run, the share has no meaning, and the time is given instead. If the cost is over
 * the budget, the reason is given. */
void sbx_cost_words(const struct sbx_stall *stall, char words_out[SBX_COST_WORDS_BYTES]);

#endif
