/* SPDX-License-Identifier: Apache-2.0 */
/* cost_words.h - what recording cost the program, as a sentence's end, for the report and for the page. */
#ifndef SBX_COST_WORDS_H
#define SBX_COST_WORDS_H

#include "stall.h"

enum {
    SBX_COST_WORDS_BYTES = 240
};

/* "0.31 % of the application's CPU time, of a budget of 0.5 %". A share is told of a program that has run; of one that has
 * hardly run it would be of next to nothing, and the time is told instead. What is over the budget comes with its reason. */
void sbx_cost_words(const struct sbx_stall *stall, char words_out[SBX_COST_WORDS_BYTES]);

#endif
