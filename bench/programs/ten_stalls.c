/* SPDX-License-Identifier: Apache-2.0 */
/* ten_stalls.c - a small server that stalls ten times for a known reason, and a phase of plain work, for
 * bench_comparison.
 *
 * usage: ten_stalls stalls FOLDER | ten_stalls work SECONDS
 * Prints "pid N" first, and begins when it reads a line. The main thread has a loop on a pipe into which a client
 * writes a request every 10 ms. Two other threads serve their own requests.
 * `stalls`: 300 ms before each stall, a message computes for 60 ms in a function of its own (before_NAME). After each
 * stall, a line gives its name, and its begin and end in ns by CLOCK_MONOTONIC and CLOCK_REALTIME. FOLDER is where a
 * file is written and fsync is called.
 * `work`: the two threads only serve. The first second is not counted. Prints "rate REQUESTS_A_SECOND
 * CPU_US_A_REQUEST", and "used CPU_US REQUESTS" for its whole life. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The bench looks for these functions, so they must exist as functions and stay on the stack. */
#define NAMED  __attribute__((noinline, noclone, noipa))
#define STAY() __asm__ volatile("" ::: "memory")

enum {
    WORKERS = 2,
    STALL_MS = 400,
    BRIEF_MS = 250, /* over before a watchdog with half a second notices it */
    LEAD_MS = 60,
    HELD_MS = STALL_MS + 5, /* a lock holder begins first */
    TICK_MS = 10,
    LEAD_TICK = 100, /* in ticks of a stall, of 200 */
    STALL_TICK = 130,
    LAST_TICK = 200,
    FIRST_TICK = 100, /* so late that attached tools are ready by then */
    WARM_S = 1,
};

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static volatile uint64_t sink;

/* These are macros, so that no inlined function is between a searched function and its work. */
#define COMPUTE(rounds)                                        \
    do {                                                       \
        uint64_t value = sink;                                 \
        for (uint64_t i = 0; i < (rounds); i++) {              \
            value = value * UINT64_C(6364136223846793005) + i; \
        }                                                      \
        sink = value;                                          \
    } while (0)
#define COMPUTE_MS(ms)                                                                                    \
    for (int64_t end = now_ns(CLOCK_MONOTONIC) + (ms)*INT64_C(1000000); now_ns(CLOCK_MONOTONIC) < end;) { \
        COMPUTE(1000000);                                                                                 \
    }
#define PAUSE_MS(ms)                                                   \
    do {                                                               \
        struct timespec pause = {(ms) / 1000, (ms) % 1000 * 1000000L}; \
        nanosleep(&pause, NULL);                                       \
    } while (0)

/* ---- the work of a request ---- */

enum {
    SHARDS = 8,
    WORDS = 6
};

static struct {
    pthread_mutex_t mutex;
    uint64_t count;
} shards[SHARDS];

NAMED static uint64_t hash_word(const char *word)
{
    uint64_t hash = 5381;
    for (; *word != 0; word++) {
        hash = hash * 33 + (uint64_t)*word;
    }
    return hash;
}
NAMED static void count_word(uint64_t hash)
{
    pthread_mutex_lock(&shards[hash % SHARDS].mutex);
    shards[hash % SHARDS].count++;
    pthread_mutex_unlock(&shards[hash % SHARDS].mutex);
}
NAMED static void render_words(void)
{
    COMPUTE(20000);
}
NAMED static void serve_request(uint64_t number)
{
    for (int i = 0; i < WORDS; i++) {
        char *word = malloc(64 + number % 64);
        snprintf(word, 64, "word-%llu-%d", (unsigned long long)number, i);
        count_word(hash_word(word));
        free(word);
    }
    render_words();
}

static atomic_bool is_busy;
static atomic_ullong served;

static void *serve(void *unused)
{
    for (uint64_t number = 0;; number++) {
        serve_request(number);
        atomic_fetch_add(&served, 1);
        if (!is_busy) {
            PAUSE_MS(2);
        }
    }
    return unused;
}

/* ---- the ten stalls; `truth` in bench_comparison lists what a tool should report about each ---- */

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_encoded = PTHREAD_COND_INITIALIZER;
static sem_t is_held;
static int answers[2], is_frame_there;
static const char *folder;

static void start(void *(*helper)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, helper, argument) != 0) {
        exit(1);
    }
    pthread_detach(thread);
}
static void start_holder(void *(*helper)(void *))
{
    start(helper, NULL);
    while (sem_wait(&is_held) != 0) {
    }
}

NAMED static void render_report(void)
{
    COMPUTE_MS(STALL_MS)
    STAY();
}

NAMED static void *rebuild_index(void *unused)
{
    pthread_mutex_lock(&first);
    sem_post(&is_held);
    COMPUTE_MS(HELD_MS)
    pthread_mutex_unlock(&first);
    return unused;
}
NAMED static void query_index(void)
{
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    STAY();
}

NAMED static void settle_motor(void)
{
    PAUSE_MS(STALL_MS);
    STAY();
}

NAMED static void *answer_slowly(void *unused)
{
    PAUSE_MS(STALL_MS);
    return write(answers[1], "!", 1) == 1 ? unused : NULL;
}
NAMED static void read_answer(void)
{
    char answer = 0;
    while (read(answers[0], &answer, 1) != 1) {
    }
    STAY();
}

NAMED static void save_document(void)
{
    static char page[1 << 16];
    char path[4096];
    snprintf(path, sizeof path, "%s/document", folder);
    int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    for (int64_t end = now_ns(CLOCK_MONOTONIC) + STALL_MS * INT64_C(1000000); now_ns(CLOCK_MONOTONIC) < end;) {
        if (pwrite(file, page, sizeof page, 0) < 0 || fsync(file) != 0) {
            exit(1);
        }
    }
    close(file);
    STAY();
}

NAMED static uint64_t fold_tree(int depth) /* NOLINT(misc-no-recursion) */
{
    if (depth == 0) {
        COMPUTE(1000);
        return sink;
    }
    uint64_t sum = fold_tree(depth - 1) + fold_tree(depth - 1);
    STAY();
    return sum;
}
static void fold_trees(void)
{
    for (int64_t end = now_ns(CLOCK_MONOTONIC) + STALL_MS * INT64_C(1000000); now_ns(CLOCK_MONOTONIC) < end;) {
        sink = fold_tree(10);
    }
}

NAMED static void churn_strings(void)
{
    void *strings[1000];
    for (int64_t end = now_ns(CLOCK_MONOTONIC) + STALL_MS * INT64_C(1000000); now_ns(CLOCK_MONOTONIC) < end;) {
        for (size_t i = 0; i < 1000; i++) {
            strings[i] = malloc(40 + i * 3);
        }
        for (size_t i = 0; i < 1000; i++) {
            free(strings[i]);
        }
    }
    STAY();
}

NAMED static void *encode_frame(void *unused)
{
    COMPUTE_MS(STALL_MS)
    pthread_mutex_lock(&first);
    is_frame_there = 1;
    pthread_cond_signal(&is_encoded);
    pthread_mutex_unlock(&first);
    return unused;
}
NAMED static void await_frame(void)
{
    pthread_mutex_lock(&first);
    while (!is_frame_there) {
        pthread_cond_wait(&is_encoded, &first);
    }
    pthread_mutex_unlock(&first);
    STAY();
}

NAMED static void *compact_store(void *unused)
{
    pthread_mutex_lock(&second);
    sem_post(&is_held);
    COMPUTE_MS(HELD_MS)
    pthread_mutex_unlock(&second);
    return unused;
}
NAMED static void *merge_second(void *unused)
{
    pthread_mutex_lock(&first);
    sem_post(&is_held);
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    return unused;
}
NAMED static void open_session(void)
{
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    STAY();
}

NAMED static void flush_cache(void)
{
    COMPUTE_MS(BRIEF_MS)
    STAY();
}

static void prepare_lock(void)
{
    start_holder(rebuild_index);
}
static void prepare_pipe(void)
{
    start(answer_slowly, NULL);
}
static void prepare_wait(void)
{
    start(encode_frame, NULL);
}
static void prepare_chain(void)
{
    start_holder(compact_store);
    start_holder(merge_second);
}

#define LEAD(name)                        \
    NAMED static void before_##name(void) \
    {                                     \
        COMPUTE_MS(LEAD_MS)               \
        STAY();                           \
    }
LEAD(computing)
LEAD(mutex)
LEAD(sleep)
LEAD(pipe)
LEAD(fsync)
LEAD(recursion)
LEAD(allocations)
LEAD(condition)
LEAD(chain)
LEAD(brief)

static const struct {
    const char *name;
    void (*lead)(void), (*prepare)(void), (*stall)(void);
} stalls[] = {
    {"computing", before_computing, NULL, render_report},
    {"mutex", before_mutex, prepare_lock, query_index},
    {"sleep", before_sleep, NULL, settle_motor},
    {"pipe", before_pipe, prepare_pipe, read_answer},
    {"fsync", before_fsync, NULL, save_document},
    {"recursion", before_recursion, NULL, fold_trees},
    {"allocations", before_allocations, NULL, churn_strings},
    {"condition", before_condition, prepare_wait, await_frame},
    {"chain", before_chain, prepare_chain, open_session},
    {"brief", before_brief, NULL, flush_cache},
};
enum {
    STALLS = sizeof stalls / sizeof *stalls
};

static void stall(int number)
{
    if (stalls[number].prepare != NULL) {
        stalls[number].prepare();
    }
    int64_t begin = now_ns(CLOCK_MONOTONIC), begin_real = now_ns(CLOCK_REALTIME);
    stalls[number].stall();
    printf("%s %lld %lld %lld %lld\n", stalls[number].name, (long long)begin, (long long)now_ns(CLOCK_MONOTONIC),
           (long long)begin_real, (long long)now_ns(CLOCK_REALTIME));
    fflush(stdout);
}

static void *ask(void *pipe_end)
{
    for (;;) {
        PAUSE_MS(TICK_MS);
        if (write(*(int *)pipe_end, "?", 1) != 1) {
            return NULL;
        }
    }
}

/* Handles one message of the main thread. Returns false after the last one. */
static int take_request(int tick, int64_t end_of_work)
{
    if (is_busy) {
        return now_ns(CLOCK_MONOTONIC) < end_of_work;
    }
    int number = tick < FIRST_TICK ? 0 : (tick - FIRST_TICK) / LAST_TICK;
    switch (tick < FIRST_TICK || number == STALLS ? 0 : (tick - FIRST_TICK) % LAST_TICK) {
    case LEAD_TICK:
        stalls[number].lead();
        break;
    case STALL_TICK:
        stall(number);
        break;
    default:
        serve_request((uint64_t)tick);
        break;
    }
    return number < STALLS;
}

int main(int count, char **arguments)
{
    int requests[2];
    if (count != 3 || (strcmp(arguments[1], "stalls") != 0 && strcmp(arguments[1], "work") != 0)) {
        fprintf(stderr, "usage: ten_stalls stalls FOLDER | ten_stalls work SECONDS\n");
        return 2;
    }
    is_busy = strcmp(arguments[1], "work") == 0;
    folder = arguments[2];
    if (pipe(requests) != 0 || pipe(answers) != 0 || sem_init(&is_held, 0, 0) != 0) {
        return 1;
    }
    for (int i = 0; i < SHARDS; i++) {
        pthread_mutex_init(&shards[i].mutex, NULL);
    }
    for (int i = 0; i < WORKERS; i++) {
        start(serve, NULL);
    }
    start(ask, &requests[1]);
    printf("pid %d\n", (int)getpid());
    fflush(stdout);
    (void)getchar();
    const int64_t warm_ns = WARM_S * INT64_C(1000000000), begin = now_ns(CLOCK_MONOTONIC);
    const int64_t end = begin + warm_ns + (is_busy ? (int64_t)(atof(arguments[2]) * 1e9) : 0);
    int64_t counted_from = 0, cpu_before = 0;
    uint64_t served_before = 0;
    for (int tick = 0;; tick++) {
        struct pollfd ready = {.fd = requests[0], .events = POLLIN};
        char request = 0;
        if (poll(&ready, 1, -1) != 1 || read(requests[0], &request, 1) != 1) {
            return 1;
        }
        if (counted_from == 0 && now_ns(CLOCK_MONOTONIC) - begin >= warm_ns) {
            counted_from = now_ns(CLOCK_MONOTONIC);
            cpu_before = now_ns(CLOCK_PROCESS_CPUTIME_ID);
            served_before = served;
        }
        if (!take_request(tick, end)) {
            break;
        }
    }
    if (is_busy) {
        double requests_served = (double)(served - served_before);
        printf("rate %.1f %.4f\n", requests_served * 1e9 / (double)(now_ns(CLOCK_MONOTONIC) - counted_from),
               (double)(now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_before) / 1e3 / requests_served);
        printf("used %.1f %llu\n", (double)now_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e3, (unsigned long long)served);
    }
    return 0;
}
