/* SPDX-License-Identifier: Apache-2.0 */
/* fork_memory.c - families that wait, and the memory of each process according to /proc. */
#include "fork_memory.h"

#include <dirent.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stallbox/stallbox.h"

enum {
    CHILDREN_MAX = 256,
    SEATS = 64,
    SETTLE_MS =
        3000, /* until all with a seat are recorded: they try again after a second, and a start takes milliseconds */
    PATIENCE_MS = 60000
};

struct child {
    double private_kib, in_recording_kib, recording_kib, tables_kib, threads;
    bool is_recorded;
};

static void pause_ms(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&left, NULL);
}

static void be_child(int until)
{
    struct pollfd waited = {.fd = until, .events = POLLIN};
    while (poll(&waited, 1, 100) == 0) {
    }
    _exit(0);
}

/* Returns the sum of the lines of /proc/PID/NAME that begin with one of two words. With `path`, only mappings of that
 * file count. */
static double sum_of(pid_t pid, const char *name, const char *word, const char *other, const char *path)
{
    char file_name[64], line[1024];
    double sum = 0;
    bool is_in = path == NULL;
    snprintf(file_name, sizeof file_name, "/proc/%d/%s", (int)pid, name);
    FILE *file = fopen(file_name, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        size_t length = strcspn(line, " \t\n");
        if (path != NULL && strchr("0123456789abcdef", line[0]) != NULL) {
            is_in = strstr(line, path) != NULL;
        } else if (is_in && (strncmp(line, word, length) == 0 || strncmp(line, other, length) == 0)) {
            sum += strtod(line + length, NULL);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return sum;
}

/* Returns how much of the process's recording file is in memory; below 0: it has none. */
static double recording_of(pid_t pid, const char *recordings)
{
    char begin[32], path[512];
    struct stat status;
    double kib = -1;
    snprintf(begin, sizeof begin, "%d-", (int)pid);
    DIR *folder = opendir(recordings);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", recordings, entry->d_name);
        if (strncmp(entry->d_name, begin, strlen(begin)) == 0 && stat(path, &status) == 0) {
            kib = (double)status.st_blocks / 2;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return kib;
}

static struct child look_at(pid_t pid, const char *recordings)
{
    double recording_kib = recording_of(pid, recordings);
    return (struct child){
        .private_kib = sum_of(pid, "smaps_rollup", "Private_Clean:", "Private_Dirty:", NULL),
        .in_recording_kib = sum_of(pid, "smaps", "Private_Clean:", "Private_Dirty:", ".rec"),
        .recording_kib = recording_kib > 0 ? recording_kib : 0,
        .tables_kib = sum_of(pid, "status", "VmPTE:", "VmPTE:", NULL),
        .threads = sum_of(pid, "status", "Threads:", "Threads:", NULL),
        .is_recorded = recording_kib >= 0,
    };
}

static int count_recordings(const char *recordings)
{
    int count = 0;
    DIR *folder = opendir(recordings);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        count += strstr(entry->d_name, ".rec") != NULL;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

/* The first process of a family: it may start the recorder, then forks, measures, and writes the results. */
static void lead(int children, const char *folder, const char *recordings, int answer)
{
    pid_t pids[CHILDREN_MAX];
    static struct child seen[CHILDREN_MAX];
    int until[2];
    char spool[128];
    if (recordings != NULL) {
        snprintf(spool, sizeof spool, "%s/spool", folder);
        struct stallbox_options options = {
            .sizeof_options = sizeof options, .spool_path = spool, .recording_path = recordings};
        if (stallbox_start(&options) != STALLBOX_OK) {
            fputs("bench_forks: the recorder did not start\n", stderr);
            _exit(1);
        }
        pause_ms(500); /* rows and hooks are ready */
    }
    if (pipe(until) != 0) {
        _exit(1);
    }
    for (int i = 0; i < children; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            close(until[1]);
            be_child(until[0]);
        }
    }
    int wanted = 1 + (children < SEATS ? children : SEATS);
    for (int waited_ms = 0; recordings != NULL && count_recordings(recordings) < wanted && waited_ms < PATIENCE_MS;
         waited_ms += 100) {
        pause_ms(100);
    }
    pause_ms(SETTLE_MS);
    for (int i = 0; i < children; i++) {
        seen[i] = look_at(pids[i], recordings != NULL ? recordings : "/nowhere");
    }
    bool is_told =
        write(answer, seen, (size_t)children * sizeof seen[0]) == (ssize_t)((size_t)children * sizeof seen[0]);
    close(until[1]);
    while (wait(NULL) > 0) {
    }
    exit(!is_told);
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

struct medians {
    int count;
    double private_kib, recording_kib, tables_kib, threads,
        own_kib; /* own: private, with the recording's file and page tables */
};

static double median_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return count > 0 ? values[count / 2] : 0;
}

static struct medians medians_of(const struct child *seen, int children, bool is_recorded)
{
    static double values[5][CHILDREN_MAX];
    int count = 0;
    for (int i = 0; i < children; i++) {
        if (seen[i].is_recorded == is_recorded) {
            values[0][count] = seen[i].private_kib;
            values[1][count] = seen[i].recording_kib;
            values[2][count] = seen[i].tables_kib;
            values[3][count] = seen[i].threads;
            values[4][count++] =
                seen[i].private_kib - seen[i].in_recording_kib + seen[i].recording_kib + seen[i].tables_kib;
        }
    }
    return (struct medians){.count = count,
                            .private_kib = median_of(values[0], count),
                            .recording_kib = median_of(values[1], count),
                            .tables_kib = median_of(values[2], count),
                            .threads = median_of(values[3], count),
                            .own_kib = median_of(values[4], count)};
}

static bool run_family(int children, const char *folder, const char *recordings, struct child seen_out[CHILDREN_MAX])
{
    int answer[2], status = -1;
    if (pipe(answer) != 0) {
        return false;
    }
    fflush(stdout); /* otherwise a child that exits would print the text again */
    pid_t pid = fork();
    if (pid == 0) {
        close(answer[0]);
        lead(children, folder, recordings, answer[1]);
    }
    close(answer[1]);
    size_t wanted = (size_t)children * sizeof seen_out[0], have = 0;
    for (ssize_t got; have < wanted && (got = read(answer[0], (char *)seen_out + have, wanted - have)) > 0;) {
        have += (size_t)got;
    }
    close(answer[0]);
    return waitpid(pid, &status, 0) == pid && status == 0 && have == wanted;
}

static void print_row(int children, const char *who, const struct medians *it, const struct medians *bare)
{
    if (it->count > 0) {
        printf("%8d %-9s %5d %8.0f %9.0f %7.0f %8.0f %8.0f\n", children, who, it->count, it->private_kib,
               it->recording_kib, it->tables_kib, it->threads - bare->threads, it->own_kib - bare->own_kib);
    }
}

void fork_memory_measure(const char *folder, const char *recordings)
{
    static const int sizes[] = {8, 64, 256};
    static struct child seen[CHILDREN_MAX];
    printf("children who       count  private recording  tables  threads   beyond, medians in KiB\n");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (!run_family(sizes[i], folder, NULL, seen)) {
            fputs("bench_forks: a bare family failed\n", stderr);
            return;
        }
        struct medians bare = medians_of(seen, sizes[i], false);
        print_row(sizes[i], "bare", &bare, &bare);
        if (!run_family(sizes[i], folder, recordings, seen)) {
            fputs("bench_forks: a recorded family failed\n", stderr);
            return;
        }
        struct medians recorded = medians_of(seen, sizes[i], true), unseated = medians_of(seen, sizes[i], false);
        print_row(sizes[i], "recorded", &recorded, &bare);
        print_row(sizes[i], "no seat", &unseated, &bare);
    }
}
