/* SPDX-License-Identifier: Apache-2.0 */
/* thread_block.c - the identity of the calling thread, and where the blocks of all threads are.
 *
 * This is apart from thread_registry.c because handlers and hooks need only these words. */
#include "thread_block.h"

#include "fork_path.h"
#include "process_state.h"
#include "the_capture.h"

__thread struct sbx_thread *sbx_self;
__thread struct sbx_thread_entry *sbx_own_entry = &sbx_entry_of_strangers;
struct sbx_thread_entry sbx_entry_of_strangers = {.countdown = INT64_MIN / 2};
struct sbx_thread_entry sbx_entry_of_nobody SBX_FORK_DATA = {.countdown =
                                                                 INT64_MAX}; /* hooks of a forked child count here */
struct sbx_thread *sbx_thread_blocks[SBX_THREADS_MAX];

uint32_t sbx_asking_is_forbidden;
uint32_t sbx_watch_inside;
SBX_OF_ONE_PROCESS(sbx_thread_blocks);
SBX_OF_ONE_PROCESS(sbx_watch_inside);

uint32_t sbx_thread_count(void)
{
    return sbx_load_acquire(&sbx_the_capture.header->thread_count); /* order: acquire header.thread_count */
}
