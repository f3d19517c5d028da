/* SPDX-License-Identifier: Apache-2.0 */
/* spool_place.h - a cmocka fixture: a folder with an open spool in it. */
#ifndef SBX_SPOOL_PLACE_H
#define SBX_SPOOL_PLACE_H

#include "spool.h"

struct place {
    char *path;
    struct sbx_spool *spool;
};

/* Set-up and tear-down: *state is a struct place. */
int make_place(void **state);
int remove_place(void **state);

#endif
