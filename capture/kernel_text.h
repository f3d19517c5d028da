/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_text.h - parses the kernel's files about a thread, its control group and the machine.
 *
 * Pure: the input is a text that ends with a zero, the output is numbers. Some of these texts contain parts chosen by
 * others, such as the name of a thread or of a control group. */
#ifndef SBX_KERNEL_TEXT_H
#define SBX_KERNEL_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* The second number of a schedstat file: nanoseconds spent ready but not running. False: there is none, or the kernel
 * was built without it and says "0 0 0". */
bool sbx_schedstat_delay(const char *text, uint64_t *delay_ns_out);

/* The total of the line that begins with `line` ("some", "full") of a pressure file, in microseconds. */
bool sbx_pressure_total(const char *text, const char *line, uint64_t *total_us_out);

/* The minor and major faults of a stat file. Its second field may contain any bytes. */
bool sbx_stat_faults(const char *text, uint64_t *minor_out, uint64_t *major_out);

/* The value after `name` at the begin of a line: "VmSwap:", "throttled_usec". */
bool sbx_line_value(const char *text, const char *name, uint64_t *value_out);

/* The path of the process's control group below the mount of a controller, from /proc/self/cgroup. `controller` ""
 * means the unified hierarchy. False: the process is in no such group, or there is no room for the path. */
bool sbx_control_group_path(const char *text, const char *controller, char *path_out, unsigned path_bytes);

#endif
