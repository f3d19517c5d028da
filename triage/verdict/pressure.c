/* SPDX-License-Identifier: Apache-2.0 */
/* pressure.c - which resources the machine and the control group were short of during a stall. */
#include "pressure.h"

#include <stdio.h>

#include "kernel_growth.h"
#include "verdict_words.h"

/* Less than a tenth of the time is normal. */
#define SHARE_MIN 0.1

/* `ns` > 0 is for a crash: it judges no interval, and a tenth of 0 is 0. */
static bool is_worth_telling(double ns, const struct sbx_judgement *judgement)
{
    return ns > 0 && ns >= judgement->split.wall_ns * SHARE_MIN;
}

static struct sbx_kernel_growth growth_of(const struct sbx_stall *stall, const struct sbx_judgement *judgement,
                                          enum sbx_kernel_count what)
{
    return sbx_kernel_growth_of(stall, stall->trigger.thread, what, judgement->split.interval);
}

double sbx_pressure_throttled_ns(const struct sbx_stall *stall, const struct sbx_judgement *judgement)
{
    struct sbx_kernel_growth throttled = growth_of(stall, judgement, SBX_KERNEL_GROUP_THROTTLED);
    return throttled.is_known ? throttled.value * 1000 : 0;
}

/* "memory pressure: some tasks of the machine stood still for it for 300 ms of 800 ms, all of them for 100 ms" */
static void tell_one(const struct sbx_stall *stall, const struct sbx_judgement *judgement, const char *resource,
                     const char *whose, enum sbx_kernel_count some, enum sbx_kernel_count full,
                     struct sbx_verdict *verdict)
{
    char duration[SBX_DURATION_TEXT_BYTES], wall[SBX_DURATION_TEXT_BYTES], all[SBX_DURATION_TEXT_BYTES];
    char behind[64] = "";
    struct sbx_kernel_growth growth = growth_of(stall, judgement, some);
    if (!growth.is_known || !is_worth_telling(growth.value * 1000, judgement)) {
        return;
    }
    sbx_duration_text(growth.value * 1000, duration);
    sbx_duration_text(judgement->split.wall_ns, wall);
    struct sbx_kernel_growth whole = growth_of(stall, judgement, full);
    if (full != SBX_KERNEL_NONE && whole.is_known && is_worth_telling(whole.value * 1000, judgement)) {
        sbx_duration_text(whole.value * 1000, all);
        snprintf(behind, sizeof behind, ", all that had work for %s", all);
    }
    sbx_evidence_add(verdict, "pressure", growth.value / 1000,
                     "%s pressure: some task of %s stood still for it during %s of %s%s (PSI)", resource, whose,
                     duration, wall, behind);
}

void sbx_pressure_tell(const struct sbx_stall *stall, const struct sbx_judgement *judgement,
                       struct sbx_verdict *verdict)
{
    char duration[SBX_DURATION_TEXT_BYTES];
    double throttled_ns = sbx_pressure_throttled_ns(stall, judgement);
    uint64_t swapped_kib = 0;
    if (is_worth_telling(throttled_ns, judgement)) {
        sbx_duration_text(throttled_ns, duration);
        sbx_evidence_add(verdict, "throttled", throttled_ns / 1e6,
                         "its control group had used up its CPU quota and was throttled for %s", duration);
    }
    tell_one(stall, judgement, "memory", "the machine", SBX_KERNEL_MEMORY_SOME, SBX_KERNEL_MEMORY_FULL, verdict);
    tell_one(stall, judgement, "memory", "its control group", SBX_KERNEL_GROUP_MEMORY_SOME,
             SBX_KERNEL_GROUP_MEMORY_FULL, verdict);
    if (verdict->off_cpu_by_ms[SBX_CAUSE_IO] + verdict->off_cpu_by_ms[SBX_CAUSE_MEMORY] > 0 ||
        verdict->cause == SBX_CAUSE_IO) {
        tell_one(stall, judgement, "I/O", "the machine", SBX_KERNEL_IO_SOME, SBX_KERNEL_IO_FULL, verdict);
    }
    if (is_worth_telling(verdict->runnable_ms * 1e6, judgement)) {
        tell_one(stall, judgement, "CPU", "the machine", SBX_KERNEL_CPU_SOME, SBX_KERNEL_NONE, verdict);
    }
    if (sbx_kernel_value_at(stall, stall->trigger.thread, SBX_KERNEL_SWAPPED_KIB, 0, &swapped_kib) &&
        swapped_kib >= 1024) {
        sbx_evidence_add(verdict, "swap", (double)swapped_kib / 1024, "%.1f MiB of the process were swapped out",
                         (double)swapped_kib / 1024);
    }
}
