/* SPDX-License-Identifier: Apache-2.0 */
/* bench_startup.c - what stallbox_start costs the calling thread, and how long it takes until every module has its
 * rows.
 *
 * usage: bench_startup [--json] [--rounds N]
 * Each run is a new process. It loads well-known libraries until it has 5, 50 or 144 modules, then loads one more as
 * the peer (dlopen of libsqlite3, a library of medium size), and then starts the recorder. It does so once with an
 * empty folder of rows (cold), and once with the rows of the cold run (warm), in turns. The ratio is computed inside a
 * process. Why it matters: every user of every application waits for the start-up. */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "marks.h"
#include "recording_format.h"
#include "rounds.h"
#include "stallbox/stallbox.h"

enum {
    ROUNDS_DEFAULT = 21,
    ROWS_WAIT_MS = 10000
};
#define PEER_LIBRARY "libsqlite3.so.0"

/* Loaded in this order until there are enough modules. Libraries that are not installed are skipped. */
static const char *const libraries[] = {
    "libstdc++.so.6",
    "libcrypto.so.3",
    "libssl.so.3",
    "libcurl.so.4",
    "libglib-2.0.so.0",
    "libpython3.11.so.1.0",
    "libxml2.so.2",
    "libLLVM-14.so.1",
    "libgtk-x11-2.0.so.0",
    "libavcodec.so.59",
    "libavformat.so.59",
    "libavfilter.so.8",
    "libgrpc++.so.1.51",
    "libclang-14.so.1",
    "libboost_python311.so.1.74.0",
    "libMagickCore-6.Q16.so.6",
    "libgd.so.3",
    "libpq.so.5",
    "libmariadb.so.3",
    "libSDL2-2.0.so.0",
    "libQt5Gui.so.5",
    "libgtk-3.so.0",
    "libgit2.so.1.5",
    "libarchive.so.13",
    "libapr-1.so.0",
    "libruby-3.1.so.3.1",
    "libnode.so.108",
    "libhdf5_serial.so.103",
    "liblapack.so.3",
    "libtcl8.6.so",
    "libz3.so.4",
    "libperl.so.5.36",
    "libmagic.so.1",
    "libpulse.so.0",
    "libdw.so.1",
    "libdebuginfod.so.1",
    "libncursesw.so.6",
    "libreadline.so.8",
    "libgdbm.so.6",
    "libldap-2.5.so.0",
    "libkrb5.so.3",
    "libsystemd.so.0",
    "libdbus-1.so.3",
    "libudev.so.1",
    "libusb-1.0.so.0",
    "libcups.so.2",
    "libavahi-client.so.3",
    "libwebp.so.7",
    "libtiff.so.6",
    "libjbig2dec.so.0",
};

/* The results of one process. */
struct run {
    double start_ms, start_cpu_ms, peer_ms, rows_ms;
    int modules;
};

static double clock_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int count_one(struct dl_phdr_info *info, size_t bytes, void *count)
{
    (void)info;
    (void)bytes;
    ++*(int *)count;
    return 0;
}

static int count_modules(void)
{
    int count = 0;
    dl_iterate_phdr(count_one, &count);
    return count;
}

/* ---- the child ---- */

/* Are there no more walks that end because rows are missing? */
static bool has_all_rows(const struct sbx_recording_header *header)
{
    const struct sbx_module_entry *modules =
        (const struct sbx_module_entry *)(const void *)((const char *)header + header->modules.at);
    if (*(const volatile uint32_t *)&header->module_count == 0) {
        return false; /* the modules were not read yet */
    }
    for (uint32_t i = 0; i < header->module_count; i++) {
        uint32_t flags = *(const volatile uint32_t *)&modules[i].flags;
        if ((flags & SBX_MODULE_ROWS_PENDING) != 0) {
            return false;
        }
    }
    return true;
}

static int run_child(int modules_wanted, const char *work)
{
    char recordings[512], spool[512];
    struct run run = {0};
    bool has_shm = access("/dev/shm", W_OK) == 0; /* the default place of recordings */
    snprintf(recordings, sizeof recordings, "%s/stallbox-bench-%d", has_shm ? "/dev/shm" : work, (int)getpid());
    snprintf(spool, sizeof spool, "%s/spool", work);
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0] && count_modules() < modules_wanted - 1; i++) {
        (void)dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
    }
    double before = clock_ms(CLOCK_MONOTONIC);
    if (dlopen(PEER_LIBRARY, RTLD_NOW) == NULL) {
        fprintf(stderr, "bench_startup: %s\n", dlerror());
        return 1;
    }
    run.peer_ms = clock_ms(CLOCK_MONOTONIC) - before;
    run.modules = count_modules();
    const struct stallbox_options options = {
        .sizeof_options = sizeof options, .spool_path = spool, .recording_path = recordings};
    double cpu_before = clock_ms(CLOCK_THREAD_CPUTIME_ID);
    before = clock_ms(CLOCK_MONOTONIC);
    enum stallbox_result result = stallbox_start(&options);
    double started = clock_ms(CLOCK_MONOTONIC);
    run.start_ms = started - before;
    run.start_cpu_ms = clock_ms(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
    const struct sbx_recording_header *header = bench_control_open(recordings, (uint32_t)getpid());
    if (result != STALLBOX_OK || header == NULL) {
        fprintf(stderr, "bench_startup: %s\n", stallbox_result_name(result));
        return 1;
    }
    while (!has_all_rows(header)) {
        if (clock_ms(CLOCK_MONOTONIC) - started > ROWS_WAIT_MS) {
            fprintf(stderr, "bench_startup: the rows did not come\n");
            return 1;
        }
        const struct timespec pause = {0, 200000};
        nanosleep(&pause, NULL);
    }
    run.rows_ms = clock_ms(CLOCK_MONOTONIC) - started;
    const struct timespec pause = {0, 300000000}; /* then the rows are written to disk */
    nanosleep(&pause, NULL);
    stallbox_stop(5000);
    rmdir(recordings);
    return write(STDOUT_FILENO, &run, sizeof run) == (ssize_t)sizeof run ? 0 : 1;
}

/* ---- the parent ---- */

static bool run_once(int modules, const char *work, const char *rows_folder, struct run *run_out)
{
    int ends[2], status = -1;
    if (pipe(ends) != 0) {
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", modules);
        setenv("STALLBOX_ROWS", rows_folder, 1);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "bench_startup", "--child", number, work, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    bool is_whole = pid > 0 && read(ends[0], run_out, sizeof *run_out) == (ssize_t)sizeof *run_out;
    close(ends[0]);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && is_whole;
}

static void remove_tree(const char *path)
{
    pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", path, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
}

/* The reported figures of a run. Only the call itself delays the calling thread, so it has a
 * target, with and without rows on disk. */
static const struct quantity {
    const char *name, *reach;
    size_t at; /* offset in struct run */
} quantities[] = {
    {"stallbox_start", "value < 5", offsetof(struct run, start_ms)},
    {"CPU of the starting thread", NULL, offsetof(struct run, start_cpu_ms)},
    {"until all rows are there", NULL, offsetof(struct run, rows_ms)},
};

static bool measure(int modules, const char *work, const struct bench_options *options)
{
    static struct bench_series ours[2][SBX_COUNT_OF(quantities)], peer[2];
    static const char *const names[] = {"cold", "warm"};
    char folder[512], metric[128];
    int seen = 0;
    memset(ours, 0, sizeof ours);
    memset(peer, 0, sizeof peer);
    snprintf(folder, sizeof folder, "%s/rows", work);
    for (int round = -1; round < options->rounds;
         round++) { /* the first round brings the libraries into memory, and is not counted */
        remove_tree(folder);
        for (int warm = 0; warm < 2; warm++) {
            struct run run;
            if (!run_once(modules, work, folder, &run)) {
                return false;
            }
            for (size_t i = 0; round >= 0 && i < SBX_COUNT_OF(quantities); i++) {
                bench_series_add(&ours[warm][i],
                                 *(const double *)(const void *)((const char *)&run + quantities[i].at));
            }
            if (round >= 0) {
                bench_series_add(&peer[warm], run.peer_ms);
            }
            seen = run.modules;
        }
    }
    for (int warm = 0; warm < 2; warm++) {
        for (size_t i = 0; i < SBX_COUNT_OF(quantities); i++) {
            snprintf(metric, sizeof metric, "%s, %d modules, %s rows", quantities[i].name, seen, names[warm]);
            const struct bench_line line = {"startup", metric, "ms", "dlopen " PEER_LIBRARY, quantities[i].reach};
            bench_print(options->json, &line, &ours[warm][i], &peer[warm]);
        }
    }
    return true;
}

int main(int count, char **arguments)
{
    struct bench_options options = {.rounds = ROUNDS_DEFAULT};
    if (count == 4 && strcmp(arguments[1], "--child") == 0) {
        return run_child(atoi(arguments[2]), arguments[3]);
    }
    if (!bench_read_options(count, arguments, &options)) {
        return 2;
    }
    char work[] = "/tmp/stallbox-startup-XXXXXX";
    static const int sizes[] = {5, 50, 144};
    if (mkdtemp(work) == NULL) {
        perror("bench_startup");
        return 1;
    }
    bench_print_heading(options.json, "start, beside dlopen of " PEER_LIBRARY " in the same process");
    bool is_done = true;
    for (size_t i = 0; is_done && i < SBX_COUNT_OF(sizes); i++) {
        is_done = measure(sizes[i], work, &options);
    }
    remove_tree(work);
    return is_done ? 0 : 1;
}
