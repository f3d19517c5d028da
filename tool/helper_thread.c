/* SPDX-License-Identifier: Apache-2.0 */
/* helper_thread.c - one thread at a time. */
#include "helper_thread.h"

#include <pthread.h>
#include <stdbool.h>

#include "unpacked_elf.h"

static pthread_t thread;

static bool begin(void *(*work)(void *), void *context)
{
    return pthread_create(&thread, NULL, work, context) == 0;
}

static void end(void)
{
    pthread_join(thread, NULL);
}

void sbx_helper_thread_offer(void)
{
    static const struct sbx_unpack_helper helper = {begin, end};
    sbx_unpacked_elf_use_helper(&helper);
}
