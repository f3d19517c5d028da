/* SPDX-License-Identifier: Apache-2.0 */
/* start_account.h - what the starts of a family's children have cost beyond its CPU budget, and how old a child has to be because of that. Pure.
 *
 * A start and its end take some SBX_START_COST_US of CPU time, which is nothing for a worker and a tenth of a session of ten milliseconds. So starts are
 * charged to an account, which the family's own CPU time pays back at the rate of the budget. What SBX_STARTS_AHEAD starts take is lent: all workers of a
 * family begin at once. Beyond that a child is put off: it begins only once it has lived for SBX_PUT_OFF_MS, or longer where more is owed. A
 * stall that is worth a report takes longer; a session that ends soon is not recorded. A worker that has worked enough to pay for its own start has
 * its charge taken back.
 *
 * The account is one word, which its users exchange: the time of its last change in milliseconds << 32 | what is owed in microseconds. 0: nothing is. */
#ifndef SBX_START_ACCOUNT_H
#define SBX_START_ACCOUNT_H

#include <stdint.h>

enum {
    SBX_START_COST_US = 1000,
    SBX_STARTS_AHEAD = 64,
    SBX_STARTS_OWED_MOST = 64, /* beyond those: more is forgotten */
    SBX_PUT_OFF_MS = 100,
    SBX_PUT_OFF_MOST_MS = 1000,
};

/* The account at `now_ns`. `budget`: ten-thousandths of the family's CPU time, which is `work_permille` of one processor, and counts as a tenth of one
 * where it is less. A budget of 0 is none: nothing is ever owed. */
uint64_t sbx_start_account_at(uint64_t account, uint64_t now_ns, uint32_t budget, uint32_t work_permille);

/* One more start, or one that was paid for otherwise. `ahead`: how many are lent. */
uint64_t sbx_start_account_charge(uint64_t account, uint32_t ahead);
uint64_t sbx_start_account_refund(uint64_t account);

/* How old a child has to be; 0: it may begin at once. */
uint32_t sbx_start_put_off_ms(uint64_t account, uint32_t ahead);

/* How much a worker has to work to pay for its own start. */
uint64_t sbx_start_paid_ns(uint32_t budget);

#endif
