/* SPDX-License-Identifier: Apache-2.0 */
/* wiped_pages.h - memory that a forked child finds empty: for ids, which are of its parent's recording. */
#ifndef WIPED_PAGES_H
#define WIPED_PAGES_H

#include <stddef.h>

/* Zeroed pages, for good; NULL: there is no memory, or a forked child could not be kept from them. Not in a hook. */
void *wiped_pages(size_t bytes);

#endif
