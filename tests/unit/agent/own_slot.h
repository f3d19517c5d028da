/* SPDX-License-Identifier: Apache-2.0 */
/* own_slot.h - makes libstallbox.so call a function of the test in place of one of the C library. A test cannot do this
 * by defining a function of the same name, because the library binds its calls to the C library
 * (capture/modules/own_bindings.h). */
#ifndef SBX_OWN_SLOT_H
#define SBX_OWN_SLOT_H

/* From now on the library's calls of the function `name` go to `function`, in this process and in its forked children.
 * Ends the process when the library does not call such a function. */
void own_slot_take(const char *name, void (*function)(void));

#endif
