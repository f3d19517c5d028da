/* SPDX-License-Identifier: Apache-2.0 */
/* mapping_guard.h - memory of a file that another process can cut short: a look at it is then a SIGBUS, and costs that look. */
#ifndef SBX_MAPPING_GUARD_H
#define SBX_MAPPING_GUARD_H

#include <stdbool.h>

/* Do it, or be thrown out of it: false, when the file has become shorter than its mapping. What is called holds nothing, or
 * says in `context` what its caller is to give back. Any thread; faults of other threads and outside of it are as fatal as
 * before. */
bool sbx_mapping_survive(void (*act)(void *context), void *context);

#endif
