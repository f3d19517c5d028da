/* SPDX-License-Identifier: Apache-2.0 */
/* answering_keeper.h - a recorder that rests until its bell is rung, and then answers the process that asks it to look
 * (guest_look.h). */
#ifndef SBX_TEST_ANSWERING_KEEPER_H
#define SBX_TEST_ANSWERING_KEEPER_H

#include "recording_builder.h"

/* Starts a thread that answers. It calls `look` before each answer; NULL: it calls nothing. Only one keeper at a
 * time. */
void answering_keeper_begin(struct sbx_recording_builder *keeper, void (*look)(struct sbx_recording_builder *keeper));

/* End the thread. By then it has answered once, or nobody has asked. */
void answering_keeper_end(void);

#endif
