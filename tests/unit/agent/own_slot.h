/* SPDX-License-Identifier: Apache-2.0 */
/* own_slot.h - a function of a test's own for one that libstallbox.so calls. To have the name is not enough: the library binds its
 * calls to the C library (capture/modules/own_bindings.h). */
#ifndef SBX_OWN_SLOT_H
#define SBX_OWN_SLOT_H

/* From here on the library's calls of the function `name` come to `function`, in this process and in those forked from it. Ends
 * the process when it calls no such function. */
void own_slot_take(const char *name, void (*function)(void));

#endif
