/* SPDX-License-Identifier: Apache-2.0 */
/* stand_ins.c - a table by the functions' addresses, in which no entry moves or is removed. */
#include "stand_ins.h"

#include <stddef.h>

#include "order.h"

#define BUSY ((const void *)1)

static uint32_t place_of(const void *function, uint32_t probe)
{
    return ((uint32_t)((uint64_t)(uintptr_t)function * UINT64_C(0x9e3779b97f4a7c15) >> 40) + probe) %
           SBX_STAND_IN_SEATS;
}

static uint32_t find(const struct sbx_stand_ins *table, const void *function)
{
    for (uint32_t i = 0; i < SBX_STAND_IN_SEATS; i++) {
        const struct sbx_stand_in_seat *seat = &table->seats[place_of(function, i)];
        const void *found = sbx_load_acquire(&seat->function); /* order: acquire seat.function - its number is there */
        if (found == function) {
            return seat->number;
        }
        if (found == NULL) {
            break;
        }
    }
    return SBX_STAND_INS;
}

static void take_seat(struct sbx_stand_ins *table, const void *function, uint32_t number)
{
    for (uint32_t i = 0; i < SBX_STAND_IN_SEATS; i++) {
        struct sbx_stand_in_seat *seat = &table->seats[place_of(function, i)];
        const void *nobody = NULL;
        if (sbx_load_relaxed(&seat->function) == NULL &&       /* relaxed: the exchange looks again */
            sbx_cas_acq_rel(&seat->function, &nobody, BUSY)) { /* order: acq_rel seat.function - one fills it in */
            seat->number = number;
            sbx_store_release(&seat->function, function); /* order: release seat.function - its number is there */
            return;
        }
    }
}

SBX_HOOK_SAFE uint32_t sbx_stand_in_for(struct sbx_stand_ins *table, const void *function)
{
    uint32_t known = find(table, function);
    if (known < SBX_STAND_INS) {
        return known;
    }
    uint32_t number = sbx_load_relaxed(&table->count); /* relaxed: the exchange looks again */
    do {
        if (number >= SBX_STAND_INS) {
            return SBX_STAND_INS;
        }
    } while (
        !sbx_cas_acq_rel(&table->count, &number, number + 1)); /* order: acq_rel stand_ins.count - one a function */
    sbx_store_release(&table->served[number], function); /* order: release stand_ins.served - before ours is used */
    take_seat(table, table->ours[number], number);
    take_seat(table, function, number);
    return number;
}

SBX_HOOK_SAFE uint32_t sbx_stand_in_number(const struct sbx_stand_ins *table, const void *function)
{
    uint32_t number = function != NULL ? find(table, function) : SBX_STAND_INS;
    return number < SBX_STAND_INS && table->ours[number] == function ? number : SBX_STAND_INS;
}

SBX_HOOK_SAFE const void *sbx_stand_in_served(const struct sbx_stand_ins *table, uint32_t number)
{
    return sbx_load_acquire(&table->served[number]); /* order: acquire stand_ins.served */
}
