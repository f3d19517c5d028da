/* SPDX-License-Identifier: Apache-2.0 */
/* ctl.c - `stallbox ctl`: talk to a running agent of the same user through the control page of its recording. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attachment.h"
#include "command.h"
#include "names.h"
#include "options.h"
#include "order.h"
#include "preload.h"
#include "recording_check.h"
#include "recording_file.h"
#include "recording_folder.h"
#include "recording_format.h"
#include "thread_clock.h"

enum {
    ANSWER_MS = 5000
}; /* how long an agent may take to answer: it may be making a snapshot */

struct attachment {
    struct sbx_recording_header *header;
    struct sbx_control_page *control;
    struct sbx_attachment agent;
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

static int find_in(struct attachment *attachment, const char *folder_path, uint32_t pid)
{
    char prefix[24];
    int result = -ESRCH;
    snprintf(prefix, sizeof prefix, "%u-", pid);
    DIR *folder = opendir(folder_path);
    for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL && result == -ESRCH;
         entry = readdir(folder)) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            snprintf(attachment->path, sizeof attachment->path, "%s/%s", folder_path, entry->d_name);
            result = sbx_attachment_open(&attachment->agent, attachment->path, pid);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return result;
}

/* A path that the process wrote, for a terminal: no more than there is room for, and nothing that moves the cursor. */
static const char *plain(const char *text)
{
    static char copy[SBX_PATH_MAX];
    size_t length = strnlen(text, sizeof copy - 1);
    for (size_t i = 0; i < length; i++) {
        copy[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    }
    copy[length] = 0;
    return copy;
}

/* A copy of the whole recording, for who follows what it says to other places: the process goes on writing. NULL: it cannot be
 * had. Not given back: one a command. */
static struct sbx_recording_header *read_recording(const struct attachment *attachment)
{
    size_t bytes = attachment->agent.bytes, done = 0;
    uint8_t *copy = malloc(bytes);
    int error;
    while (copy != NULL && done < bytes) {
        ssize_t got = pread(attachment->agent.file, copy + done, bytes - done, (off_t)done);
        if (got <= 0) {
            break;
        }
        done += (size_t)got;
    }
    struct sbx_recording_header *header = (struct sbx_recording_header *)(void *)copy;
    return copy != NULL && done >= sizeof *header && sbx_recording_check(header, done, &error) == NULL ? header : NULL;
}

static int find(struct attachment *attachment, uint32_t pid)
{
    struct sbx_recording_folders folders;
    int result = -ESRCH;
    sbx_recordings_find(getenv(SBX_ENV_RECORDINGS), &folders);
    for (unsigned i = 0; i < folders.count && result == -ESRCH; i++) {
        result = find_in(attachment, folders.paths[i], pid);
    }
    if (result == -ESRCH) {
        return sbx_failure("ctl", "process %u has no recorder (looked in %s)", pid,
                           folders.count != 0 ? folders.paths[0]
                                              : "/dev/shm, /run/user and /tmp: there is no folder of ours");
    }
    if (result == -EPROTO) {
        return sbx_failure("ctl", "%s: written by another version of stallbox", attachment->path);
    }
    if (result != 0) {
        return sbx_failure("ctl", "%s: %s", attachment->path, strerror(-result));
    }
    attachment->header = attachment->agent.header;
    attachment->control = attachment->agent.control;
    return 0;
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
    if ((enabled || points != 0) && attachment->header->consent == SBX_CONSENT_DENIED) {
        return sbx_failure("ctl", "the user of %s said no: nothing is recorded until `stallbox consent` grants it",
                           plain(attachment->header->spool_path));
    }
    uint32_t generation;
    if (sbx_attachment_order(&attachment->agent, &wanted, ANSWER_MS, &generation) != 0 ||
        !sbx_attachment_wait(&control->applied, generation, ANSWER_MS)) { /* order: acquire control.applied */
        return no_answer(pid);
    }
    /* The hooks follow within milliseconds: wait for that too, so that "disabled" means out of the way. */
    for (int waited_ms = 0; waited_ms < ANSWER_MS; waited_ms += 5) {
        /* order: acquire control.hooked_points */
        uint32_t hooked = sbx_load_acquire(&control->hooked_points);
        /* What the governor has out stays out when nothing else was ordered than what is in force. */
        if ((hooked | (hooked_points(&wanted) & attachment->header->overhead.shed)) == hooked_points(&wanted)) {
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
    sbx_attachment_ring(&attachment->agent);
    if (!sbx_attachment_wait(&control->snapshot_answer, request,
                             ANSWER_MS)) { /* order: acquire control.snapshot_answer */
        return no_answer(pid);
    }
    if (control->snapshot_result == EAGAIN) {
        return sbx_failure("ctl", "the last manual snapshot is less than %u ms old", control->in_force.min_gap_ms);
    }
    if (control->snapshot_result == ENOKEY) {
        return sbx_failure("ctl", "the user of %s has not agreed that anything is kept",
                           plain(attachment->header->spool_path));
    }
    if (control->snapshot_result != 0) {
        return sbx_failure("ctl", "%s/raw: %s", plain(attachment->header->spool_path),
                           strerror((int)control->snapshot_result));
    }
    printf("snapshot written to %s/raw\n", plain(attachment->header->spool_path));
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

/* The living threads' exact counters, and their sum. */
static void print_counters(const struct sbx_recording_header *header)
{
    const struct sbx_thread_entry *entries =
        (const struct sbx_thread_entry *)(const void *)((const uint8_t *)header + header->threads.at);
    struct sbx_thread_entry entry, sum = {0};
    for (uint32_t i = 0; i < header->thread_count && i < header->threads.count; i++) {
        entry = entries[i];
        if (entry.state != SBX_THREAD_LIVE) {
            continue;
        }
        entry.name[sizeof entry.name - 1] = 0;
        printf("thread             %u %s: %llu allocations, %llu bytes, %llu frees, %llu maps, %llu bytes\n", entry.tid,
               plain(entry.name), (unsigned long long)entry.alloc_count, (unsigned long long)entry.alloc_bytes,
               (unsigned long long)entry.free_count, (unsigned long long)entry.map_count,
               (unsigned long long)entry.map_bytes);
        sum.alloc_count += entry.alloc_count;
        sum.alloc_bytes += entry.alloc_bytes;
        sum.free_count += entry.free_count;
        sum.map_count += entry.map_count;
        sum.map_bytes += entry.map_bytes;
    }
    printf("living threads     %llu allocations, %llu bytes, %llu frees, %llu maps, %llu bytes\n",
           (unsigned long long)sum.alloc_count, (unsigned long long)sum.alloc_bytes, (unsigned long long)sum.free_count,
           (unsigned long long)sum.map_count, (unsigned long long)sum.map_bytes);
}

/* What it means for the program that this is where times come from. */
static const char *clock_meaning(uint32_t source)
{
    static const char *const meanings[] = {
        [SBX_CLOCK_KERNEL] = " (a system call for each CPU time)",
        [SBX_CLOCK_CYCLES] = " (wall time from the cycle counter, CPU time from the kernel)",
        [SBX_CLOCK_RSEQ] = " (wall and CPU time without a system call)",
    };
    return source < SBX_COUNT_OF(meanings) ? meanings[source] : "";
}

/* What recording costs, and what the governor made of it. */
static void print_overhead(const struct sbx_overhead *overhead)
{
    uint64_t ours_ns = overhead->watch_ns + overhead->captures_ns + overhead->calls_ns;
    double base_ns = overhead->application_ns != 0 ? (double)overhead->application_ns : 1;
    printf("cpu budget         %u.%u %% of the application's; the last second: %.2f %%\n",
           overhead->budget_permille / 10, overhead->budget_permille % 10, overhead->window_ppm / 1e4);
    printf("cpu cost           %.2f %% (%.1f ms of %.0f: watch %.1f, captures %.1f, calls %.1f), and %.1f ms for "
           "modules\n",
           100.0 * (double)ours_ns / base_ns, (double)ours_ns / 1e6, (double)overhead->application_ns / 1e6,
           (double)overhead->watch_ns / 1e6, (double)overhead->captures_ns / 1e6, (double)overhead->calls_ns / 1e6,
           (double)overhead->modules_ns / 1e6);
    printf("governor           interval %u us, gap %u us, %u changes, points shed:", overhead->interval_us,
           overhead->gap_us, overhead->changes);
    for (uint32_t group = 0; group < SBX_GROUP_COUNT; group++) {
        if ((overhead->shed & SBX_POINT_BIT(group)) != 0) {
            printf(" %s", sbx_point_name(group));
        }
    }
    printf("%s\n", overhead->shed == 0 ? " none" : "");
}

/* Watches and deadlines that are open, by kind. */
static void print_watches(const struct sbx_recording_header *header)
{
    const struct sbx_watch_entry *entries =
        (const struct sbx_watch_entry *)(const void *)((const uint8_t *)header + header->watches.at);
    unsigned watches = 0, resting = 0, deadlines = 0;
    for (uint32_t i = 0; i < header->watches.count; i++) {
        uint64_t word = sbx_load_acquire(&entries[i].word); /* order: acquire watch.word - its fields are whole */
        enum sbx_watch_state state = sbx_watch_state_of(word);
        bool is_open = state == SBX_WATCH_OPEN || state == SBX_WATCH_RESTING || state == SBX_WATCH_LATE;
        watches += is_open && entries[i].kind == SBX_WATCH_WATCHDOG;
        resting += state == SBX_WATCH_RESTING;
        deadlines += is_open && entries[i].kind == SBX_WATCH_DEADLINE;
    }
    printf("watches            %u open, %u of them resting\n", watches, resting);
    printf("deadlines          %u open\n", deadlines);
}

static const char *consent_name(uint32_t consent)
{
    static const char *const names[] = {
        [SBX_CONSENT_UNKNOWN] = "unknown (nothing is kept)",
        [SBX_CONSENT_GRANTED] = "granted, or not asked for",
        [SBX_CONSENT_DENIED] = "denied (nothing is recorded)",
    };
    return consent < SBX_COUNT_OF(names) ? names[consent] : "unknown";
}

/* The fatal signals whose handler is ours; the others have one of the program's. */
static void print_crash_signals(uint32_t mask, const struct sbx_capture_settings *settings)
{
    printf("fatal signals     ");
    for (uint32_t number = 1; number < 32; number++) {
        if ((mask & UINT32_C(1) << number) != 0) {
            printf(" %s", sbx_signal_name(number));
        }
    }
    printf("%s\n", mask != 0                          ? ""
                   : settings->crash == SBX_CRASH_OFF ? " left alone"
                                                      : " none ours (yet: a second after the start)");
}

static int print_status(const struct attachment *attachment)
{
    const struct sbx_recording_header *header = read_recording(attachment);
    const struct sbx_capture_settings *settings = &attachment->control->in_force;
    if (header == NULL) {
        return sbx_failure("ctl", "%s: cannot be read", attachment->path);
    }
    printf("recording          %s\n", attachment->path);
    printf("spool              %s\n", plain(header->spool_path));
    printf("enabled            %s\n", settings->enabled != 0 ? "yes" : "no");
    print_points(settings);
    printf("hooked slots       %u\n", header->hooked_slots);
    printf("modules            %u\n", header->module_count);
    printf("threads seen       %u\n", header->thread_count);
    printf("interval           %u us, gap filler after %u us, reached %.1f us\n", settings->interval_us,
           settings->gap_us, (double)header->async_interval_ns / 1000.0);
    printf("ring               %llu KiB", (unsigned long long)header->chunks.count * header->chunks.entry_bytes / 1024);
    if (settings->recording_kib != 0 && settings->recording_kib / 4 != header->chunks.count) {
        printf(", %u from the next start on", settings->recording_kib);
    }
    printf("\n");
    print_overhead(&header->overhead);
    printf("clock              %s%s\n", sbx_clock_source_name(header->clock_source),
           clock_meaning(header->clock_source));
    printf("signal             %u%s\n", header->async_signal,
           header->async_signal == 0                           ? " (none is free: running threads are not sampled)"
           : header->signal_place == SBX_SIGNAL_PLACE_OUTSIDE  ? " (never made in a call)"
           : header->signal_place == SBX_SIGNAL_PLACE_ANYWHERE ? " (may be made in a call: older kernel)"
                                                               : "");
    print_crash_signals(header->crash_signals, settings);
    printf("triggers           anr %u ms, slow message %u ms, slow frame %u ms; recording goes on for %u ms\n",
           settings->anr_ms, settings->slow_message_ms, settings->slow_frame_ms, settings->after_ms);
    print_watches(header);
    printf("consent            %s\n", consent_name(header->consent));
    printf("records            %llu at points, %llu by signal, %llu of blocked threads\n",
           (unsigned long long)sbx_captures_by_threads(header), (unsigned long long)header->captures_async,
           (unsigned long long)header->captures_observed);
    printf("snapshots          %u", header->snapshots_made);
    if (attachment->control->handover.made != 0) {
        printf(", %u of them written by the companion", attachment->control->handover.made);
    }
    printf("\n");
    if (header->last_error != 0) {
        printf("last failure       %s\n", strerror((int)header->last_error));
    }
    for (uint32_t i = 0; i < SBX_DROP_COUNT; i++) {
        if (header->drops[i] != 0) {
            printf("dropped            %llu %s\n", (unsigned long long)header->drops[i], sbx_drop_name(i));
        }
    }
    print_counters(header);
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
