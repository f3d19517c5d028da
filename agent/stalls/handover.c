/* SPDX-License-Identifier: Apache-2.0 */
/* handover.c - asks the companion for a snapshot. */
#include "handover.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "the_capture.h"
#include "the_agent.h"

/* The companion answers within some 20 ms; later on a machine that waits for processors or a disk. Recording goes on
 * meanwhile, and the ring holds some ten seconds, so this may be long. Other triggers count as busy during that
 * time. */
#define LONGEST_NS UINT64_C(3000000000)

static struct {
    int descriptor;   /* of the recording; -1: there is no companion, or no way to wake it */
    uint32_t request; /* the last request */
} handover = {.descriptor = -1};

static struct sbx_handover *block(void)
{
    return &sbx_the_capture.control->handover;
}

void sbx_handover_start(void)
{
    handover.request = block()->request;
    handover.descriptor = -1;
    if (block()->key != 0) {
        handover.descriptor = open(sbx_the_agent.recording.path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    }
}

void sbx_handover_forget_parent(void)
{
    handover.descriptor = -1;
    handover.request = 0;
}

static bool has_been_answered(void)
{
    /* order: acquire handover.answer - the result belongs to this answer, and the snapshot has its name */
    return sbx_load_acquire(&block()->answer) == handover.request;
}

bool sbx_handover_begin(const struct sbx_trigger_entry *trigger, uint32_t error, uint64_t now_ns)
{
    /* A companion that was killed or stopped costs one wait, and not one for each stall. When it runs again, it answers
     * the waiting request, too late, and is asked again. */
    if (handover.descriptor < 0 || !has_been_answered()) {
        return false;
    }
    struct sbx_handover *wanted = block();
    wanted->trigger = *trigger;
    wanted->error = error;
    wanted->until_ns = now_ns + LONGEST_NS;
    handover.request++;
    sbx_store_release(&wanted->request, handover.request); /* order: release handover.request - the rest is whole */
    const off_t wake_at = SBX_CONTROL_AT + (off_t)offsetof(struct sbx_control_page, handover.wake);
    uint8_t byte = *(const volatile uint8_t *)&wanted->wake;
    ssize_t wrote;
    do {
        wrote = pwrite(handover.descriptor, &byte, 1, wake_at);
    } while (wrote < 0 && errno == EINTR);
    return true; /* even if the wake-up failed: the companion may look by itself */
}

bool sbx_handover_is_over(uint64_t now_ns, int *result_out)
{
    if (has_been_answered()) {
        *result_out = -(int)(block()->result & 0xfff); /* no errno is larger, whatever was written there */
        return true;
    }
    *result_out = -ETIME;
    return now_ns >= block()->until_ns;
}

uint64_t sbx_handover_due_ns(void)
{
    return block()->until_ns;
}

void sbx_handover_wait(uint32_t ms)
{
    uint32_t answer = sbx_load_acquire(&block()->answer); /* order: acquire handover.answer */
    if (answer != handover.request) {
        const struct timespec pause = {0, (long)ms * 1000000};
        syscall(SYS_futex, &block()->answer, FUTEX_WAIT, answer, &pause, NULL, 0);
    }
}
