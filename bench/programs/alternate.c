/* SPDX-License-Identifier: Apache-2.0 */
/* alternate.c - measures one process under load, with its recorder alternately in and out, and prints what each window
 * cost.
 *
 * usage: alternate PID [--port N --request FILE --connections N --deep N --by lines|bytes] [--pairs N] [--window-ms N]
 *                      [--settle-ms N] [--warm-ms N] [--null 1] [--steady 1] [KEY=NUMBER...]
 * With --port, this program is also the load: it opens the given number of connections, and keeps `deep` copies of
 * FILE's request under way on each. A response is recognised by the number of lines, or bytes, that the first response
 * had. Without --port, the process reports its work as lines, which arrive on standard input.
 *
 * A pair is two windows in random order, one with the recorder in and one with it out. Each window prints one line:
 *     in|out PAIR CPU_NS RECORDER_NS DONE WALL_NS SLEEPS BEGIN_NS
 * At the end, one line gives the state of the recorder's budget, and its own account of the windows with it in:
 *     end INTERVAL_US GAP_US SHED_POINTS WINDOW_PPM MEAN_PPM WATCH_NS CAPTURES_NS CALLS_NS CPU_NS
 * MEAN_PPM is the mean of its reports about the last second, at the end of each such window. The four sums are from its
 * first to its last report in this run: of its three parts, and the CPU time of the process in that time, out or in.
 * CPU_NS is that of the whole process by its CPU clock, which the kernel updates when it is read. RECORDER_NS is the
 * part of the threads named sbx-*, from /proc/PID/task/TID/schedstat, and SLEEPS is how often they went to sleep.
 * BEGIN_NS is the window's begin, by CLOCK_MONOTONIC. The kernel updates schedstat when a thread sleeps and at each
 * tick. So it is exact for threads that hardly run, and would be late by some milliseconds for those that compute. The
 * program's own part is CPU_NS minus RECORDER_NS.
 * KEY=NUMBER: settings while it is in, as for capture_order. --null 1: it is out in both windows, which must then give
 * the same. --steady 1: it is in all the time, as in an installation, and there are no windows without it.
 *
 * "Out" means that no hook is installed and no thread of the recorder wakes. The threads exist, so that the C library
 * and the kernel treat the process as one with several threads in both kinds of windows. With --warm-ms, the recorder
 * is in for this time before the first pair. What it does to keep its CPU budget continues from window to window
 * (agent/governor.h). */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "control_order.h"
#include "order.h"

enum {
    CONNECTIONS_MAX = 16384,
    REQUEST_MAX = 4096,
    DEEP_MAX = 64,
    FIRST_QUIET_MS = 100, /* a response is over when nothing has arrived for this time */
    FIRST_TRIES = 50,     /* and waits for its first byte take several such times: a busy machine is slow */
    OPEN_TRIES = 300,
    RECORDER_THREADS_MAX = 16,
    MS = 1000000,
};

static struct {
    int pid, port, connections, deep, pairs, window_ms, settle_ms, warm_ms, null, steady;
    bool by_lines;
} options = {.connections = 16, .deep = 1, .pairs = 40, .window_ms = 150, .settle_ms = 40};

static uint64_t done; /* requests or lines; written by the load's thread */

static void fail(const char *text)
{
    fprintf(stderr, "alternate: %s\n", text);
    exit(1);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) == 0 ? (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec : 0;
}

static void rest_ms(int ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * (long)MS};
    nanosleep(&pause, NULL);
}

/* ---- the load ---- */

static char request[REQUEST_MAX * DEEP_MAX];
static size_t request_bytes;
static uint64_t response_units;
static struct {
    int fd;
    uint64_t units; /* lines or bytes of responses, so far */
    uint64_t asked;
} connections[CONNECTIONS_MAX];

static int connect_to_port(void)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)options.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int yes = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof to) != 0) {
        fail("nobody listens at the port");
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
}

static uint64_t units_of(const char *bytes, size_t count)
{
    if (!options.by_lines) {
        return count;
    }
    uint64_t lines = 0;
    for (const char *at = bytes; (at = memchr(at, '\n', (size_t)(bytes + count - at))) != NULL; at++) {
        lines++;
    }
    return lines;
}

static void ask(int fd, int copies)
{
    size_t bytes = request_bytes * (size_t)copies, sent = 0;
    while (sent < bytes) {
        ssize_t now = write(fd, request + sent, bytes - sent);
        if (now <= 0) {
            fail("the server closed a connection");
        }
        sent += (size_t)now;
    }
}

static void measure_response(void)
{
    static char buffer[1 << 16];
    struct timeval quiet = {0, FIRST_QUIET_MS * 1000};
    int fd = connect_to_port();
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &quiet, sizeof quiet);
    ask(fd, 1);
    for (int tries = 0; tries < FIRST_TRIES && response_units == 0; tries++) {
        for (ssize_t bytes; (bytes = read(fd, buffer, sizeof buffer)) > 0;) {
            response_units += units_of(buffer, (size_t)bytes);
        }
    }
    close(fd);
    if (response_units == 0) {
        fail("the server answered nothing");
    }
}

static void *load(void *unused)
{
    static char buffer[1 << 18];
    struct epoll_event ready[64];
    int set = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < options.connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        connections[i].fd = connect_to_port();
        epoll_ctl(set, EPOLL_CTL_ADD, connections[i].fd, &event);
        ask(connections[i].fd, options.deep);
        connections[i].asked = (uint64_t)options.deep;
    }
    for (;;) {
        int count = epoll_wait(set, ready, 64, -1);
        for (int i = 0; i < count; i++) {
            uint32_t which = ready[i].data.u32;
            ssize_t bytes = read(connections[which].fd, buffer, sizeof buffer);
            if (bytes <= 0) {
                fail("the server closed a connection");
            }
            uint64_t before = connections[which].units / response_units;
            connections[which].units += units_of(buffer, (size_t)bytes);
            uint64_t now = connections[which].units / response_units;
            sbx_store_relaxed(&done, done + now - before); /* relaxed: a count */
            if (now == connections[which].asked) {
                ask(connections[which].fd, options.deep);
                connections[which].asked += (uint64_t)options.deep;
            }
        }
    }
    return unused;
}

static void *count_lines(void *unused)
{
    static char buffer[1 << 16];
    options.by_lines = true;
    for (ssize_t bytes; (bytes = read(STDIN_FILENO, buffer, sizeof buffer)) > 0;) {
        sbx_store_relaxed(&done, done + units_of(buffer, (size_t)bytes));
    }
    fail("the program has ended");
    return unused;
}

/* ---- what was used ---- */

/* CPU time of the recorder's threads, and how often they went to sleep. */
struct recorder_use {
    uint64_t cpu_ns, sleeps;
};

static uint64_t sleeps_of(int tid)
{
    static const char key[] = "voluntary_ctxt_switches:";
    char path[80], line[128];
    unsigned long long count = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", options.pid, tid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, sizeof key - 1) == 0) {
            count = strtoull(line + sizeof key - 1, NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

/* These threads exist from the start, and are searched only once: with thousands of threads, the search takes as long
 * as a window. */
static int recorder_tids[RECORDER_THREADS_MAX];
static int recorder_threads;

static void find_recorder_threads(void)
{
    char path[80], name[16] = "";
    snprintf(path, sizeof path, "/proc/%d/task", options.pid);
    DIR *tasks = opendir(path);
    for (struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;) {
        int tid = atoi(entry->d_name);
        snprintf(path, sizeof path, "/proc/%d/task/%d/comm", options.pid, tid);
        FILE *file = tid > 0 ? fopen(path, "re") : NULL;
        if (file == NULL) {
            continue;
        }
        if (fgets(name, sizeof name, file) != NULL && strncmp(name, "sbx-", 4) == 0 &&
            recorder_threads < RECORDER_THREADS_MAX) {
            recorder_tids[recorder_threads++] = tid;
        }
        fclose(file);
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
}

static struct recorder_use recorder_use(void)
{
    struct recorder_use sum = {0, 0};
    for (int i = 0; i < recorder_threads; i++) {
        char path[80];
        unsigned long long ns = 0;
        snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", options.pid, recorder_tids[i]);
        FILE *file = fopen(path, "re");
        if (file != NULL) {
            sum.cpu_ns += fscanf(file, "%llu", &ns) == 1 ? ns : 0;
            sum.sleeps += sleeps_of(recorder_tids[i]);
            fclose(file);
        }
    }
    return sum;
}

/* The recorder's own account. */
struct account {
    uint64_t watch_ns, captures_ns, calls_ns, cpu_ns;
};

static uint64_t seconds_ppm, seconds_told;

/* Reads what it has reported so far, and the process's CPU time. The two match as closely as its window of a second
 * allows. */
static struct account account_of(const struct sbx_recording_header *header)
{
    /* order: none - statistics of another process */
    const struct sbx_overhead *overhead = &header->overhead;
    return (struct account){.watch_ns = overhead->watch_ns,
                            .captures_ns = overhead->captures_ns,
                            .calls_ns = overhead->calls_ns,
                            .cpu_ns = overhead->application_ns + overhead->watch_ns + overhead->captures_ns +
                                      overhead->calls_ns};
}

/* Returns when a request was just completed. Windows begin and end at such times, so that no request is cut in two. */
static uint64_t next_done(void)
{
    enum {
        LOOKS = 5000,
        LOOK_US = 100
    };
    uint64_t before = sbx_load_relaxed(&done), now = before;
    for (int i = 0; i < LOOKS && now == before; i++) {
        const struct timespec pause = {0, LOOK_US * 1000};
        nanosleep(&pause, NULL);
        now = sbx_load_relaxed(&done);
    }
    return now;
}

static void measure_window(struct sbx_recording_header *header, const struct sbx_capture_settings *settings, int pair,
                           const char *name)
{
    clockid_t cpu_clock;
    if (clock_getcpuclockid(options.pid, &cpu_clock) != 0 || !bench_control_order(header, settings)) {
        fail("the process is gone, or does not answer");
    }
    rest_ms(options.settle_ms);
    struct recorder_use before = recorder_use();
    uint64_t count = next_done();
    uint64_t cpu = clock_ns(cpu_clock), begin = clock_ns(CLOCK_MONOTONIC);
    rest_ms(options.window_ms);
    count = next_done() - count;
    cpu = clock_ns(cpu_clock) - cpu;
    uint64_t wall = clock_ns(CLOCK_MONOTONIC) - begin;
    struct recorder_use after = recorder_use();
    if (settings->enabled != 0) {
        seconds_ppm += header->overhead.window_ppm; /* order: none - statistics of another process */
        seconds_told++;
    }
    printf("%s %d %llu %llu %llu %llu %llu %llu\n", name, pair, (unsigned long long)cpu,
           (unsigned long long)(after.cpu_ns - before.cpu_ns), (unsigned long long)count, (unsigned long long)wall,
           (unsigned long long)(after.sleeps - before.sleeps), (unsigned long long)begin);
    fflush(stdout);
}

/* ---- */

static void read_request(const char *path)
{
    FILE *file = fopen(path, "re");
    request_bytes = file != NULL ? fread(request, 1, REQUEST_MAX, file) : 0;
    if (request_bytes == 0) {
        fail("there is no request");
    }
    fclose(file);
    for (int i = 1; i < DEEP_MAX; i++) {
        memcpy(request + (size_t)i * request_bytes, request, request_bytes);
    }
}

static bool read_setting(const char *text, struct sbx_capture_settings *settings)
{
    static const struct {
        const char *name;
        size_t at;
    } names[] = {{"interval_us=", offsetof(struct sbx_capture_settings, interval_us)},
                 {"gap_us=", offsetof(struct sbx_capture_settings, gap_us)},
                 {"max_cpu_permille=", offsetof(struct sbx_capture_settings, max_cpu_permille)}};
    if (strncmp(text, "points=", 7) == 0) {
        settings->points = strtoull(text + 7, NULL, 0);
        return true;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t length = strlen(names[i].name);
        if (strncmp(text, names[i].name, length) == 0) {
            uint32_t value = (uint32_t)strtoul(text + length, NULL, 0);
            memcpy((char *)settings + names[i].at, &value, sizeof value);
            return true;
        }
    }
    return false;
}

static bool read_options(int count, char **arguments, struct sbx_capture_settings *settings)
{
    const struct {
        const char *name;
        int *value;
    } numbers[] = {{"--port", &options.port},           {"--connections", &options.connections},
                   {"--deep", &options.deep},           {"--pairs", &options.pairs},
                   {"--window-ms", &options.window_ms}, {"--settle-ms", &options.settle_ms},
                   {"--warm-ms", &options.warm_ms},     {"--null", &options.null},
                   {"--steady", &options.steady}};
    for (int i = 2; i < count; i++) {
        bool is_known = read_setting(arguments[i], settings);
        const char *value = !is_known && i + 1 < count ? arguments[i + 1] : "";
        for (size_t k = 0; k < sizeof numbers / sizeof numbers[0] && !is_known; k++) {
            if (strcmp(arguments[i], numbers[k].name) == 0 && isdigit((unsigned char)value[0])) {
                *numbers[k].value = atoi(value);
                is_known = true;
                i++;
            }
        }
        if (!is_known && strcmp(arguments[i], "--request") == 0) {
            read_request(value);
            is_known = true;
            i++;
        } else if (!is_known && strcmp(arguments[i], "--by") == 0) {
            options.by_lines = strcmp(value, "lines") == 0;
            is_known = true;
            i++;
        }
        if (!is_known) {
            return false;
        }
    }
    return options.connections > 0 && options.connections <= CONNECTIONS_MAX && options.deep > 0 &&
           options.deep <= DEEP_MAX && (options.port == 0 || request_bytes != 0);
}

int main(int count, char **arguments)
{
    pthread_t thread;
    struct sbx_recording_header *header = NULL;
    options.pid = count > 1 ? atoi(arguments[1]) : 0;
    for (int tries = 0; options.pid > 0 && header == NULL && tries < OPEN_TRIES; tries++) { /* may be starting */
        header = bench_control_open(getenv("STALLBOX_RECORDINGS"), (uint32_t)options.pid);
        if (header == NULL) {
            rest_ms(10);
        }
    }
    if (header == NULL) {
        fail(options.pid > 0 ? "the process has no recorder" : "usage: alternate PID [OPTION...] [KEY=NUMBER...]");
    }
    struct sbx_capture_settings in = sbx_control_page_of(header)->in_force;
    in.enabled = 1;
    in.points = SBX_POINTS_DEFAULT;
    in.interval_us = 1000;
    in.max_cpu_permille = 0; /* no budget; no policy can request this */
    if (!read_options(count, arguments, &in)) {
        fail("what is asked for is not known");
    }
    struct sbx_capture_settings out = in;
    out.enabled = 0;
    if (options.port != 0) {
        measure_response();
    }
    if (pthread_create(&thread, NULL, options.port != 0 ? load : count_lines, NULL) != 0) {
        fail("no thread for the load");
    }
    rest_ms(10 * options.settle_ms);
    if (options.warm_ms != 0) {
        if (!bench_control_order(header, &in)) {
            fail("the process does not answer");
        }
        rest_ms(options.warm_ms);
    }
    find_recorder_threads();
    struct account before = account_of(header);
    uint32_t random = (uint32_t)clock_ns(CLOCK_MONOTONIC) | 1;
    for (int pair = 0; pair < options.pairs; pair++) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        bool is_in_first = (random & 64) != 0;
        for (int half = 0; half < 2; half++) {
            bool is_in = is_in_first == (half == 0) || options.steady != 0;
            if (half == 0 || options.steady == 0) {
                measure_window(header, is_in && options.null == 0 ? &in : &out, pair, is_in ? "in" : "out");
            }
        }
    }
    bench_control_order(header, &in);
    struct account after = account_of(header);
    const struct sbx_overhead *overhead = &header->overhead; /* order: none - statistics of another process */
    printf("end %u %u %llu %u %llu %llu %llu %llu %llu\n", overhead->interval_us, overhead->gap_us,
           (unsigned long long)overhead->shed, overhead->window_ppm,
           (unsigned long long)(seconds_told != 0 ? seconds_ppm / seconds_told : 0),
           (unsigned long long)(after.watch_ns - before.watch_ns),
           (unsigned long long)(after.captures_ns - before.captures_ns),
           (unsigned long long)(after.calls_ns - before.calls_ns), (unsigned long long)(after.cpu_ns - before.cpu_ns));
    return 0;
}
