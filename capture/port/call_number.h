/* SPDX-License-Identifier: Apache-2.0 */
/* call_number.h - the number of a system call in recordings and payloads. It is the number of x86-64 on every
 * architecture, so that a reader needs only one table (sbx_syscall_name()). */
#ifndef SBX_CALL_NUMBER_H
#define SBX_CALL_NUMBER_H

#include <stdint.h>

/* Set in a number that is this architecture's own, because the call has no number in that table. */
#define SBX_CALL_UNNAMED UINT64_C(0x10000)

/* Each architecture's file defines sbx_recorded_call_number(number) and nothing else. */
#if defined(__x86_64__)
#include "call_number_x86_64.h"
#elif defined(__aarch64__)
#include "call_number_aarch64.h"
#else
#error "system call numbers of this architecture are not known"
#endif

#endif
