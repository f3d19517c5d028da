/* SPDX-License-Identifier: Apache-2.0 */
/* stand_ins.h - functions of the agent that a library is given in place of functions of the program.
 *
 * A library that calls back from inside uses no slot. It may also give nothing by which the call could be known, and
 * the program's memory may not be written to. Then a function of the agent stands for a function of the program for
 * ever, and calls it with the same arguments. There is a fixed number of such functions; further functions of the
 * program stay as they are. A forked child keeps the table, because what was handed over before the fork calls the
 * agent's functions there too.
 *
 * Synchronization: any thread, any function. Two threads that bring the same function at once may take two of the
 * agent's functions for it. */
#ifndef SBX_STAND_INS_H
#define SBX_STAND_INS_H

#include <stdint.h>

#include "marks.h"

enum {
    SBX_STAND_INS = 128,
    SBX_STAND_IN_SEATS = 512, /* power of two: two for each number, and room between them */
};

struct sbx_stand_ins {
    const void *const *ours; /* by number */
    const void *served[SBX_STAND_INS];
    uint32_t count;
    struct sbx_stand_in_seat {
        const void *function; /* of the agent or of the program; NULL: free; (void *)1: being filled in. Set once */
        uint32_t number;
    } seats[SBX_STAND_IN_SEATS];
};

/* The number of the agent's function that stands for `function`, or that is `function`; SBX_STAND_INS: there is none
 * left. */
SBX_HOOK_SAFE uint32_t sbx_stand_in_for(struct sbx_stand_ins *table, const void *function);

/* The number of `function` if it is one of the agent's; SBX_STAND_INS: it is not. */
SBX_HOOK_SAFE uint32_t sbx_stand_in_number(const struct sbx_stand_ins *table, const void *function);

/* The program's function for which number `number` stands. */
SBX_HOOK_SAFE const void *sbx_stand_in_served(const struct sbx_stand_ins *table, uint32_t number);

/* X(n) for each number, in octal, eight in a row. */
#define SBX_EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
/* clang-format off */
#define SBX_STAND_IN_NUMBERS(X) \
    SBX_EIGHT(X, 00) SBX_EIGHT(X, 01) SBX_EIGHT(X, 02) SBX_EIGHT(X, 03) SBX_EIGHT(X, 04) SBX_EIGHT(X, 05) SBX_EIGHT(X, 06) SBX_EIGHT(X, 07) \
    SBX_EIGHT(X, 010) SBX_EIGHT(X, 011) SBX_EIGHT(X, 012) SBX_EIGHT(X, 013) SBX_EIGHT(X, 014) SBX_EIGHT(X, 015) SBX_EIGHT(X, 016) SBX_EIGHT(X, 017)
/* clang-format on */

#endif
