/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_counts.h - numbers that the kernel counts about a thread, its control group and the machine.
 *
 * What a thread's own records cannot tell: how long it was ready and did not get a processor (schedstat), and how long
 * tasks stood still for memory, disks or processors (pressure stall information, Linux 4.20). Each is a record of kind
 * SBX_RECORD_KERNEL; two of them around an interval say what happened in it. Watch thread only, and only on ticks that
 * take place anyway: a resting application is not woken for them. What a kernel does not have is asked for once. */
#ifndef SBX_KERNEL_COUNTS_H
#define SBX_KERNEL_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "thread_block.h"

/* Forget what was found missing: a recording begins. */
void sbx_kernel_counts_start(void);

/* One tick: read what is due of a thread that works, or may be kept from working. */
void sbx_kernel_counts_look(struct sbx_thread *thread, uint64_t now_ns);

/* A trigger fired: read everything of this thread now. */
void sbx_kernel_counts_at_trigger(struct sbx_thread *thread, uint64_t now_ns);

/* ---- what the kernel's files say: pure ---- */

/* The second number of a schedstat file: nanoseconds spent ready and not running. False: none there, or the kernel was
 * built without it and says "0 0 0". */
bool sbx_schedstat_delay(const char *text, uint64_t *delay_ns_out);

/* The total of the line that begins with `line` ("some", "full") of a pressure file, in microseconds. */
bool sbx_pressure_total(const char *text, const char *line, uint64_t *total_us_out);

/* Minor and major faults of a stat file, whose second field may hold any bytes. */
bool sbx_stat_faults(const char *text, uint64_t *minor_out, uint64_t *major_out);

/* The value behind `name` at the begin of a line: "VmSwap:", "throttled_usec". */
bool sbx_line_value(const char *text, const char *name, uint64_t *value_out);

/* Path of the process's control group below the mount of a controller, from /proc/self/cgroup: of the unified hierarchy
 * where `controller` is "", else of that one. False: it is in none, or the path has no room. */
bool sbx_control_group_path(const char *text, const char *controller, char *path_out, unsigned path_bytes);

#endif
