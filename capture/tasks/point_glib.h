/* SPDX-License-Identifier: Apache-2.0 */
/* point_glib.h - GLib's two sorts of sources whose dispatch is seen (point_glib.c), and what is known of its queues (point_glib_pool.c). */
#ifndef SBX_POINT_GLIB_H
#define SBX_POINT_GLIB_H

#include <stdbool.h>

/* Lead the dispatch of idle and timed sources through us, where GLib is loaded, or put it back. For who installs hooks, after that. */
void sbx_glib_follow_sources(bool is_wanted);

/* References to queues are not counted from now on: who has which is not known any more. */
void sbx_glib_forget_references(void);

#endif
