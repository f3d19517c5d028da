/* SPDX-License-Identifier: Apache-2.0 */
/* point_glib.h - the two kinds of GLib sources whose dispatch is seen (point_glib.c), and what is known of its queues
 * (point_glib_pool.c). */
#ifndef SBX_POINT_GLIB_H
#define SBX_POINT_GLIB_H

#include <stdbool.h>

/* Make the dispatch of idle and timed sources lead to the agent, where GLib is loaded, or put it back. The installer of
 * hooks calls this when it has finished. */
void sbx_glib_follow_sources(bool is_wanted);

/* From now on references to queues are not counted, so the old counts are dropped. */
void sbx_glib_forget_references(void);

#endif
