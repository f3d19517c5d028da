/* SPDX-License-Identifier: Apache-2.0 */
/* answering_keeper.c - a thread that sleeps until its bell is rung. */
#include "answering_keeper.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "order.h"

static struct {
    struct sbx_recording_builder *keeper;
    void (*look)(struct sbx_recording_builder *keeper);
    pthread_t thread;
    uint32_t ends;
} answering;

static void ring(struct sbx_control_page *control)
{
    sbx_add_acq_rel(&control->bell, 1);
    syscall(SYS_futex, &control->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void *answer(void *unused)
{
    struct sbx_control_page *control = answering.keeper->control;
    uint32_t bell, request;
    for (;;) {
        bell = sbx_load_acquire(&control->bell);
        request = sbx_load_acquire(&control->look_request);
        if (request != control->look_answer) {
            break;
        }
        if (sbx_load_acquire(&answering.ends) != 0) {
            return unused;
        }
        syscall(SYS_futex, &control->bell, FUTEX_WAIT, bell, NULL, NULL, 0);
    }
    if (answering.look != NULL) {
        answering.look(answering.keeper);
    }
    sbx_store_release(&control->look_answer, request);
    return unused;
}

void answering_keeper_begin(struct sbx_recording_builder *keeper, void (*look)(struct sbx_recording_builder *keeper))
{
    answering.keeper = keeper;
    answering.look = look;
    answering.ends = 0;
    if (pthread_create(&answering.thread, NULL, answer, NULL) != 0) {
        perror("pthread_create");
        exit(1);
    }
}

void answering_keeper_end(void)
{
    sbx_store_release(&answering.ends, 1);
    ring(answering.keeper->control);
    pthread_join(answering.thread, NULL);
}
