/* SPDX-License-Identifier: Apache-2.0 */
/* shortage.c - a count and an errno. */
#include "shortage.h"

#include <errno.h>
#include <stdatomic.h>

static _Atomic uint64_t count;
static _Atomic int newest;

void sbx_shortage_note(int error)
{
    int positive = error < 0 ? -error : error;
    if (positive != EMFILE && positive != ENFILE && positive != ENOMEM && positive != EIO) {
        return;
    }
    atomic_store(&newest, positive);
    atomic_fetch_add(&count, 1);
}

uint64_t sbx_shortage_count(void)
{
    return atomic_load(&count);
}

int sbx_shortage_newest(void)
{
    return atomic_load(&newest);
}
