/* SPDX-License-Identifier: Apache-2.0 */
/* untried_allocator.h - may memory be asked for before main()? */
#ifndef SBX_UNTRIED_ALLOCATOR_H
#define SBX_UNTRIED_ALLOCATOR_H

#include <stdbool.h>

/* Does the executable define malloc(), and has nothing asked it for memory yet? Lisp systems that keep their heap in the executable (GCL,
 * on which Maxima and Axiom run) make it ready in main(), and crash when a library's constructor allocates before: opendir() and
 * pthread_create() do. Where C++'s library is loaded, that has asked before us; a sanitizer's allocator is ready before all
 * constructors. True is the careful answer: the recorder then begins at a wait (late_start.h). Allocates nothing, itself. Before main(). */
bool sbx_has_untried_allocator(void);

#endif
