/* SPDX-License-Identifier: Apache-2.0 */
/* message_names.h - what an application calls the kinds of its messages, and its scenes.
 *
 * A name stands twice: here, where a forked child finds it, and in the recording, which is the parent's alone. */
#ifndef SBX_MESSAGE_NAMES_H
#define SBX_MESSAGE_NAMES_H

#include <stdint.h>

#include "marks.h"

/* Keep the first name of a kind, 1 to SBX_MESSAGE_KINDS - 1. `name` is borrowed until return. Any thread; in a forked child also before it has a
 * recording. No allocation, no lock. */
SBX_HOOK_SAFE void sbx_message_set_name(uint32_t kind, const char *name);
SBX_HOOK_SAFE void sbx_scene_set_name(uint32_t scene, const char *name); /* likewise of a scene, 1 to SBX_SCENES - 1 */

/* Write all of them to the recording, which has just become this process's. */
void sbx_message_names_publish(void);

#endif
