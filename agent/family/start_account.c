/* SPDX-License-Identifier: Apache-2.0 */
/* start_account.c - a leaky bucket of CPU time, which the family's work drains. */
#include "start_account.h"

enum {
    BUDGET_OF_ALL = 10000,
    WORK_LEAST_PERMILLE = 100,
    PUT_OFF_STARTS = 4 /* each such number of starts owed in excess delays a child by SBX_PUT_OFF_MS more */
};

static uint32_t owed_us(uint64_t account)
{
    return (uint32_t)account;
}

static uint64_t with_owed(uint64_t account, uint64_t us)
{
    return (account & ~(uint64_t)UINT32_MAX) | us;
}

uint64_t sbx_start_account_at(uint64_t account, uint64_t now_ns, uint32_t budget, uint32_t work_permille)
{
    uint32_t now_ms = (uint32_t)(now_ns / 1000000), passed_ms = now_ms - (uint32_t)(account >> 32);
    uint64_t work = work_permille > WORK_LEAST_PERMILLE ? work_permille : WORK_LEAST_PERMILLE;
    uint64_t paid_us = passed_ms * work * budget / BUDGET_OF_ALL; /* a millisecond of one processor is 1,000 us */
    if (budget == 0 || owed_us(account) == 0) {
        return (uint64_t)now_ms << 32;
    }
    if (passed_ms > UINT32_MAX / 2 || paid_us == 0) {
        return account; /* another process has changed it meanwhile; or less than 1 us was paid: keep the older time */
    }
    return (uint64_t)now_ms << 32 | (paid_us < owed_us(account) ? owed_us(account) - paid_us : 0);
}

uint64_t sbx_start_account_charge(uint64_t account, uint32_t ahead)
{
    uint64_t owed = (uint64_t)owed_us(account) + SBX_START_COST_US;
    uint64_t most = (uint64_t)(ahead + SBX_STARTS_OWED_MOST) * SBX_START_COST_US;
    return with_owed(account, owed < most ? owed : most);
}

uint64_t sbx_start_account_refund(uint64_t account)
{
    uint32_t owed = owed_us(account);
    return with_owed(account, owed > SBX_START_COST_US ? owed - SBX_START_COST_US : 0);
}

uint32_t sbx_start_put_off_ms(uint64_t account, uint32_t ahead)
{
    uint32_t lent_us = ahead * SBX_START_COST_US;
    if (owed_us(account) < lent_us) {
        return 0;
    }
    uint32_t more = (owed_us(account) - lent_us) / (PUT_OFF_STARTS * SBX_START_COST_US);
    uint32_t ms = SBX_PUT_OFF_MS * (1 + more);
    return ms < SBX_PUT_OFF_MOST_MS ? ms : SBX_PUT_OFF_MOST_MS;
}

uint64_t sbx_start_paid_ns(uint32_t budget)
{
    return budget != 0 ? (uint64_t)SBX_START_COST_US * 1000 * BUDGET_OF_ALL / budget : 0;
}
