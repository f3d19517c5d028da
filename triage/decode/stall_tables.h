/* SPDX-License-Identifier: Apache-2.0 */
/* stall_tables.h - the columns of a payload, checked and turned into the rows of a stall. */
#ifndef SBX_STALL_TABLES_H
#define SBX_STALL_TABLES_H

#include <stallbox/v1/payload.pb-c.h>

#include "stall.h"

/* No callstack may be deeper: twice what the walker keeps. */
enum {
    SBX_STALL_DEPTH_MAX = 1024
};

/* Each reads one table into `stall`, which owns the rows also after a failure. They must be called in this order,
 * because each checks its indexes against earlier tables. Return 0, -ENOMEM, or -EPROTO with the reason. */
int sbx_stall_take_modules(struct sbx_stall *stall, const Stallbox__V1__Modules *columns, char *why, size_t why_bytes);
int sbx_stall_take_frames(struct sbx_stall *stall, const Stallbox__V1__Frames *columns,
                          const Stallbox__V1__Functions *functions, char *why, size_t why_bytes);
int sbx_stall_take_callstacks(struct sbx_stall *stall, const Stallbox__V1__Callstacks *columns, char *why,
                              size_t why_bytes);
int sbx_stall_take_processes(struct sbx_stall *stall, const Stallbox__V1__Processes *columns, char *why,
                             size_t why_bytes);
int sbx_stall_take_threads(struct sbx_stall *stall, const Stallbox__V1__Threads *columns, char *why, size_t why_bytes);
int sbx_stall_take_records(struct sbx_stall *stall, const Stallbox__V1__Records *columns, char *why, size_t why_bytes);
int sbx_stall_take_queues(struct sbx_stall *stall, const Stallbox__V1__Queues *columns, char *why, size_t why_bytes);
int sbx_stall_take_watches(struct sbx_stall *stall, const Stallbox__V1__Watches *columns, char *why, size_t why_bytes);

#endif
