/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_counts.c - numbers that the kernel counts about a thread, its control group and the machine. */
#include "kernel_counts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel_text.h"
#include "providers.h"
#include "the_capture.h"
#include "thread_block.h"
#include "watch_writer.h"

enum {
    GROUP_PATH_BYTES = 192,
    TEXT_BYTES = 2048, /* the longest of these files is status, with some 1,500 bytes */
};

/* Opening, reading and closing one of these files takes 5 to 13 us (measured on a VM of two cores, Linux 6.18). Shorter
 * distances would place a delay more exactly within an interval. These distances are a tenth of the shortest interval
 * that is judged. */
#define LOOP_EVERY_NS    UINT64_C(100000000)  /* run-queue delay of the judged thread: 50 us a second */
#define THREAD_EVERY_NS  UINT64_C(500000000)  /* the same for other running threads: 10 us a second each */
#define MACHINE_EVERY_NS UINT64_C(1000000000) /* all other files: 50 us a second while the application works */

/* A file with totals of time. */
struct count_file {
    const char *path;   /* NULL: memory.pressure of the control group */
    uint8_t some, full; /* enum sbx_kernel_count */
};

static const struct count_file pressure_files[] = {
    {"/proc/pressure/memory", SBX_KERNEL_MEMORY_SOME, SBX_KERNEL_MEMORY_FULL},
    {"/proc/pressure/io", SBX_KERNEL_IO_SOME, SBX_KERNEL_IO_FULL},
    {"/proc/pressure/cpu", SBX_KERNEL_CPU_SOME, SBX_KERNEL_NONE}, /* "full" is 0 by definition */
    {NULL, SBX_KERNEL_GROUP_MEMORY_SOME, SBX_KERNEL_GROUP_MEMORY_FULL},
};

static struct {
    bool has_no_schedstat, has_no_pressure[SBX_COUNT_OF(pressure_files)], has_no_quota;
    bool is_group_known;
    char group[GROUP_PATH_BYTES];           /* path in the unified hierarchy */
    char quota_path[GROUP_PATH_BYTES + 48]; /* file with the throttled time of the group; "": none */
    uint64_t machine_ns;                    /* when the counts of the machine were last read */
} counts;

/* ---- reading ---- */

static bool read_text(const char *path, char text[TEXT_BYTES])
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return false;
    }
    ssize_t got = read(file, text, TEXT_BYTES - 1);
    close(file);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static void put(const struct sbx_thread *thread, uint64_t now_ns, enum sbx_kernel_count what, uint64_t value)
{
    const struct sbx_record record = {.kind = SBX_RECORD_KERNEL,
                                      .op = (uint8_t)what,
                                      .thread = thread->index,
                                      .begin_ns = now_ns,
                                      .end_ns = now_ns,
                                      .message = thread->entry->message,
                                      .amount = value};
    sbx_watch_put(&record);
}

static void read_run_delay(struct sbx_thread *thread, uint64_t now_ns)
{
    char path[48], text[TEXT_BYTES];
    uint64_t delay_ns;
    thread->counted_ns = now_ns;
    if (counts.has_no_schedstat) {
        return;
    }
    snprintf(path, sizeof path, "/proc/self/task/%u/schedstat", thread->tid);
    if (!read_text(path, text)) {
        counts.has_no_schedstat = access("/proc/self/schedstat", R_OK) != 0; /* readable: the thread has ended */
    } else if (sbx_schedstat_delay(text, &delay_ns)) {
        put(thread, now_ns, SBX_KERNEL_RUN_DELAY, delay_ns / 1000);
    }
}

/* Find the file with the throttled time of the control group: cgroup v2 and v1 in their usual places. In a container
 * with a cgroup namespace the path is "/", and the mounted hierarchy is the container's own. */
static void find_group(void)
{
    char text[TEXT_BYTES], path[GROUP_PATH_BYTES];
    counts.is_group_known = true;
    counts.group[0] = counts.quota_path[0] = '\0';
    if (!read_text("/proc/self/cgroup", text)) {
        return;
    }
    if (sbx_control_group_path(text, "", path, sizeof path) && strcmp(path, "/") != 0) {
        memcpy(counts.group, path, sizeof path);
    }
    snprintf(counts.quota_path, sizeof counts.quota_path, "/sys/fs/cgroup%s/cpu.stat", counts.group);
    if (access(counts.quota_path, R_OK) != 0) {
        bool has_path = sbx_control_group_path(text, "cpu", path, sizeof path) && strcmp(path, "/") != 0;
        snprintf(counts.quota_path, sizeof counts.quota_path, "/sys/fs/cgroup/cpu%s/cpu.stat", has_path ? path : "");
    }
}

static void read_quota(const struct sbx_thread *thread, uint64_t now_ns)
{
    char text[TEXT_BYTES];
    uint64_t value;
    if (counts.has_no_quota) {
        return;
    }
    if (!read_text(counts.quota_path, text)) {
        counts.has_no_quota = true;
    } else if (sbx_line_value(text, "throttled_usec ", &value)) {
        put(thread, now_ns, SBX_KERNEL_GROUP_THROTTLED, value);
    } else if (sbx_line_value(text, "throttled_time ", &value)) {
        put(thread, now_ns, SBX_KERNEL_GROUP_THROTTLED, value / 1000); /* cgroup v1 counts in nanoseconds */
    } else {
        counts.has_no_quota = true;
    }
}

static void read_pressure(const struct sbx_thread *thread, uint64_t now_ns, unsigned which)
{
    const struct count_file *file = &pressure_files[which];
    char path[GROUP_PATH_BYTES + 48], text[TEXT_BYTES];
    uint64_t total_us;
    if (counts.has_no_pressure[which]) {
        return;
    }
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.pressure", counts.group);
    if (!read_text(file->path != NULL ? file->path : path, text)) {
        counts.has_no_pressure[which] = true; /* an old kernel, psi=0, or a namespace without /proc/pressure */
        return;
    }
    if (sbx_pressure_total(text, "some", &total_us)) {
        put(thread, now_ns, (enum sbx_kernel_count)file->some, total_us);
    }
    if (file->full != SBX_KERNEL_NONE && sbx_pressure_total(text, "full", &total_us)) {
        put(thread, now_ns, (enum sbx_kernel_count)file->full, total_us);
    }
}

static void read_memory(const struct sbx_thread *thread, uint64_t now_ns)
{
    char path[48], text[TEXT_BYTES];
    uint64_t minor, major, swapped_kib;
    snprintf(path, sizeof path, "/proc/self/task/%u/stat", thread->tid);
    if (read_text(path, text) && sbx_stat_faults(text, &minor, &major)) {
        put(thread, now_ns, SBX_KERNEL_MINOR_FAULTS, minor);
        put(thread, now_ns, SBX_KERNEL_MAJOR_FAULTS, major);
    }
    if (read_text("/proc/self/status", text) && sbx_line_value(text, "VmSwap:", &swapped_kib)) {
        put(thread, now_ns, SBX_KERNEL_SWAPPED_KIB, swapped_kib);
    }
}

static void read_machine(const struct sbx_thread *thread, uint64_t now_ns)
{
    counts.machine_ns = now_ns;
    if (!counts.is_group_known) {
        find_group();
    }
    for (unsigned i = 0; i < SBX_COUNT_OF(pressure_files); i++) {
        read_pressure(thread, now_ns, i);
    }
    read_quota(thread, now_ns);
    read_memory(thread, now_ns);
}

/* Read the counts of the first runtime that has them, because two runtimes with compilers in one process are very
 * rare. */
static void read_runtime(const struct sbx_thread *thread, uint64_t now_ns)
{
    uint32_t count = sbx_load_acquire(&sbx_the_capture.provider_count); /* order: acquire providers */
    for (uint32_t i = 0; i < count; i++) {
        uint64_t frames = 0, compilations = 0;
        if (sbx_the_providers[i].deoptimized != NULL) {
            sbx_the_providers[i].deoptimized(&frames, &compilations);
            put(thread, now_ns, SBX_KERNEL_DEOPTIMIZED, frames);
            put(thread, now_ns, SBX_KERNEL_COMPILED, compilations);
            return;
        }
    }
}

/* ---- when ---- */

void sbx_kernel_counts_start(void)
{
    memset(&counts, 0, sizeof counts);
}

/* May this thread be judged? */
static bool has_message(const struct sbx_thread *thread)
{
    return thread->has_loop || sbx_load_relaxed(&thread->entry->message_begin_ns) != 0; /* relaxed: a hint */
}

void sbx_kernel_counts_look(struct sbx_thread *thread, uint64_t now_ns)
{
    bool is_judged = has_message(thread);
    if (now_ns - thread->counted_ns < (is_judged ? LOOP_EVERY_NS : THREAD_EVERY_NS)) {
        return;
    }
    read_run_delay(thread, now_ns);
    if (is_judged) {
        read_runtime(thread, now_ns);
    }
    if (is_judged && now_ns - counts.machine_ns >= MACHINE_EVERY_NS) {
        read_machine(thread, now_ns);
    }
}

void sbx_kernel_counts_at_trigger(struct sbx_thread *thread, uint64_t now_ns)
{
    read_run_delay(thread, now_ns);
    if (has_message(thread)) {
        read_runtime(thread, now_ns);
        read_machine(thread, now_ns);
    }
}
