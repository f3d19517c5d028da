/* SPDX-License-Identifier: Apache-2.0 */
/* call_number_x86_64.h - the numbers are recorded as they are. Included by call_number.h only. */
#ifndef SBX_CALL_NUMBER_X86_64_H
#define SBX_CALL_NUMBER_X86_64_H

static inline uint64_t sbx_recorded_call_number(uint64_t number)
{
    return number;
}

#endif
