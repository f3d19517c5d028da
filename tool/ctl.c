/* SPDX-License-Identifier: Apache-2.0 */
/* ctl.c - `stallbox ctl`: talk to a running agent of the same user through the control page of its recording. */
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
#include "clock.h"
#include "command.h"
#include "family.h"
#include "names.h"
#include "options.h"
#include "order.h"
#include "recording_check.h"
#include "recording_file.h"
#include "policy.h"
#include "recording_search.h"
#include "roster.h"
#include "recording_format.h"
#include "thread_clock.h"

enum {
    ANSWER_MS = 5000, /* time for an agent to answer; it may be making a snapshot */
    SHARE_TELLS = 20  /* the share of the application's CPU time is printed when it used at least a 20th of the time */
};

struct attachment {
    struct sbx_recording_header *header;
    struct sbx_control_page *control;
    struct sbx_attachment agent;
    char path[SBX_FOUND_PATH_BYTES];
};

void sbx_usage_ctl(FILE *out)
{
    fputs("usage: stallbox ctl PID status|snapshot\n"
          "       stallbox ctl PID enable|disable [POINT...]\n"
          "\n"
          "Talk to the recorder in process PID, which must be of the same user. Root reaches all processes.\n"
          "\n"
          "  status     print what is recorded, what was lost, and the settings in force\n"
          "  snapshot   keep the recent past now (a snapshot of kind manual)\n"
          "  enable     record, with all hooks; with POINTs: record, and put in these groups too\n"
          "  disable    remove every hook and record nothing; the process runs as if the recorder were not there;\n"
          "             with POINTs: remove these groups only\n"
          "\n"
          "points:",
          out);
    for (uint32_t group = 0; group < SBX_GROUP_COUNT; group++) {
        fprintf(out, "%s%s", group % 10 == 0 && group > 0 ? "\n        " : " ", sbx_point_name(group));
    }
    fputs("\n", out);
}

/* Make a path that the process wrote safe for a terminal: it is cut to the room, and has no control characters. */
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

/* Copy the whole recording, for code that follows offsets in it while the process goes on writing. NULL: it cannot be
 * read. free() it. */
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
    if (copy == NULL || done < sizeof *header || sbx_recording_check(header, done, &error) != NULL) {
        free(copy);
        return NULL;
    }
    return header;
}

static int find(struct attachment *attachment, uint32_t pid)
{
    char why[SBX_FOUND_PATH_BYTES + 64];
    int result = sbx_recording_search(pid, &attachment->agent, attachment->path, why, sizeof why);
    if (result == -ESRCH) {
        return sbx_failure("ctl", "process %u has no recorder: %s", pid, why);
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

/* The hooks for these settings. The loader is watched as long as any point is hooked (agent.c). */
static uint64_t hooked_points(const struct sbx_capture_settings *settings)
{
    return settings->enabled != 0 ? settings->points | SBX_POINT_BIT(SBX_GROUP_LOADER) : 0;
}

/* Does it record nothing because other processes of its family have all seats? */
static bool is_away(const struct attachment *attachment)
{
    const struct sbx_control_page *control = attachment->control;
    return attachment->header->family.role == SBX_ROLE_WORKER && attachment->header->consent != SBX_CONSENT_DENIED &&
           control->in_force.enabled == 0 && control->wanted.enabled != 0;
}

/* `points` 0: switch everything. When it is switched off, the set of groups stays. */
static int set_enabled(const struct attachment *attachment, uint32_t pid, bool enabled, uint64_t points)
{
    struct sbx_control_page *control = attachment->control;
    struct sbx_capture_settings wanted = control->in_force;
    wanted.enabled = wanted.enabled != 0 || is_away(attachment);
    if (enabled) { /* without names: all groups of an ordinary start */
        wanted.enabled = 1;
        wanted.points |= points != 0 ? points : sbx_policy_default()->capture.points;
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
    /* The hooks follow within milliseconds. Wait for that too, so that "disabled" means that no hook is left. */
    for (int waited_ms = 0; waited_ms < ANSWER_MS; waited_ms += 5) {
        /* order: acquire control.hooked_points */
        uint64_t hooked = sbx_load_acquire(&control->hooked_points);
        /* Points that the governor has unhooked stay so when the order changes nothing. */
        if ((hooked | (hooked_points(&wanted) & attachment->header->overhead.shed)) == hooked_points(&wanted)) {
            printf("%s: %u slots hooked\n", enabled ? "enabled" : "disabled", attachment->header->hooked_slots);
            return SBX_EXIT_DONE;
        }
        const struct timespec pause = {0, 5000000};
        nanosleep(&pause, NULL);
    }
    return no_answer(pid);
}

/* Read the groups from the command line. Returns false when a name is unknown. */
static bool read_points(char **names, int count, uint64_t *points_out)
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
    if (control->snapshot_result == ENODATA) {
        return sbx_failure("ctl", "process %u records nothing just now: other children of its family have the seats",
                           pid);
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

/* One line of counters. */
static void print_counts(const struct sbx_thread_entry *entry, bool counts_frees)
{
    char frees[48] = "frees not counted"; /* the group "free" is off, which is the default */
    if (counts_frees) {
        snprintf(frees, sizeof frees, "%llu frees", (unsigned long long)entry->free_count);
    }
    printf("%llu allocations, %llu bytes, %s, %llu maps, %llu bytes\n", (unsigned long long)entry->alloc_count,
           (unsigned long long)entry->alloc_bytes, frees, (unsigned long long)entry->map_count,
           (unsigned long long)entry->map_bytes);
}

/* The exact counters of the living threads, and their sum. */
static void print_counters(const struct sbx_recording_header *header, bool counts_frees)
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
        printf("thread             %u %s: ", entry.tid, plain(entry.name));
        print_counts(&entry, counts_frees);
        sum.alloc_count += entry.alloc_count;
        sum.alloc_bytes += entry.alloc_bytes;
        sum.free_count += entry.free_count;
        sum.map_count += entry.map_count;
        sum.map_bytes += entry.map_bytes;
    }
    printf("living threads     ");
    print_counts(&sum, counts_frees);
}

/* What this clock means for the program. */
static const char *clock_meaning(uint32_t source)
{
    static const char *const meanings[] = {
        [SBX_CLOCK_KERNEL] = " (a system call for each CPU time)",
        [SBX_CLOCK_CYCLES] = " (wall time from the cycle counter, CPU time from the kernel)",
        [SBX_CLOCK_RSEQ] = " (wall and CPU time without a system call)",
    };
    return source < SBX_COUNT_OF(meanings) ? meanings[source] : "";
}

/* The cost of recording, and what the governor did about it. */
static void print_overhead(const struct sbx_recording_header *header, uint64_t now_ns)
{
    const struct sbx_overhead *overhead = &header->overhead;
    uint64_t shed = sbx_load_acquire(&overhead->shed); /* order: acquire overhead.shed - what they cost is told */
    uint64_t ours_ns = overhead->watch_ns + overhead->captures_ns + overhead->calls_ns;
    uint64_t life_ns = now_ns > header->started_ns ? now_ns - header->started_ns : 1;
    double of_processor = 100.0 * (double)ours_ns / (double)life_ns;
    printf("cpu budget         %.*f %% of the application's CPU time\n", overhead->budget_tenths != 0 ? 2 : 1,
           overhead->budget_permille / 10.0 + overhead->budget_tenths / 100.0);
    printf(
        "cpu cost           %.1f ms in all, in %.1f s: %.2f %% of one processor (watch %.1f, captures %.1f, calls %.1f "
        "ms); and %.1f ms for modules\n",
        (double)ours_ns / 1e6, (double)life_ns / 1e9, of_processor, (double)overhead->watch_ns / 1e6,
        (double)overhead->captures_ns / 1e6, (double)overhead->calls_ns / 1e6, (double)overhead->modules_ns / 1e6);
    /* A share of almost no time tells nothing, so the application must have run for a while. */
    if (overhead->application_ns >= life_ns / SHARE_TELLS) {
        printf("                   %.2f %% of the application's %.0f ms; the last second: %.2f %%\n",
               100.0 * (double)ours_ns / (double)overhead->application_ns, (double)overhead->application_ns / 1e6,
               overhead->window_ppm / 1e4);
    } else {
        printf("                   the application has hardly run (%.0f ms of CPU time)\n",
               (double)overhead->application_ns / 1e6);
    }
    bool is_told = false;
    for (unsigned i = 0; i < SBX_TOLD_MAX; i++) {
        is_told |= header->told[i].state == SBX_TOLD_STANDS;
    }
    if (is_told) {
        printf("                   a stall that was reported goes on: its end is awaited\n");
    } else if (header->note.open != 0) {
        printf("                   a stall is in the making: it is recorded more closely until it ends\n");
    }
    printf("governor           interval %u us, gap %u us, %u changes, points shed:", overhead->interval_us,
           overhead->gap_us, overhead->changes);
    for (uint32_t group = 0; group < SBX_GROUP_COUNT; group++) {
        if ((shed & SBX_POINT_BIT(group)) != 0) {
            printf(" %s", sbx_point_name(group));
        }
    }
    printf("%s\n", shed == 0 ? " none" : "");
}

/* Open watches and deadlines, by kind. */
static void print_watches(const struct sbx_recording_header *header)
{
    const struct sbx_watch_entry *entries =
        (const struct sbx_watch_entry *)(const void *)((const uint8_t *)header + header->watches.at);
    unsigned watches = 0, resting = 0, deadlines = 0;
    for (uint32_t i = 0; i < header->watches.count; i++) {
        uint64_t word = sbx_load_acquire(&entries[i].word); /* order: acquire watch.word - its fields are whole */
        enum sbx_watch_state state = sbx_watch_state_of(word);
        bool is_open =
            state == SBX_WATCH_OPEN || state == SBX_WATCH_RESTING || state == SBX_WATCH_LATE || state == SBX_WATCH_TOLD;
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

/* The fatal signals with our handler; the program has its own handlers for the others. */
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
                                                      : " no handler (yet: installed a second after the start)");
}

/* Why nothing is recorded; NULL: it records. */
static const char *off_reason(const struct attachment *attachment, const struct sbx_capture_settings *settings)
{
    if (attachment->header->consent == SBX_CONSENT_DENIED) {
        return "the user said no (stallbox consent)";
    }
    if (is_away(attachment)) {
        return "it rests, or its minute is over, and another child of its family has its seat";
    }
    return settings->enabled != 0 ? NULL : "it was switched off: by `stallbox ctl PID disable`, or by its policy";
}

/* What the program's stalls can be judged by. */
static void print_loop(const struct sbx_recording_header *header)
{
    const struct sbx_thread_entry *entries =
        (const struct sbx_thread_entry *)(const void *)((const uint8_t *)header + header->threads.at);
    uint64_t messages = header->main_thread < header->threads.count ? entries[header->main_thread].message : 0;
    if (messages != 0) {
        printf("message loop       found in the main thread: %llu messages\n", (unsigned long long)messages);
    } else {
        printf("message loop       none found in the main thread: only crashes, frames, watches and deadlines are "
               "reported\n");
    }
}

/* Stalls that left no snapshot, and processes that are not recorded. */
static void print_gaps(const struct attachment *attachment, const struct sbx_recording_header *header)
{
    static struct sbx_roster roster;
    uint64_t left_out = header->drops[SBX_DROP_SNAPSHOT_BUSY] + header->drops[SBX_DROP_SNAPSHOT_RATE];
    if (left_out != 0) {
        printf("left out           %llu stalls: at most one snapshot of a kind in %u ms", (unsigned long long)left_out,
               attachment->control->in_force.min_gap_ms);
        if (header->family.role == SBX_ROLE_WORKER) {
            printf(", and %d a minute of all forked children of its family together", SBX_FAMILY_SNAPSHOTS_A_MINUTE);
        }
        putchar('\n');
    }
    char folder[SBX_FOUND_PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", attachment->path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL || attachment->control->handover.roster == 0) {
        return;
    }
    snprintf(slash, sizeof folder - (size_t)(slash - folder), "/%016llx" SBX_ROSTER_SUFFIX,
             (unsigned long long)attachment->control->handover.roster);
    int file = open(folder, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (sbx_roster_read(file, &roster)) {
        printf("not recorded       %u forked children, %u programs that could not be, of the whole `stallbox run`\n",
               roster.forked, roster.failed);
    }
    if (file >= 0) {
        close(file);
    }
}

static void print_runtimes(const struct sbx_recording_header *header)
{
    for (uint32_t i = 0; i < SBX_RUNTIMES_MAX; i++) {
        const struct sbx_runtime_entry *live = &header->runtimes[i];
        /* order: acquire header.runtimes - the words are whole */
        uint32_t state = sbx_load_acquire(&live->state);
        struct sbx_runtime_entry entry = *live;
        entry.name[sizeof entry.name - 1] = 0;
        entry.why[sizeof entry.why - 1] = 0;
        if (state != SBX_RUNTIME_NONE) {
            printf("runtime            %s%s", plain(entry.name),
                   state == SBX_RUNTIME_ATTACHED  ? ": its functions are named"
                   : state == SBX_RUNTIME_NOT_YET ? ": not up yet"
                                                  : ": left alone");
            printf("%s%s\n", entry.why[0] != 0 ? ", " : "", plain(entry.why));
        }
    }
}

static void print_recording(const struct attachment *attachment, const struct sbx_recording_header *header)
{
    const struct sbx_capture_settings *settings = &attachment->control->in_force;
    printf("recording          %s\n", attachment->path);
    printf("spool              %s\n", plain(header->spool_path));
    const char *off = off_reason(attachment, settings);
    printf("enabled            %s%s\n", off == NULL ? "yes" : "no: ", off == NULL ? "" : off);
    print_loop(header);
    print_points(settings);
    printf("hooked slots       %u\n", header->hooked_slots);
    printf("modules            %u\n", header->module_count);
    printf("threads seen       %u\n", header->thread_count);
    printf("interval           %u us, gap filler after %u us, reached %.1f us\n", settings->interval_us,
           settings->gap_us, (double)header->async_interval_ns / 1000.0);
    print_runtimes(header);
    if (header->family.role == SBX_ROLE_WORKER) {
        printf("family             a worker, forked by process %u\n", header->family.parent_pid);
    }
    printf("ring               %llu KiB", (unsigned long long)header->chunks.count * header->chunks.entry_bytes / 1024);
    if (settings->recording_kib != 0 && settings->recording_kib / 4 != header->chunks.count &&
        header->family.role != SBX_ROLE_WORKER) {
        printf(", %u from the next start on", settings->recording_kib);
    }
    printf("\n");
    print_overhead(header, sbx_now_ns());
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
    print_gaps(attachment, header);
    if (header->last_error != 0) {
        printf("last failure       %s\n", strerror((int)header->last_error));
    }
    for (uint32_t i = 0; i < SBX_DROP_COUNT; i++) {
        if (header->drops[i] != 0) {
            printf("dropped            %llu %s\n", (unsigned long long)header->drops[i], sbx_drop_name(i));
        }
    }
    const struct sbx_capture_settings *in_force = &attachment->control->in_force;
    print_counters(header, (in_force->points & SBX_POINT_BIT(SBX_GROUP_FREE)) != 0);
}

static int print_status(const struct attachment *attachment)
{
    struct sbx_recording_header *header = read_recording(attachment);
    if (header == NULL) {
        return sbx_failure("ctl", "%s: cannot be read", attachment->path);
    }
    print_recording(attachment, header);
    free(header);
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
    uint64_t points = 0;
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
