/* SPDX-License-Identifier: Apache-2.0 */
/* relro_word.h - single words of pages that the loader makes read-only after relocation, stored to while the program runs.
 *
 * Who stores opens the pages and closes them again; two who did that at once could close each other's. So one at a time: the module thread for as long as it is
 * at a module's slots, or a thread of the program for one word. The first waits for the others, which are done in microseconds; these wait for nobody. */
#ifndef SBX_RELRO_WORD_H
#define SBX_RELRO_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

/* Can the word be written to? Asked of the kernel with an atomic addition of nothing, which fails where a store would fault
 * (futex(2), FUTEX_WAKE_OP). */
SBX_HOOK_SAFE bool sbx_word_is_writable(const void *word);

/* Once, before any of the rest. */
void sbx_relro_prepare(uint64_t page_bytes);

/* The module thread begins; false: somebody did not come to an end for a second, and nothing may be opened. */
bool sbx_relro_begin(void);
void sbx_relro_end(void);

/* Store a word of a module that is relocated: in pages that can be written to, or in those that its loader made read-only. False: the word is
 * in neither, they cannot be opened, or another thread is at such pages. */
SBX_HOOK_SAFE bool sbx_relro_store(uintptr_t *word, uintptr_t value);

#endif
