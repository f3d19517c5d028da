/* SPDX-License-Identifier: Apache-2.0 */
/* watch_writer.c - the one writer of the watch thread. */
#include "watch_writer.h"

#include "process_state.h"
#include "the_capture.h"

static struct sbx_ring_writer writer;
SBX_OF_ONE_PROCESS(writer);

void sbx_watch_put(const struct sbx_record *record)
{
    sbx_ring_put(&sbx_the_capture.ring, &writer, UINT32_MAX, 0, 0, record);
}

void sbx_watch_writer_forget(void)
{
    writer.chunk = NULL;
}
