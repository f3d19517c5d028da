/* SPDX-License-Identifier: Apache-2.0 */
/* ctl.c - `stallbox ctl`: talk to a running agent of the same user through the control page of its recording. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "names.h"
#include "options.h"
#include "order.h"
#include "preload.h"
#include "recording_check.h"
#include "recording_file.h"
#include "recording_format.h"
#include "thread_clock.h"

enum {
    ANSWER_MS = 5000
}; /* how long an agent may take to answer: it may be making a snapshot */

struct attachment {
    struct sbx_recording_header *header;
    struct sbx_control_page *control;
    char path[SBX_RECORDING_PATH_MAX + 300];
};

void sbx_usage_ctl(FILE *out)
{
    fputs("usage: stallbox ctl PID status|snapshot\n"
          "       stallbox ctl PID enable|disable [POINT...]\n"
          "\n"
          "Talk to the recorder in process PID, of the same user.\n"
          "\n"
          "  status     what it records, what it lost, what is in force\n"
          "  snapshot   keep the recent past now (a snapshot of kind manual)\n"
          "  enable     put the hooks in and record; with POINTs: put in these groups too\n"
          "  disable    take every hook out and record nothing; the process runs as if untouched;\n"
          "             with POINTs: take out these groups alone\n"
          "\n"
          "points:",
          out);
    for (uint32_t group = 0; group < SBX_GROUP_COUNT; group++) {
        fprintf(out, "%s%s", group % 10 == 0 && group > 0 ? "\n        " : " ", sbx_point_name(group));
    }
    fputs("\n", out);
}

/* Map the recording at `path` when it is process `pid`'s. Returns 0, -ESRCH when it is somebody else's, or -errno. */
static int attach(struct attachment *attachment, const char *path, uint32_t pid)
{
    struct stat status;
    int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) {
        return -errno;
    }
    int result = -EPROTO;
    void *mapping = MAP_FAILED;
    if (fstat(file, &status) != 0) {
        result = -errno;
    } else if (status.st_size >= SBX_CONTROL_AT + 4096) {
        mapping = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        result = mapping == MAP_FAILED ? -errno : 0;
    }
    close(file);
    if (result != 0) {
        return result;
    }
    struct sbx_recording_header *header = mapping;
    if (sbx_recording_check(header, (uint64_t)status.st_size, &result) != NULL) {
        result = -EPROTO;
    } else if (header->pid != pid ||
               sbx_load_acquire(&header->state) != SBX_STATE_LIVE /* order: acquire header.state */ ||
               header->process_start_ticks != sbx_process_start_ticks(pid)) {
        result = -ESRCH;
    }
    if (result != 0) {
        munmap(mapping, (size_t)status.st_size);
        return result;
    }
    attachment->header = header;
    attachment->control = (struct sbx_control_page *)((char *)mapping + SBX_CONTROL_AT);
    return 0;
}

static int find(struct attachment *attachment, uint32_t pid)
{
    char folder_path[SBX_RECORDING_PATH_MAX], prefix[24];
    const char *given = getenv(SBX_ENV_RECORDINGS);
    if (given != NULL) {
        snprintf(folder_path, sizeof folder_path, "%s", given);
    } else if (sbx_recordings_default_folder(folder_path, sizeof folder_path) != 0) {
        return sbx_failure("ctl", "the recordings folder has no usable name");
    }
    snprintf(prefix, sizeof prefix, "%u-", pid);
    DIR *folder = opendir(folder_path);
    int result = -ESRCH;
    for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL && result == -ESRCH;
         entry = readdir(folder)) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            snprintf(attachment->path, sizeof attachment->path, "%s/%s", folder_path, entry->d_name);
            result = attach(attachment, attachment->path, pid);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    if (result == -ESRCH) {
        return sbx_failure("ctl", "process %u has no recorder (looked in %s)", pid, folder_path);
    }
    if (result == -EPROTO) {
        return sbx_failure("ctl", "%s: written by another version of stallbox", attachment->path);
    }
    return result == 0 ? 0 : sbx_failure("ctl", "%s: %s", attachment->path, strerror(-result));
}

static void ring_bell(struct sbx_control_page *control)
{
    sbx_add_acq_rel(&control->bell, 1); /* order: release bell - what was written before is seen by the watch thread */
    syscall(SYS_futex, &control->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Wait until *word is `wanted`. */
static bool wait_for_answer(uint32_t *word, uint32_t wanted)
{
    for (int waited_ms = 0; waited_ms < ANSWER_MS; waited_ms += 50) {
        uint32_t now = sbx_load_acquire(word); /* order: acquire - pairs with the watch thread's answer */
        if (now == wanted) {
            return true;
        }
        const struct timespec pause = {0, 50000000};
        syscall(SYS_futex, word, FUTEX_WAIT, now, &pause, NULL, 0);
    }
    return false;
}

static int no_answer(uint32_t pid)
{
    return sbx_failure("ctl", "process %u did not answer within %d s (is it stopped?)", pid, ANSWER_MS / 1000);
}

/* What the hooks are once the settings are in force: the loader is watched as long as anything is (agent.c). */
static uint32_t hooked_points(const struct sbx_capture_settings *settings)
{
    return settings->enabled != 0 ? settings->points | SBX_POINT_BIT(SBX_GROUP_LOADER) : 0;
}

/* `points` 0: everything is switched, and which groups are on stays as it is. */
static int set_enabled(const struct attachment *attachment, uint32_t pid, bool enabled, uint32_t points)
{
    struct sbx_control_page *control = attachment->control;
    struct sbx_capture_settings wanted = control->in_force;
    if (enabled) {
        wanted.enabled = 1;
        wanted.points |= points;
    } else if (points == 0) {
        wanted.enabled = 0;
    } else {
        wanted.points &= ~points;
    }
    control->wanted = wanted;
    /* order: release control.generation - `wanted` is whole */
    uint32_t generation = sbx_add_acq_rel(&control->generation, 1) + 1;
    ring_bell(control);
    if (!wait_for_answer(&control->applied, generation)) { /* order: acquire control.applied */
        return no_answer(pid);
    }
    /* The hooks follow within milliseconds: wait for that too, so that "disabled" means out of the way. */
    for (int waited_ms = 0; waited_ms < ANSWER_MS; waited_ms += 5) {
        /* order: acquire control.hooked_points */
        if (sbx_load_acquire(&control->hooked_points) == hooked_points(&wanted)) {
            printf("%s: %u slots hooked\n", enabled ? "enabled" : "disabled", attachment->header->hooked_slots);
            return SBX_EXIT_DONE;
        }
        const struct timespec pause = {0, 5000000};
        nanosleep(&pause, NULL);
    }
    return no_answer(pid);
}

/* The groups named on the command line. Returns false when a name is none. */
static bool read_points(char **names, int count, uint32_t *points_out)
{
    *points_out = 0;
    for (int i = 0; i < count; i++) {
        uint32_t group = 0;
        while (group < SBX_GROUP_COUNT && strcmp(names[i], sbx_point_name(group)) != 0) {
            group++;
        }
        if (group == SBX_GROUP_COUNT) {
            sbx_usage_error("ctl", "'%s' is no capture point", names[i]);
            return false;
        }
        *points_out |= SBX_POINT_BIT(group);
    }
    return true;
}

static int take_snapshot(const struct attachment *attachment, uint32_t pid)
{
    struct sbx_control_page *control = attachment->control;
    /* order: release control.snapshot_request - pairs with answer_requests() */
    uint32_t request = sbx_add_acq_rel(&control->snapshot_request, 1) + 1;
    ring_bell(control);
    if (!wait_for_answer(&control->snapshot_answer, request)) { /* order: acquire control.snapshot_answer */
        return no_answer(pid);
    }
    if (control->snapshot_result == EAGAIN) {
        return sbx_failure("ctl", "the last manual snapshot is less than %u ms old", control->in_force.min_gap_ms);
    }
    if (control->snapshot_result != 0) {
        return sbx_failure("ctl", "%s/raw: %s", attachment->header->spool_path,
                           strerror((int)control->snapshot_result));
    }
    printf("snapshot written to %s/raw\n", attachment->header->spool_path);
    return SBX_EXIT_DONE;
}

static void print_points(const struct sbx_capture_settings *settings)
{
    printf("points            ");
    for (uint32_t group = 0; group < SBX_GROUP_COUNT; group++) {
        if (settings->enabled != 0 && (settings->points & SBX_POINT_BIT(group)) != 0) {
            printf(" %s", sbx_point_name(group));
        }
    }
    printf("\n");
}

/* The living threads' exact counters, and their sum. The table lies outside the pages that are mapped: it is read. */
static void print_counters(const struct attachment *attachment)
{
    const struct sbx_recording_header *header = attachment->header;
    uint32_t count = header->thread_count < SBX_THREADS_MAX ? header->thread_count : SBX_THREADS_MAX;
    int file = open(attachment->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct sbx_thread_entry entry, sum = {0};
    for (uint32_t i = 0; file >= 0 && i < count; i++) {
        off_t at = (off_t)(header->threads.at + i * sizeof entry);
        if (pread(file, &entry, sizeof entry, at) != (ssize_t)sizeof entry || entry.state != SBX_THREAD_LIVE) {
            continue;
        }
        entry.name[sizeof entry.name - 1] = 0;
        printf("thread             %u %s: %llu allocations, %llu bytes, %llu frees, %llu maps, %llu bytes\n", entry.tid,
               entry.name, (unsigned long long)entry.alloc_count, (unsigned long long)entry.alloc_bytes,
               (unsigned long long)entry.free_count, (unsigned long long)entry.map_count,
               (unsigned long long)entry.map_bytes);
        sum.alloc_count += entry.alloc_count;
        sum.alloc_bytes += entry.alloc_bytes;
        sum.free_count += entry.free_count;
        sum.map_count += entry.map_count;
        sum.map_bytes += entry.map_bytes;
    }
    if (file >= 0) {
        close(file);
    }
    printf("living threads     %llu allocations, %llu bytes, %llu frees, %llu maps, %llu bytes\n",
           (unsigned long long)sum.alloc_count, (unsigned long long)sum.alloc_bytes, (unsigned long long)sum.free_count,
           (unsigned long long)sum.map_count, (unsigned long long)sum.map_bytes);
}

static const char *clock_name(uint32_t source)
{
    static const char *const names[] = {
        [SBX_CLOCK_KERNEL] = "kernel (a system call for each CPU time)",
        [SBX_CLOCK_CYCLES] = "cycles (wall time from the cycle counter, CPU time from the kernel)",
        [SBX_CLOCK_RSEQ] = "rseq (wall and CPU time without a system call)",
    };
    return source < SBX_COUNT_OF(names) ? names[source] : "unknown";
}

static int print_status(const struct attachment *attachment)
{
    const struct sbx_recording_header *header = attachment->header;
    const struct sbx_capture_settings *settings = &attachment->control->in_force;
    printf("recording          %s\n", attachment->path);
    printf("spool              %s\n", header->spool_path);
    printf("enabled            %s\n", settings->enabled != 0 ? "yes" : "no");
    print_points(settings);
    printf("hooked slots       %u\n", header->hooked_slots);
    printf("modules            %u\n", header->module_count);
    printf("threads seen       %u\n", header->thread_count);
    printf("interval           %u us, gap filler after %u us, reached %.1f us\n", settings->interval_us,
           settings->gap_us, (double)header->async_interval_ns / 1000.0);
    printf("clock              %s\n", clock_name(header->clock_source));
    printf("signal             %u%s\n", header->async_signal,
           header->async_signal == 0 ? " (taken by the program: running threads are not sampled)" : "");
    printf("triggers           anr %u ms, slow message %u ms\n", settings->anr_ms, settings->slow_message_ms);
    printf("records            %llu at points, %llu by signal, %llu of blocked threads\n",
           (unsigned long long)sbx_captures_by_threads(header), (unsigned long long)header->captures_async,
           (unsigned long long)header->captures_observed);
    printf("snapshots          %u\n", header->snapshots_made);
    if (header->last_error != 0) {
        printf("last failure       %s\n", strerror((int)header->last_error));
    }
    for (uint32_t i = 0; i < SBX_DROP_COUNT; i++) {
        if (header->drops[i] != 0) {
            printf("dropped            %llu %s\n", (unsigned long long)header->drops[i], sbx_drop_name(i));
        }
    }
    print_counters(attachment);
    return SBX_EXIT_DONE;
}

int sbx_command_ctl(int argc, char **argv)
{
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        sbx_usage_ctl(stdout);
        return SBX_EXIT_DONE;
    }
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-') {
            return sbx_usage_error("ctl", "unknown option '%s'", argv[i]);
        }
    }
    if (argc < 3) {
        return sbx_usage_error("ctl", "a process id and a verb are needed");
    }
    char *end = NULL;
    unsigned long pid = strtoul(argv[1], &end, 10);
    if (*argv[1] < '1' || *argv[1] > '9' || *end != 0 || pid > INT_MAX) {
        return sbx_usage_error("ctl", "'%s' is no process id", argv[1]);
    }
    static const char *const verbs[] = {"status", "snapshot", "enable", "disable"};
    size_t verb = 0;
    while (verb < SBX_COUNT_OF(verbs) && strcmp(argv[2], verbs[verb]) != 0) {
        verb++;
    }
    if (verb == SBX_COUNT_OF(verbs)) {
        return sbx_usage_error("ctl", "unknown verb '%s'", argv[2]);
    }
    uint32_t points = 0;
    if (argc > 3 && verb < 2) {
        return sbx_usage_error("ctl", "%s takes no points", verbs[verb]);
    }
    if (!read_points(argv + 3, argc - 3, &points)) {
        return SBX_EXIT_USAGE;
    }
    struct attachment attachment;
    int status = find(&attachment, (uint32_t)pid);
    if (status != 0) {
        return status;
    }
    switch (verb) {
    case 0:
        return print_status(&attachment);
    case 1:
        return take_snapshot(&attachment, (uint32_t)pid);
    default:
        return set_enabled(&attachment, (uint32_t)pid, verb == 2, points);
    }
}
