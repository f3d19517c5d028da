/* SPDX-License-Identifier: Apache-2.0 */
/* bench_symbol_stores.c - names for stacks of 32 frames: from a store in Redis, on loopback, compared with the same
 * from a folder.
 *
 * Each stack is 32 random addresses of one program, which needs more chunks than a real stack. New: the image is opened
 * first, as for a program that was not met before. Open: its directory is loaded, but no chunk. Warm: everything is
 * loaded. The program is the `stallbox` of the same build, or the one in STALLBOX_BENCH_PROGRAM. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "build_id.h"
#include "rounds.h"
#include "symbol_file.h"
#include "symbol_store.h"

enum {
    FRAMES = 32,
    STACKS = 200, /* per round; two of them are above the 99th percentile */
    ADDRESSES = 4096,
    ROUNDS_DEFAULT = 15,
    FRAMES_MAX = 64,
    CACHE_BYTES = 32 << 20
};

static struct sbx_symbol_frame frames[FRAMES_MAX];
static uint64_t addresses[ADDRESSES];
static char folder[] = "/tmp/bench_symbol_stores.XXXXXX";
static uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
static size_t build_id_bytes;
static pid_t redis;

static void die(const char *what)
{
    fprintf(stderr, "bench_symbol_stores: %s\n", what);
    if (redis > 0) {
        kill(redis, SIGTERM);
    }
    exit(1);
}

static void run(char *const *arguments)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(null, STDOUT_FILENO);
        execvp(arguments[0], arguments);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        die(arguments[0]);
    }
}

/* Starts a Redis server of our own. It uses a port, as in a fleet. */
static void start_redis(char url[64])
{
    for (unsigned tries = 0; tries < 20; tries++) {
        char port[8];
        snprintf(port, sizeof port, "%u", 23000 + ((unsigned)getpid() + tries * 131) % 9000);
        redis = fork();
        if (redis == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            int null = open("/dev/null", O_RDWR | O_CLOEXEC);
            dup2(null, STDOUT_FILENO);
            execlp("redis-server", "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly",
                   "no", "--dir", folder, (char *)NULL);
            _exit(127);
        }
        snprintf(url, 64, "redis://127.0.0.1:%s", port);
        for (int waited = 0; waited < 100 && waitpid(redis, NULL, WNOHANG) == 0; waited++) {
            struct sbx_symbol_store *store;
            struct sbx_symbol_image *image;
            char why[200];
            usleep(50000);
            if (sbx_symbol_store_open_at(url, "default", true, &store, why, sizeof why) != 0) {
                die(why);
            }
            int result = sbx_symbol_store_find(store, build_id, build_id_bytes, 0, 0, &image);
            sbx_symbol_store_close(store);
            if (result == -ENOENT) {
                return; /* it answers, and is empty */
            }
        }
    }
    die("redis-server does not start");
}

static struct sbx_symbol_file *open_file(struct sbx_symbol_store *store)
{
    struct sbx_symbol_image *image;
    if (sbx_symbol_store_find(store, build_id, build_id_bytes, 0, CACHE_BYTES, &image) != 0) {
        die("the program is not in the store");
    }
    return sbx_symbol_file_of_image(image);
}

static void choose_addresses(struct sbx_symbol_store *store)
{
    struct sbx_symbol_file *file = open_file(store);
    uint64_t begin = UINT64_MAX, end = 0, random = 3;
    enum sbx_symbol_source source;
    for (uint64_t at = 0; at < UINT64_C(1) << 28; at += 256) {
        if (sbx_symbol_file_find(file, at, frames, FRAMES_MAX, &source) > 0) {
            begin = at < begin ? at : begin;
            end = at;
        }
    }
    if (end <= begin) {
        die("nothing is named");
    }
    for (size_t i = 0; i < ADDRESSES;) {
        random = random * UINT64_C(6364136223846793005) + 1;
        addresses[i] = begin + (random >> 20) % (end - begin);
        i += sbx_symbol_file_find(file, addresses[i], frames, FRAMES_MAX, &source) > 0;
    }
    sbx_symbol_file_close(file);
}

static void look_up(struct sbx_symbol_file *file, const uint64_t *stack, bool at_once)
{
    enum sbx_symbol_source source;
    if (at_once) {
        sbx_symbol_file_prefetch(file, stack, FRAMES);
    }
    for (size_t i = 0; i < FRAMES; i++) {
        if (sbx_symbol_file_find(file, stack[i], frames, FRAMES_MAX, &source) == 0) {
            die("a name was lost");
        }
    }
}

enum {
    NEW,
    OPEN,
    ONE_BY_ONE,
    WARM,
    STATES
};
static struct bench_series series[2][STATES][2]; /* folder and Redis; p50 and p99 */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void measure_round(struct sbx_symbol_store *store, int where, int round)
{
    static double times[STATES][STACKS];
    for (int i = 0; i < STACKS; i++) {
        const uint64_t *stack = &addresses[(round * 7919 + i * FRAMES) % (ADDRESSES - FRAMES)];
        double begin = bench_now_ns();
        struct sbx_symbol_file *file = open_file(store);
        double opened = bench_now_ns();
        look_up(file, stack, true);
        times[NEW][i] = bench_now_ns() - begin;
        times[OPEN][i] = bench_now_ns() - opened;
        begin = bench_now_ns();
        look_up(file, stack, true);
        times[WARM][i] = bench_now_ns() - begin;
        sbx_symbol_file_close(file);
        file = open_file(store);
        begin = bench_now_ns();
        look_up(file, stack, false);
        times[ONE_BY_ONE][i] = bench_now_ns() - begin;
        sbx_symbol_file_close(file);
    }
    for (int state = 0; state < STATES; state++) {
        qsort(times[state], STACKS, sizeof **times, compare_doubles);
        bench_series_add(&series[where][state][0], times[state][STACKS / 2] / 1e3);
        bench_series_add(&series[where][state][1], times[state][STACKS * 99 / 100] / 1e3);
    }
}

int main(int count, char **arguments)
{
    struct bench_options options = {.rounds = ROUNDS_DEFAULT};
    if (!bench_read_options(count, arguments, &options)) {
        return 2;
    }
    const char *program = getenv("STALLBOX_BENCH_PROGRAM");
    program = program == NULL ? BENCH_STALLBOX : program;
    if (mkdtemp(folder) == NULL) {
        die(strerror(errno));
    }
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    build_id_bytes = fd < 0 ? 0 : sbx_build_id_read(fd, build_id);
    if (build_id_bytes == 0) {
        die("the program has no build-id");
    }
    close(fd);
    char where[2][96], why[200];
    struct sbx_symbol_store *stores[2];
    snprintf(where[0], sizeof where[0], "%s/store", folder);
    start_redis(where[1]);
    for (int i = 0; i < 2; i++) {
        char *add[] = {BENCH_STALLBOX, "symbols", "add", "--store", where[i], (char *)program, NULL};
        run(add);
        if (sbx_symbol_store_open_at(where[i], "default", true, &stores[i], why, sizeof why) != 0) {
            die(why);
        }
    }
    choose_addresses(stores[0]);
    for (int round = 0; round < options.rounds; round++) {
        for (int i = 0; i < 2; i++) {
            measure_round(stores[i], i, round);
        }
    }
    static const char *const names[STATES][2] = {
        {"32 frames, image new, p50", "32 frames, image new, p99"},
        {"32 frames, image open, p50", "32 frames, image open, p99"},
        {"the same, not fetched at once, p50", "the same, not fetched at once, p99"},
        {"32 frames, warm, p50", "32 frames, warm, p99"},
    };
    bench_print_heading(options.json, "names from Redis");
    for (int state = 0; state < STATES; state++) {
        for (int half = 0; half < 2; half++) {
            const struct bench_line line = {"symbol_stores", names[state][half], "us", "a folder", NULL};
            bench_print(options.json, &line, &series[1][state][half], &series[0][state][half]);
        }
    }
    for (int i = 0; i < 2; i++) {
        sbx_symbol_store_close(stores[i]);
    }
    kill(redis, SIGTERM);
    (void)waitpid(redis, NULL, 0);
    char *remove[] = {"rm", "-rf", folder, NULL};
    run(remove);
    return 0;
}
