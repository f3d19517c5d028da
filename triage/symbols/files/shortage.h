/* SPDX-License-Identifier: Apache-2.0 */
/* shortage.h - tells whether a symbol file is missing, or could only not be opened now.
 *
 * A lookup of symbols continues without missing files. If symbols are missing because of a lack of descriptors or
 * memory, or because a disk fails, this is counted here, for the whole process. The owner of the results can check it,
 * and repeat the lookup. Any thread. */
#ifndef SBX_SHORTAGE_H
#define SBX_SHORTAGE_H

#include <stdint.h>

/* A file could not be read because of `error` (an errno, or its negative). It is counted if the error may be
 * temporary. */
void sbx_shortage_note(int error);

uint64_t sbx_shortage_count(void); /* number of errors counted since the process began */
int sbx_shortage_newest(void);     /* errno of the newest; 0: none */

#endif
