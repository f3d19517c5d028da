/* SPDX-License-Identifier: Apache-2.0 */
/* signal_changes.h - the word that says who sets the action of which signals just now.
 *
 *     signal_changes   bits 0 to 7    the signal that is being taken, or tried out
 *                      TAKING         its handler may change under us; whom our handler has is not known
 *                      TRYING         it is ours, and the watch thread does not block it (probe() of sample_signal.c)
 *                      LEFT           somebody has waited in vain for the end of that, and goes on
 *                      SETTER times   calls of the program's under way that set the action of any of these signals
 *
 * sample_number.h has the protocol. Here is what the handler needs of it too: it waits until whose the signal is has been
 * settled. */
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

/* Until `states` do not hold for that signal any more, a fifth of a second at most: our thread is not always given a
 * processor. For hooks and the handler. False: they still hold. */
SBX_SIGNAL_SAFE bool sbx_signal_changes_await(int number, uint32_t states);

#endif
