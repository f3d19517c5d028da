/* SPDX-License-Identifier: Apache-2.0 */
/* name_tables.h - names of system libraries and threads that are publicly known. A payload carries their index. */
#ifndef SBX_NAME_TABLES_H
#define SBX_NAME_TABLES_H

#include <stdint.h>

/* Base names of widely installed system libraries. sbx_system_module_index() takes a base name from the process, and
 * returns the index of the equal entry of the table. The text itself is never sent. */
uint32_t sbx_system_module_index(const char *base_name);
const char *sbx_system_module_name(uint32_t index); /* NULL for 0, and for indexes that this build does not know */

/* Patterns of thread names: exact names, or a prefix followed by digits, shown as "prefix#". */
uint32_t sbx_thread_name_index(const char *name);
const char *sbx_thread_name_pattern(uint32_t index); /* "other" for 0 and for unknown indexes */

#endif
