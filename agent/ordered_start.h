/* SPDX-License-Identifier: Apache-2.0 */
/* ordered_start.h - the start that `stallbox run` has ordered, and the report of its result. */
#ifndef SBX_ORDERED_START_H
#define SBX_ORDERED_START_H

#include "preload.h"

/* Apply the orders that hold for every process of this program, before its start or that of a child that it forks. */
void sbx_ordered_start_prepare(const struct sbx_preload_orders *orders);

/* Start. The program runs whatever the result is; the companion learns the result through its roster. */
void sbx_ordered_start(const char *recordings_folder, const char *spool_path, const struct sbx_preload_orders *orders);

#endif
