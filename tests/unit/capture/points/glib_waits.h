/* SPDX-License-Identifier: Apache-2.0 */
/* glib_waits.h - the functions that are on the stacks of the waits and wakes of glib_waits.c. */
#ifndef GLIB_WAITS_H
#define GLIB_WAITS_H

void glib_wait_for_mutex(void);
void glib_release_mutex(void);
void glib_wait_for_condition(void);
void glib_signal(void);
void child_waits_in_glib(void);

#endif
