/* SPDX-License-Identifier: Apache-2.0 */
/* shortage.h - "later" is not "never": whether a file of symbols was missing, or could only not be opened now.
 *
 * A lookup of symbols goes on without missing ones. Where symbols are missing for lack of descriptors or memory, or because a
 * disk fails, it is noted here, for the whole process: a keeper of the results can ask, and repeat the lookup. Any thread. */
#ifndef SBX_SHORTAGE_H
#define SBX_SHORTAGE_H

#include <stdint.h>

/* `error` (an errno, or its negative) kept a file from being read: noted if it is one of those that pass. */
void sbx_shortage_note(int error);

uint64_t sbx_shortage_count(void); /* of those noted since the process began */
int sbx_shortage_newest(void);     /* errno of the newest; 0: there was none */

#endif
