/* SPDX-License-Identifier: Apache-2.0 */
/* signal_changes.h - one word that says which threads are setting the action of which signals now.
 *
 *     signal_changes   bits 0 to 7    the signal that is being taken or tried out
 *                      TAKING         its handler may change at any moment; the handler replaced is not known
 *                      TRYING         the agent has it; the watch thread does not block it (sample_signal.c, probe())
 *                      LEFT           a thread has waited in vain for the end of that state, and goes on
 *                      SETTER times   running calls of the program that set the action of any of these signals
 *
 * sample_number.h describes the protocol. This header has the part that the handler needs as well: it waits until it is
 * settled to whom the signal belongs. */
#ifndef SBX_SIGNAL_CHANGES_H
#define SBX_SIGNAL_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

#define SBX_SIGNAL_NUMBER UINT32_C(0xff)
#define SBX_SIGNAL_SETTER UINT32_C(0x100) /* up to 0xffff00 */
#define SBX_SIGNAL_LEFT   UINT32_C(0x20000000)
#define SBX_SIGNAL_TRYING UINT32_C(0x40000000)
#define SBX_SIGNAL_TAKING UINT32_C(0x80000000)

/* Wait until the word has none of `states` for that signal, for a fifth of a second at most, because the agent's thread
 * does not always get a processor. For hooks and the handler. False: one of them still holds. */
SBX_SIGNAL_SAFE bool sbx_signal_changes_await(int number, uint32_t states);

#endif
