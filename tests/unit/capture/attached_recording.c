/* SPDX-License-Identifier: Apache-2.0 */
/* attached_recording.c - made, attached, and let go. */
#include "attached_recording.h"

#include "the_capture.h"

struct sbx_recording_builder *attached_recording;
uint32_t attached_gate[2];

int attached_recording_begin(const struct sbx_thread_end *end)
{
    attached_recording = sbx_recording_builder_create(SBX_RECORDING_SHAPE_FULL, NULL);
    sbx_capture_attach(attached_recording->header);
    attached_gate[0] = attached_gate[1] = 1;
    sbx_the_capture.gate = attached_gate;
    return sbx_thread_registry_start(attached_recording->header, attached_recording->threads, end);
}

int attached_recording_begin_here(const struct sbx_thread_end *end, struct sbx_thread **self_out)
{
    if (attached_recording_begin(end) != 0) {
        return -1;
    }
    *self_out = sbx_thread_register_self();
    return *self_out != NULL ? 0 : -1;
}

int attached_recording_end(void **state)
{
    (void)state;
    sbx_thread_registry_stop();
    sbx_recording_builder_destroy(attached_recording);
    return 0;
}
