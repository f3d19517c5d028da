/* SPDX-License-Identifier: Apache-2.0 */
/* perfetto_counts.c - counter tracks of a trace, directly from the records. */
#include "perfetto_counts.h"

#include "clean_text.h"
#include "names.h"
#include "perfetto_tracks.h"

void sbx_perfetto_thread_counts(struct sbx_perfetto *trace, const struct sbx_report *report, uint32_t thread)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_stall_thread *self = &stall->threads[thread];
    char label[SBX_TRACE_LABEL_BYTES];
    sbx_thread_label(stall, thread, label, sizeof label);
    int64_t last_cpu_ns = -1, last_bytes = 0;
    for (size_t i = 0; i < self->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[self->record_begin + i];
        if (record->cpu_ns >= 0 && record->cpu_ns != last_cpu_ns) {
            if (last_cpu_ns < 0) {
                sbx_perfetto_named_track(trace, thread, SBX_TRACK_CPU_TIME, label, "CPU time", "ms");
            }
            sbx_perfetto_count(trace, sbx_track_of(thread, SBX_TRACK_CPU_TIME), record->end_ns,
                               (double)record->cpu_ns / 1e6);
            last_cpu_ns = record->cpu_ns;
        }
        if (record->alloc_bytes > last_bytes) { /* the value only grows; a record made from outside may have none */
            if (last_bytes == 0) {
                sbx_perfetto_named_track(trace, thread, SBX_TRACK_ALLOCATED, label, "allocated", "bytes");
            }
            sbx_perfetto_count(trace, sbx_track_of(thread, SBX_TRACK_ALLOCATED), record->end_ns,
                               (double)record->alloc_bytes);
            last_bytes = record->alloc_bytes;
        }
    }
}

void sbx_perfetto_kernel_counts(struct sbx_perfetto *trace, const struct sbx_report *report)
{
    static const struct {
        const char *name, *unit;
        double scale;
    } counts[SBX_KERNEL_COUNTS] = {
        [SBX_KERNEL_RUN_DELAY] = {"ready", "ms", 1e-3},
        [SBX_KERNEL_MEMORY_SOME] = {"memory pressure, some", "ms", 1e-3},
        [SBX_KERNEL_MEMORY_FULL] = {"memory pressure, full", "ms", 1e-3},
        [SBX_KERNEL_IO_SOME] = {"I/O pressure, some", "ms", 1e-3},
        [SBX_KERNEL_IO_FULL] = {"I/O pressure, full", "ms", 1e-3},
        [SBX_KERNEL_CPU_SOME] = {"CPU pressure, some", "ms", 1e-3},
        [SBX_KERNEL_GROUP_MEMORY_SOME] = {"memory pressure of the group, some", "ms", 1e-3},
        [SBX_KERNEL_GROUP_MEMORY_FULL] = {"memory pressure of the group, full", "ms", 1e-3},
        [SBX_KERNEL_GROUP_THROTTLED] = {"group throttled", "ms", 1e-3},
        [SBX_KERNEL_MINOR_FAULTS] = {"minor faults", "faults", 1},
        [SBX_KERNEL_MAJOR_FAULTS] = {"major faults", "faults", 1},
        [SBX_KERNEL_SWAPPED_KIB] = {"swapped out", "KiB", 1},
        [SBX_KERNEL_DEOPTIMIZED] = {"frames deoptimized", "frames", 1},
        [SBX_KERNEL_COMPILED] = {"compilations", "compilations", 1},
    };
    const struct sbx_stall *stall = report->stall;
    bool is_begun[SBX_KERNEL_COUNTS] = {false};
    uint32_t last_thread = UINT32_MAX;
    for (size_t i = 0; i < stall->count_count; i++) {
        const struct sbx_stall_count *count = &stall->counts[i];
        if (count->what >= SBX_KERNEL_COUNTS || counts[count->what].name == NULL) {
            continue;
        }
        bool is_of_thread = count->what == SBX_KERNEL_RUN_DELAY;
        uint64_t track =
            is_of_thread ? sbx_track_of(count->thread, SBX_TRACK_READY) : SBX_FIRST_MACHINE_TRACK + count->what;
        if (is_of_thread && count->thread != last_thread) {
            char label[SBX_TRACE_LABEL_BYTES];
            sbx_thread_label(stall, count->thread, label, sizeof label);
            sbx_perfetto_named_track(trace, count->thread, SBX_TRACK_READY, label, counts[count->what].name,
                                     counts[count->what].unit);
            last_thread = count->thread;
        } else if (!is_of_thread && !is_begun[count->what]) {
            sbx_perfetto_counter(trace, track, SBX_TRACK_PROCESS, counts[count->what].name, counts[count->what].unit);
            is_begun[count->what] = true;
        }
        sbx_perfetto_count(trace, track, count->at_ns, (double)count->value * counts[count->what].scale);
    }
}
