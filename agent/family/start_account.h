/* SPDX-License-Identifier: Apache-2.0 */
/* start_account.h - what the starts of a family's children have cost beyond its CPU budget, and how old a child has to
 * be because of that. Pure.
 *
 * A start and its end cost some SBX_START_COST_US of CPU time. This is nothing for a worker, but a tenth of a session
 * of ten milliseconds. So starts are charged to an account, and the family's own CPU time pays the account back at the
 * rate of the budget. The cost of SBX_STARTS_AHEAD starts is lent, so that all workers of a family can start at once.
 * Beyond that a child is put off: it starts only when it has lived for SBX_PUT_OFF_MS, or longer if more is owed. A
 * stall that is worth a report takes longer than that; a session that ends soon is not recorded. The charge of a worker
 * is refunded when it has worked enough to pay for its own start.
 *
 * The account is one word, changed with compare-and-swap: the time of the last change in milliseconds << 32 | what is
 * owed in microseconds. 0: nothing is owed. */
#ifndef SBX_START_ACCOUNT_H
#define SBX_START_ACCOUNT_H

#include <stdint.h>

enum {
    SBX_START_COST_US = 1000,
    SBX_STARTS_AHEAD = 64,
    SBX_STARTS_OWED_MOST = 64, /* more than that is forgotten */
    SBX_PUT_OFF_MS = 100,
    SBX_PUT_OFF_MOST_MS = 1000,
};

/* The account at `now_ns`. `budget`: ten-thousandths of the family's CPU time, which is `work_permille` of one
 * processor; less than a tenth of a processor counts as a tenth. With a budget of 0 nothing is ever owed. */
uint64_t sbx_start_account_at(uint64_t account, uint64_t now_ns, uint32_t budget, uint32_t work_permille);

/* Charge: one more start. `ahead`: how many starts are lent. Refund: a start that has been paid for. */
uint64_t sbx_start_account_charge(uint64_t account, uint32_t ahead);
uint64_t sbx_start_account_refund(uint64_t account);

/* How old a child has to be; 0: it may start at once. `ahead`: how many starts are lent. */
uint32_t sbx_start_put_off_ms(uint64_t account, uint32_t ahead);

/* How much a worker has to work to pay for its own start. */
uint64_t sbx_start_paid_ns(uint32_t budget);

#endif
