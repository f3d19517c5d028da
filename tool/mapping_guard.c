/* SPDX-License-Identifier: Apache-2.0 */
/* mapping_guard.c - a handler for SIGBUS that stays in: which thread is inside is the thread's own word. */
#include "mapping_guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

static _Thread_local sigjmp_buf *way_out; /* NULL: a fault is our own */

static void leave_the_mapping(int number)
{
    if (way_out != NULL) {
        siglongjmp(*way_out, 1);
    }
    signal(number, SIG_DFL);
    raise(number); /* with the return, and it ends us as it would have */
}

static void put_in(void)
{
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_handler = leave_the_mapping;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGBUS, &ours, NULL);
}

bool sbx_mapping_survive(void (*act)(void *context), void *context)
{
    sigjmp_buf here;
    bool is_done = false;
    put_in(); /* and left in: another thread may be inside */
    if (sigsetjmp(here, 1) == 0) {
        way_out = &here;
        act(context);
        is_done = true;
    }
    way_out = NULL;
    return is_done;
}
