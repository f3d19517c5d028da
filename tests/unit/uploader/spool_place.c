/* SPDX-License-Identifier: Apache-2.0 */
/* spool_place.c - made in a folder of test_folder.h, removed with it. */
#include "spool_place.h"

#include <stdlib.h>

#include "test_folder.h"

int make_place(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    place->path = sbx_test_folder_make();
    *state = place;
    return sbx_spool_open(place->path, NULL, &place->spool, NULL, 0);
}

int remove_place(void **state)
{
    struct place *place = *state;
    sbx_spool_close(place->spool);
    sbx_test_folder_remove(place->path);
    free(place);
    return 0;
}
