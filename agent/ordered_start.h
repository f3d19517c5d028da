/* SPDX-License-Identifier: Apache-2.0 */
/* ordered_start.h - the start that `stallbox run` has ordered, and word of what came of it. */
#ifndef SBX_ORDERED_START_H
#define SBX_ORDERED_START_H

#include "preload.h"

/* What is ordered for any process of this program: before its start, or that of a child that it forks. */
void sbx_ordered_start_prepare(const struct sbx_preload_orders *orders);

/* Whatever it comes to, the program runs; the companion is told through its roster. */
void sbx_ordered_start(const char *recordings_folder, const char *spool_path, const struct sbx_preload_orders *orders);

#endif
