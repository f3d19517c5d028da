/* SPDX-License-Identifier: Apache-2.0 */
/* cost_words.c - a share, or a time and a reason. */
#include "cost_words.h"

#include <stdio.h>

enum {
    LITTLE_CPU_PPM = 50000, /* recording costs a larger share only if the program has hardly run */
    TENTH_OF_PERCENT_PPM = 1000
};

void sbx_cost_words(const struct sbx_stall *stall, char words_out[SBX_COST_WORDS_BYTES])
{
    uint32_t budget_ppm = stall->overhead.budget_ppm;
    double share = stall->overhead.cost_ppm / 1e4, budget = budget_ppm / 1e4;
    int decimals = budget_ppm % TENTH_OF_PERCENT_PPM == 0 ? 1 : 2;
    if (budget_ppm == 0 || stall->overhead.cost_ppm <= budget_ppm) {
        snprintf(words_out, SBX_COST_WORDS_BYTES, "%.2f %% of the application's CPU time, of a budget of %.*f %%",
                 share, decimals, budget);
    } else if (stall->overhead.cost_ms != 0) {
        double used_ms = stall->overhead.cost_ms * 1e6 / stall->overhead.cost_ppm;
        snprintf(
            words_out, SBX_COST_WORDS_BYTES,
            "at most %u ms of CPU time in all; the application has hardly run itself (%s%.0f ms), so the budget of "
            "%.*f %% of that does not hold yet: the start counts for most of it",
            stall->overhead.cost_ms, used_ms < 10 ? "less than " : "some ", used_ms < 10 ? 10.0 : used_ms, decimals,
            budget);
    } else {
        const char *reason = stall->overhead.cost_ppm > LITTLE_CPU_PPM
                                 ? "the application hardly runs, and the recorder looks at it all the same"
                             : stall->overhead.window_ppm <= budget_ppm
                                 ? "it was spent before the last second: starts and stalls are recorded more closely"
                             : stall->trigger.in_progress ? "a stall is recorded more closely while it lasts"
                                                          : "less is being recorded until it is held again";
        snprintf(words_out, SBX_COST_WORDS_BYTES,
                 "%.2f %% of the application's CPU time, more than the budget of %.*f %%: %s", share, decimals, budget,
                 reason);
    }
}
