/* SPDX-License-Identifier: Apache-2.0 */
/* registers.h - where a walk starts: the registers of the function's own frame, or those that a signal interrupted.
 *
 * Each architecture's file defines two macros over a pointer to a structure with the fields of struct
 * sbx_walk_registers:
 *
 *   sbx_registers_here(registers)                        of the function that contains the macro
 *   sbx_registers_interrupted(registers, ucontext)       of the context that a handler was given, which is borrowed */
#ifndef SBX_REGISTERS_H
#define SBX_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__)
#include "registers_x86_64.h"
#elif defined(__aarch64__)
#include "registers_aarch64.h"
#else
#error "registers of this architecture are not known"
#endif

#endif
