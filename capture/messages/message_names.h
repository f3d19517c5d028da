/* SPDX-License-Identifier: Apache-2.0 */
/* message_names.h - the application's names for the kinds of its messages and for its scenes.
 *
 * Each name is stored twice: here, where a forked child finds it, and in the recording, which belongs to the parent
 * alone. */
#ifndef SBX_MESSAGE_NAMES_H
#define SBX_MESSAGE_NAMES_H

#include <stdint.h>

#include "marks.h"

/* Keep the first name that is given to a kind, from 1 to SBX_MESSAGE_KINDS - 1. `name` is only read during the call.
 * Any thread may call it; a forked child may do so before it has a recording. No allocation, no lock. */
SBX_HOOK_SAFE void sbx_message_set_name(uint32_t kind, const char *name);
SBX_HOOK_SAFE void sbx_scene_set_name(uint32_t scene, const char *name); /* the same for a scene, 1 to SBX_SCENES - 1 */

/* Write all names to the recording that has just become this process's. */
void sbx_message_names_publish(void);

#endif
