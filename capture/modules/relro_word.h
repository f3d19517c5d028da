/* SPDX-License-Identifier: Apache-2.0 */
/* relro_word.h - stores to single words in pages that the loader makes read-only after relocation, while the program
 * runs.
 *
 * A store opens the page and closes it again. If two threads did this at the same time, one could close the page while
 * the other stores. So only one thread may do it at a time: the module thread while it works on a module's slots, or a
 * thread of the program for one word. The module thread waits for the others, which finish within microseconds. The
 * others never wait. */
#ifndef SBX_RELRO_WORD_H
#define SBX_RELRO_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

/* Can the word be written to? The kernel is asked with an atomic addition of 0, which fails where a store would fault
 * (futex(2), FUTEX_WAKE_OP). */
SBX_HOOK_SAFE bool sbx_word_is_writable(const void *word);

/* Called once, before the functions below. */
void sbx_relro_prepare(uint64_t page_bytes);

/* The module thread begins. False: another thread did not finish for a second, and no page may be opened. */
bool sbx_relro_begin(void);
void sbx_relro_end(void);

/* Store a word of a relocated module, in pages that are writable or that the loader made read-only. False: the word is
 * in neither, the pages cannot be opened, or another thread is storing. */
SBX_HOOK_SAFE bool sbx_relro_store(uintptr_t *word, uintptr_t value);

#endif
