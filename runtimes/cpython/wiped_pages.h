/* SPDX-License-Identifier: Apache-2.0 */
/* wiped_pages.h - memory that a forked child finds empty. It is used for ids, which belong to the parent's
 * recording. */
#ifndef WIPED_PAGES_H
#define WIPED_PAGES_H

#include <stddef.h>

/* Returns zeroed pages that are never freed. NULL: there is no memory, or a forked child could not be kept from the
 * pages. Not to be called in a hook. */
void *wiped_pages(size_t bytes);

#endif
