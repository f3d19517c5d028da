/* SPDX-License-Identifier: Apache-2.0 */
/* control_order.c - a generation, a bell, and the answer. */
#include "control_order.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "order.h"

struct sbx_control_page *sbx_control_page_of(struct sbx_recording_header *header)
{
    return (struct sbx_control_page *)(void *)((char *)header + SBX_CONTROL_AT);
}

void sbx_control_ring(struct sbx_control_page *control)
{
    sbx_add_acq_rel(&control->bell, 1); /* order: release bell - the watch thread sees what was written before */
    syscall(SYS_futex, &control->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

uint32_t sbx_control_order(struct sbx_control_page *control)
{
    /* order: release control.generation - `wanted` is whole */
    uint32_t generation = sbx_add_acq_rel(&control->generation, 1) + 1;
    sbx_control_ring(control);
    return generation;
}

bool sbx_control_is_taken(const struct sbx_control_page *control, uint32_t generation, bool hooks)
{
    const struct sbx_capture_settings *wanted = &control->wanted;
    uint64_t hooked = wanted->enabled != 0 ? wanted->points | SBX_POINT_BIT(SBX_GROUP_LOADER) : 0;
    /* order: acquire control.applied - the settings in force are visible; hooked_points - so are the hooks */
    return sbx_load_acquire(&control->applied) == generation &&
           (!hooks || sbx_load_acquire(&control->hooked_points) == hooked);
}
