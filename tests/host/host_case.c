/* SPDX-License-Identifier: Apache-2.0 */
/* host_case.c - starts a body, and reads what it left. */
#include "host_case.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include "policy.h"
#include "preload.h"
#include "recording_recover.h"
#include "snapshot_folder.h"

enum {
    LONGEST_S = 300,       /* a body that takes longer has hung */
    LONGEST_FULL_S = 1800, /* for a case of the listed size */
    NEVER_MS = 60000,
    EXIT_SKIPS = 77, /* before_exec returned false */
};

char host_folder[64], host_spool[96], host_raw[104], host_recordings[96];
static char host_rows[64]; /* one place for all tests of a run, so that rows are built once */

long host_size(long listed, long usual)
{
    const char *full = getenv("STALLBOX_HOST_FULL");
    return full != NULL && full[0] != 0 ? listed : usual;
}

/* ---- the bodies' side ---- */

struct host_api host_api(void)
{
    return (struct host_api){
        .start = (enum stallbox_result(*)(const struct stallbox_options *))dlsym(RTLD_DEFAULT, "stallbox_start"),
        .stop = (enum stallbox_result(*)(uint32_t))dlsym(RTLD_DEFAULT, "stallbox_stop"),
        .snapshot = (enum stallbox_result(*)(uint32_t))dlsym(RTLD_DEFAULT, "stallbox_snapshot"),
        .read_counts = (enum stallbox_result(*)(struct stallbox_counts *))dlsym(RTLD_DEFAULT, "stallbox_read_counts"),
        .is_running = (bool (*)(void))dlsym(RTLD_DEFAULT, "stallbox_is_running"),
    };
}

void host_expect(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "in the host: not so: %s\n", what);
        _exit(1);
    }
}

void host_expect_snapshot(void)
{
    enum stallbox_result result = host_api().snapshot(60000);
    if (result != STALLBOX_OK) {
        fprintf(stderr, "in the host: the snapshot: %d\n", (int)result);
    }
    host_expect(result == STALLBOX_OK, "a snapshot is made");
}

struct stallbox_counts host_counts(void)
{
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    host_expect(host_api().read_counts(&counts) == STALLBOX_OK, "counts are read");
    return counts;
}

void host_pause_ms(long ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR) {
    }
}

uint64_t host_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void host_compute_ms(long ms)
{
    uint64_t end = host_now_ms() + (uint64_t)ms;
    while (host_now_ms() < end) {
        for (volatile int i = 0; i < 500000; i++) {
        }
    }
}

__attribute__((noinline)) static void loop_once(void (*handle)(void))
{
    struct pollfd none = {.fd = -1};
    poll(&none, 1, 1);
    if (handle != NULL) {
        handle();
    }
    HOST_KEEP_FRAME();
}

__attribute__((noinline)) void host_loop(int turns, void (*handle)(void))
{
    for (int i = 0; i < turns; i++) {
        volatile int turn = i; /* hidden from the compiler: it would peel the loop, and a loop must have one place */
        loop_once(turn == turns - 1 ? handle : NULL);
    }
}

int host_thread_count(void)
{
    int count = 0;
    DIR *listing = opendir("/proc/self/task");
    host_expect(listing != NULL, "tasks can be listed");
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        count += entry->d_name[0] != '.';
    }
    closedir(listing);
    return count;
}

void host_tell(const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", getenv("HOST_FOLDER"), name);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    host_expect(file >= 0, "a word can be left");
    close(file);
}

/* ---- the judges' side ---- */

int host_set_up(void **state)
{
    (void)state;
    snprintf(host_folder, sizeof host_folder, "/tmp/sbx-host-XXXXXX");
    if (mkdtemp(host_folder) == NULL) {
        return -1;
    }
    snprintf(host_spool, sizeof host_spool, "%s/spool", host_folder);
    snprintf(host_raw, sizeof host_raw, "%s/raw", host_spool);
    snprintf(host_recordings, sizeof host_recordings, "%s/recordings", host_folder);
    return 0;
}

int host_tear_down(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", host_folder);
    return system(command) == 0 ? 0 : -1;
}

/* Start the body with the command itself. Returns only when that fails. */
static void become_companion(const struct host_order *order)
{
    char exe[256], path[128], anr[16], slow_message[16];
    ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
    snprintf(path, sizeof path, "%s/run.err", host_folder);
    int err = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (length <= 0 || err < 0 || dup2(err, STDERR_FILENO) < 0) {
        return;
    }
    exe[length] = 0;
    snprintf(anr, sizeof anr, "%u", order->anr_ms != 0 ? order->anr_ms : NEVER_MS);
    snprintf(slow_message, sizeof slow_message, "%u", order->slow_message_ms != 0 ? order->slow_message_ms : NEVER_MS);
    execl(HOST_TOOL, "stallbox", "run", "--spool", host_spool, "--anr-ms", anr, "--slow-message-ms", slow_message, "--",
          exe, "--body", order->body, (char *)NULL);
}

static void become_host(const struct host_order *order)
{
    struct sbx_preload_orders orders = {.layout_hash = sbx_layout_hash()};
    struct sbx_policy policy = *sbx_policy_default();
    char text[SBX_ORDERS_TEXT_BYTES], preload[1024];
    policy.capture.anr_ms = order->anr_ms != 0 ? order->anr_ms : NEVER_MS;
    policy.capture.slow_message_ms = order->slow_message_ms != 0 ? order->slow_message_ms : NEVER_MS;
    if (order->interval_us != 0) {
        policy.capture.interval_us = order->interval_us;
    }
    if (order->gap_us != 0) {
        policy.capture.gap_us = order->gap_us;
    }
    sbx_policy_settings(&policy, &orders.settings);
    if (order->has_no_budget) {
        orders.settings.max_cpu_permille = orders.settings.max_cpu_tenths = 0;
    }
    sbx_orders_print(&orders, text);
    for (int i = 3; i < 256; i++) { /* descriptors that ctest or a shell left open */
        close(i);
    }
    setenv("HOST_FOLDER", host_folder, 1);
    setenv(SBX_ENV_SPOOL, host_spool, 1);
    setenv(SBX_ENV_RECORDINGS, host_recordings, 1);
    setenv("STALLBOX_ROWS", host_rows, 1);
    unsetenv("STALLBOX_DISABLE");
    if (!order->has_no_agent && !order->has_companion) {
        snprintf(preload, sizeof preload, "%s%s%s", HOST_LIBRARY, order->preload_too != NULL ? ":" : "",
                 order->preload_too != NULL ? order->preload_too : "");
        setenv("LD_PRELOAD", preload, 1);
        setenv(SBX_ENV_AUTOSTART, "1", 1);
        setenv(SBX_ENV_ORDERS, text, 1);
    }
    if (order->before_exec != NULL && !order->before_exec()) {
        _exit(EXIT_SKIPS);
    }
    if (order->has_companion) {
        become_companion(order);
        _exit(EXIT_SKIPS + 1);
    }
    execl("/proc/self/exe", "host", "--body", order->body, (char *)NULL);
    _exit(EXIT_SKIPS + 1);
}

pid_t host_begin(const struct host_order *order)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        become_host(order);
    }
    assert_true(pid > 0);
    return pid;
}

int host_end(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPS) {
        host_skip("this machine does not let us arrange it");
    }
    return status;
}

int host_run(const struct host_order *order)
{
    return host_end(host_begin(order));
}

void host_run_well(const struct host_order *order)
{
    int status = host_run(order);
    if (status != 0 && order->has_companion) {
        char text[4096];
        host_companion_said(text, sizeof text);
        fprintf(stderr, "%s", text);
    }
    assert_int_equal(status, 0);
}

void host_skip(const char *why)
{
    fprintf(stderr, "SKIPPED: %s\n", why);
    skip();
}

int host_count_files(const char *path, const char *suffix)
{
    return (int)snapshot_folder_count(path, suffix);
}

int host_count_snapshots(void)
{
    return host_count_files(host_raw, SBX_RAW_SUFFIX);
}

void host_expect_recordings_closed(void)
{
    struct sbx_recovery_counts counts,
        clean = {.clean = (uint32_t)host_count_files(host_recordings, SBX_RECORDING_SUFFIX)};
    assert_int_equal(sbx_recording_recover_folder(host_recordings, host_spool, NULL, NULL, &counts), 0);
    assert_memory_equal(&counts, &clean, sizeof counts);
}

struct sbx_snapshot *host_read_snapshot(void)
{
    char why[700] = "";
    struct sbx_snapshot *snapshot = snapshot_folder_read_only(host_raw, why, sizeof why);
    if (snapshot == NULL) {
        fail_msg("%s", why);
    }
    return snapshot;
}

bool host_wait_for_snapshots(int count)
{
    for (int i = 0; i < 3000; i++) {
        if (host_count_snapshots() >= count) {
            return true;
        }
        host_pause_ms(20);
    }
    return false;
}

bool host_was_told(const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", host_folder, name);
    for (int i = 0; i < 6000; i++) {
        if (access(path, F_OK) == 0) {
            return true;
        }
        host_pause_ms(10);
    }
    return false;
}

void host_answer(const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", host_folder, name);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    close(file);
}

static void read_all(FILE *from, char *text, size_t bytes)
{
    text[fread(text, 1, bytes - 1, from)] = 0;
}

void host_report(char *text, size_t bytes)
{
    char command[512];
    snprintf(command, sizeof command, "'%s' report --all '%s' 2>&1", HOST_TOOL, host_spool);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    read_all(output, text, bytes);
    (void)pclose(output); /* ends the command if it wrote more than is read */
}

void host_companion_said(char *text, size_t bytes)
{
    char path[128];
    snprintf(path, sizeof path, "%s/run.err", host_folder);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    read_all(file, text, bytes);
    fclose(file);
}

static int take_first_bias(struct dl_phdr_info *module, size_t bytes, void *bias_out)
{
    (void)bytes;
    *(uint64_t *)bias_out = module->dlpi_addr; /* the executable is the first module */
    return 1;
}

/* Uses the function's description for unwinders: static functions have one too, and a neighbour is another function. */
static bool lies_in(uint64_t address, const void *function)
{
    void *before = (void *)(uintptr_t)(address - 1); /* a call may be the last instruction of a function */
    return address == (uint64_t)(uintptr_t)function || _Unwind_FindEnclosingFunction(before) == function;
}

bool host_passes(const struct sbx_snapshot *snapshot, uint32_t stack, const void *function)
{
    uint64_t frames[600], bias = 0;
    size_t count = sbx_snapshot_stack(snapshot, stack, frames, SBX_COUNT_OF(frames));
    dl_iterate_phdr(take_first_bias, &bias);
    for (size_t i = 0; i < count && i < SBX_COUNT_OF(frames); i++) {
        uint32_t module = (uint32_t)(frames[i] >> SBX_FRAME_MODULE_SHIFT);
        if (module < snapshot->module_count && (snapshot->modules[module].flags & SBX_MODULE_MAIN) != 0 &&
            lies_in((frames[i] & SBX_FRAME_OFFSET_MASK) + bias, function)) {
            return true;
        }
    }
    return false;
}

/* ---- the ordinary program ---- */

_Atomic bool host_goes_on = true;
_Atomic int host_busy_threads;

void *host_keep_busy(void *unused)
{
    (void)unused;
    host_busy_threads++;
    while (host_goes_on) {
        host_compute_ms(3);
        void *volatile memory = malloc(100);
        free(memory);
        host_pause_ms(3); /* half of a processor is enough for samples, and other tests run at the same time */
    }
    return NULL;
}

void host_work(void)
{
    pthread_t thread;
    bool has_thread = pthread_create(&thread, NULL, host_keep_busy, NULL) == 0;
    host_loop(100, NULL);
    if (host_api().is_running != NULL && host_api().is_running()) {
        host_api().snapshot(20000); /* made or refused, but it must be answered */
    }
    host_loop(20, NULL);
    host_goes_on = false;
    if (has_thread) {
        pthread_join(thread, NULL);
    }
}

/* ---- */

int host_main(int argc, char **argv, const struct host_body *bodies, size_t body_count, const struct CMUnitTest *tests,
              size_t test_count)
{
    if (argc >= 3 && strcmp(argv[1], "--body") == 0) {
        for (size_t i = 0; i < body_count; i++) {
            if (strcmp(bodies[i].name, argv[2]) == 0) {
                alarm((unsigned)host_size(LONGEST_FULL_S, LONGEST_S));
                bodies[i].run();
                return 0;
            }
        }
        fprintf(stderr, "no body of the name %s\n", argv[2]);
        return 2;
    }
    if (argc >= 2) {
        cmocka_set_test_filter(argv[1]);
    }
    snprintf(host_rows, sizeof host_rows, "/tmp/sbx-host-rows-XXXXXX");
    if (mkdtemp(host_rows) == NULL) {
        return 2;
    }
    int failed = _cmocka_run_group_tests(argv[0], tests, test_count, NULL, NULL);
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", host_rows);
    return system(command) != 0 || failed != 0;
}
