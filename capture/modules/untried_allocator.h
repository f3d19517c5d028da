/* SPDX-License-Identifier: Apache-2.0 */
/* untried_allocator.h - may the agent allocate memory before main()? */
#ifndef SBX_UNTRIED_ALLOCATOR_H
#define SBX_UNTRIED_ALLOCATOR_H

#include <stdbool.h>

/* Does the executable define malloc(), and has no code asked it for memory yet? Lisp systems that keep their heap in
 * the executable (GCL, on which Maxima and Axiom run) prepare it in main(). They crash when a library's constructor
 * allocates before that, as opendir() and pthread_create() do. If C++'s library is loaded, it has already allocated
 * memory. A sanitizer's allocator is ready before all constructors. True is the careful answer: then the recorder
 * begins at a wait (late_start.h). This function allocates nothing. Before main(). */
bool sbx_has_untried_allocator(void);

#endif
