/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_host.c - a host that does everything that a program may do, in the nastiest way, and checks each result.
 *
 * usage: nasty_host [--seconds N] [--seed N] [--only KIND,...] [--without KIND,...] [--hang N] [--every N] [--list]
 *
 * All kinds (nasty_kinds.c) run at the same time, each with its own checks. Every wrong result, EINTR that nobody
 * caused, lost byte, lost wake-up, leak, or phase that does not end is an error with a name. Exit status: 0 without an
 * error, 1 with an error, 2 for wrong usage, 3 for a hang. Without a recorder it must run without errors, and so it
 * must with one. */
#include "nasty_host.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    KINDS_MAX = 40,
    WORKERS_MAX = 64,
    ERRORS_TOLD = 10,             /* printed for each kind; all errors are counted */
    DESCRIPTORS_ABOVE_MAX = 900,  /* more than all kinds have open at the same time */
    MEMORY_ABOVE_KIB = 384 << 10, /* private memory above the use after all kinds have warmed up */
    MAPS_ABOVE_MAX = 12000,       /* 2,000 threads have 4,000 */
    WARM_UP_S = 15,
    AT_MOST_TIMES = 8 /* times the requested duration */
};

struct kind_state {
    bool is_on;
    atomic_long rounds, errors, notes;
};

struct nasty_worker {
    const struct nasty_kind *kind;
    struct kind_state *state;
    unsigned number;
    uint64_t random; /* own thread */
    pthread_t thread;
    pid_t tid;
    _Atomic(const char *) phase;
    atomic_uint_fast64_t stepped_ns;
    _Atomic pid_t stepped_by; /* the thread of the last step, which may have been started by the worker */
    atomic_bool has_ended;
};

__thread volatile sig_atomic_t nasty_handled;
pthread_mutex_t nasty_loader = PTHREAD_MUTEX_INITIALIZER;
const char *nasty_self, *nasty_modules;

static struct kind_state states[KINDS_MAX];
static struct nasty_worker workers[WORKERS_MAX];
static unsigned worker_count;
static atomic_bool goes_on = true, is_time_over;
static __thread const struct nasty_worker *own; /* of a thread that runs the rounds of a kind; NULL in others */
static long hang_s = 120;
static uint64_t compute_turns_per_ms;

/* When the time is over, a kind that has done a round leaves the processors to the kinds that have not. */
bool nasty_goes_on(void)
{
    bool has_done_its_part = own != NULL && atomic_load_explicit(&is_time_over, memory_order_relaxed) &&
                             atomic_load_explicit(&own->state->rounds, memory_order_relaxed) > 0;
    return atomic_load_explicit(&goes_on, memory_order_relaxed) && !has_done_its_part;
}

bool nasty_is_on(const char *kind)
{
    for (size_t i = 0; nasty_kinds[i].name != NULL; i++) {
        if (strcmp(nasty_kinds[i].name, kind) == 0) {
            return states[i].is_on;
        }
    }
    return false;
}

uint64_t nasty_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void nasty_step(struct nasty_worker *worker, const char *phase)
{
    atomic_store_explicit(&worker->phase, phase, memory_order_relaxed);
    atomic_store_explicit(&worker->stepped_by, (pid_t)syscall(SYS_gettid), memory_order_relaxed);
    atomic_store_explicit(&worker->stepped_ns, nasty_now_ns(), memory_order_relaxed);
}

void nasty_round(struct nasty_worker *worker)
{
    atomic_fetch_add_explicit(&worker->state->rounds, 1, memory_order_relaxed);
}

unsigned nasty_random(struct nasty_worker *worker, unsigned bound)
{
    worker->random ^= worker->random << 13;
    worker->random ^= worker->random >> 7;
    worker->random ^= worker->random << 17;
    return (unsigned)((worker->random >> 16) % bound);
}

unsigned nasty_number(const struct nasty_worker *worker)
{
    return worker->number;
}

void nasty_error(struct nasty_worker *worker, const char *format, ...)
{
    char text[400];
    int error = errno;
    va_list arguments;
    if (atomic_fetch_add(&worker->state->errors, 1) >= ERRORS_TOLD) {
        return;
    }
    int length = snprintf(text, sizeof text, "nasty_host: ERROR %s (%s): ", worker->kind->name, worker->phase);
    va_start(arguments, format);
    length += vsnprintf(text + length, sizeof text - 1 - (size_t)length, format, arguments);
    va_end(arguments);
    length = length < (int)sizeof text - 1 ? length : (int)sizeof text - 2;
    text[length++] = '\n';
    if (write(STDERR_FILENO, text, (size_t)length) < 0) {
        /* there is no way to report it; it is counted */
    }
    errno = error;
}

void nasty_note(struct nasty_worker *worker, long count)
{
    atomic_fetch_add(&worker->state->notes, count);
}

pthread_t nasty_thread(struct nasty_worker *worker, size_t stack_bytes, void *(*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (stack_bytes != 0) {
        pthread_attr_setstacksize(&attributes, stack_bytes);
    }
    int error = pthread_create(&thread, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    if (error != 0) {
        nasty_error(worker, "pthread_create: %s", strerror(error));
        fprintf(stderr, "nasty_host: cannot go on without threads\n");
        _exit(1);
    }
    return thread;
}

void *nasty_join(struct nasty_worker *worker, pthread_t thread)
{
    void *result = NULL;
    int error = pthread_join(thread, &result);
    if (error != 0) {
        nasty_error(worker, "pthread_join: %s", strerror(error));
    }
    return result;
}

bool nasty_is_interrupted(struct nasty_worker *worker, sig_atomic_t handled_before, const char *call)
{
    if (errno != EINTR) {
        nasty_error(worker, "%s: %s", call, strerror(errno));
        return false;
    }
    if (nasty_handled == handled_before) {
        nasty_error(worker, "%s: EINTR, and no handler of ours ran", call);
    }
    return true;
}

void nasty_pause_us(long us)
{
    struct timespec rest = {us / 1000000, us % 1000000 * 1000};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {
    }
}

static uint64_t compute_turns(uint64_t seed, uint64_t turns)
{
    for (uint64_t i = 0; i < turns; i++) {
        seed = (seed ^ seed >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + i;
    }
    return seed;
}

uint64_t nasty_compute(uint64_t seed, unsigned us)
{
    return compute_turns(seed, compute_turns_per_ms * us / 1000);
}

static void calibrate(void)
{
    uint64_t begin_ns = nasty_now_ns(), turns = 0;
    volatile uint64_t sum = 1;
    while (nasty_now_ns() - begin_ns < 20000000) {
        sum = compute_turns(sum, 10000);
        turns += 10000;
    }
    compute_turns_per_ms = turns / 20 + 1;
}

void nasty_calls_are_quick(struct nasty_worker *worker, const int pipe_fds[2])
{
    enum {
        CALLS = 20,
        NO_LOAD_EXPLAINS_NS = 90000000 /* for each of twenty; a signal that a recorder lost cost 150 ms a call */
    };
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; i < CALLS && least_ns >= NO_LOAD_EXPLAINS_NS; i++) {
        uint64_t begin_ns = nasty_now_ns();
        char byte = (char)i;
        ssize_t count;
        do {
            count = write(pipe_fds[1], &byte, 1);
        } while (count < 0 && errno == EINTR);
        byte = (char)~byte;
        do {
            count = read(pipe_fds[0], &byte, 1);
        } while (count < 0 && errno == EINTR);
        if (count != 1 || byte != (char)i) {
            nasty_error(worker, "a byte through a pipe came back as %d, count %zd", byte, count);
        }
        uint64_t took_ns = nasty_now_ns() - begin_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    if (least_ns >= NO_LOAD_EXPLAINS_NS) {
        nasty_error(worker, "each of %d reads that need not wait took %llu ms and more", CALLS,
                    (unsigned long long)least_ns / 1000000);
    }
}

/* ---- signals ---- */

static void on_signal(int number, siginfo_t *info, void *context)
{
    int error = errno;
    struct timespec now;
    (void)number;
    (void)info;
    (void)context;
    nasty_handled++;
    clock_gettime(CLOCK_MONOTONIC, &now);
    errno = ENOTNAM + (int)(now.tv_nsec & 1);
    errno = error;
}

static const struct {
    int number, flags;
} host_signals[] = {
    {SIGUSR1, SA_RESTART | SA_ONSTACK},
    {SIGUSR2, 0},
    {SIGALRM, SA_ONSTACK},
    {SIGPROF, SA_RESTART},
    {SIGIO, SA_NODEFER},
    {SIGCHLD, SA_RESTART | SA_NOCLDSTOP},
};

void nasty_host_signals(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof host_signals / sizeof host_signals[0]; i++) {
        sigaddset(set, host_signals[i].number);
    }
}

void nasty_block_host_signals(void)
{
    sigset_t set;
    nasty_host_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void take_signals(void)
{
    for (size_t i = 0; i < sizeof host_signals / sizeof host_signals[0]; i++) {
        struct sigaction action = {.sa_flags = SA_SIGINFO | host_signals[i].flags};
        action.sa_sigaction = on_signal;
        sigemptyset(&action.sa_mask);
        sigaction(host_signals[i].number, &action, NULL);
    }
}

/* ---- what grows ---- */

struct use {
    long descriptors, private_kib, maps, threads;
};

static long count_entries(const char *path)
{
    DIR *folder = opendir(path);
    long count = 0;
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count - 3; /* ".", "..", and the descriptor of the folder itself */
}

static struct use read_use(void)
{
    struct use use = {.descriptors = count_entries("/proc/self/fd"), .threads = count_entries("/proc/self/task") + 1};
    long pages, resident, shared;
    char bytes[16384];
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL && fscanf(file, "%ld %ld %ld", &pages, &resident, &shared) == 3) {
        use.private_kib = (resident - shared) * (sysconf(_SC_PAGESIZE) / 1024);
    }
    if (file != NULL) {
        fclose(file);
    }
    file = fopen("/proc/self/maps", "re");
    for (size_t count; file != NULL && (count = fread(bytes, 1, sizeof bytes, file)) > 0;) {
        for (size_t i = 0; i < count; i++) {
            use.maps += bytes[i] == '\n';
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return use;
}

static long own_errors; /* errors of no kind: leaks, children that are left */

static void check_use(const struct use *first, const struct use *now)
{
    static bool is_told;
    if (is_told) {
        return;
    }
    if (now->descriptors > first->descriptors + DESCRIPTORS_ABOVE_MAX) {
        fprintf(stderr, "nasty_host: ERROR leak: %ld descriptors, %ld at first\n", now->descriptors,
                first->descriptors);
        is_told = true;
    }
    if (now->private_kib > first->private_kib + MEMORY_ABOVE_KIB) {
        fprintf(stderr, "nasty_host: ERROR leak: %ld KiB of private memory, %ld at first\n", now->private_kib,
                first->private_kib);
        is_told = true;
    }
    if (now->maps > first->maps + MAPS_ABOVE_MAX) {
        fprintf(stderr, "nasty_host: ERROR leak: %ld mappings, %ld at first\n", now->maps, first->maps);
        is_told = true;
    }
    own_errors += is_told;
}

/* ---- the watch ---- */

/* The first line of a file of the thread in /proc; "?" if it cannot be read. */
static void read_of_thread(pid_t tid, const char *name, char *text, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)tid, name);
    FILE *file = fopen(path, "re");
    if (file == NULL || fgets(text, (int)bytes, file) == NULL) {
        snprintf(text, bytes, "?");
    }
    if (file != NULL) {
        fclose(file);
    }
    text[strcspn(text, "\n")] = '\0';
}

static void look_for_hangs(void)
{
    uint64_t now_ns = nasty_now_ns();
    bool hangs = false;
    char text[200];
    for (unsigned i = 0; i < worker_count; i++) {
        uint64_t stepped_ns = workers[i].stepped_ns;
        if (!workers[i].has_ended && now_ns > stepped_ns && now_ns - stepped_ns > (uint64_t)hang_s * 1000000000) {
            hangs = true;
            fprintf(stderr, "nasty_host: ERROR hang: %s %u (thread %d) is in the phase \"%s\" for %llu s\n",
                    workers[i].kind->name, workers[i].number, (int)workers[i].tid, workers[i].phase,
                    (unsigned long long)(now_ns - stepped_ns) / 1000000000);
            read_of_thread(workers[i].stepped_by, "syscall", text, sizeof text);
            fprintf(stderr, "  thread %d made the last step: call %s", (int)workers[i].stepped_by, text);
            read_of_thread(workers[i].stepped_by, "wchan", text, sizeof text);
            fprintf(stderr, ", in the kernel at %s", text);
            read_of_thread(workers[i].stepped_by, "schedstat", text, sizeof text);
            fprintf(stderr, ", ran, waited for a processor (ns) and was given one (times): %s\n", text);
        }
    }
    if (!hangs) {
        return;
    }
    for (unsigned i = 0; i < worker_count; i++) {
        read_of_thread(workers[i].tid, "syscall", text, sizeof text);
        fprintf(stderr, "  %-20s %u thread %d%s \"%s\", call %s\n", workers[i].kind->name, workers[i].number,
                (int)workers[i].tid, workers[i].has_ended ? " ended," : ",", workers[i].phase, text);
    }
    const char *wait = getenv("NASTY_WAIT"); /* for a debugger */
    if (wait != NULL) {
        sleep((unsigned)atoi(wait));
    }
    _exit(3);
}

static void *run_worker(void *argument)
{
    struct nasty_worker *worker = argument;
    worker->tid = (pid_t)syscall(SYS_gettid);
    nasty_step(worker, "start");
    own = worker;
    worker->kind->work(worker);
    worker->has_ended = true;
    return NULL;
}

static void start_workers(uint64_t seed)
{
    for (size_t k = 0; nasty_kinds[k].name != NULL; k++) {
        for (unsigned i = 0; states[k].is_on && i < nasty_kinds[k].workers; i++) {
            struct nasty_worker *worker = &workers[worker_count++];
            worker->kind = &nasty_kinds[k];
            worker->state = &states[k];
            worker->number = i;
            worker->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)worker_count << 32 ^ 0x5bd1;
            nasty_step(worker, "start");
        }
    }
    for (unsigned i = 0; i < worker_count; i++) {
        int error = pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]);
        if (error != 0) {
            fprintf(stderr, "nasty_host: pthread_create: %s\n", strerror(error));
            exit(2);
        }
    }
}

static long all_errors(void)
{
    long errors = own_errors;
    for (size_t k = 0; nasty_kinds[k].name != NULL; k++) {
        errors += states[k].errors;
    }
    return errors;
}

static void print_line(uint64_t begin_ns, const struct use *use)
{
    long rounds = 0;
    for (size_t k = 0; nasty_kinds[k].name != NULL; k++) {
        rounds += states[k].rounds;
    }
    printf("%6llu s %10ld rounds %6ld errors %8ld KiB private %5ld descriptors %6ld mappings %5ld threads\n",
           (unsigned long long)(nasty_now_ns() - begin_ns) / 1000000000, rounds, all_errors(), use->private_kib,
           use->descriptors, use->maps, use->threads);
    fflush(stdout);
}

static bool all_did_a_round(void)
{
    bool all = true;
    for (size_t k = 0; nasty_kinds[k].name != NULL; k++) {
        all = all && (!states[k].is_on || states[k].rounds > 0);
    }
    return all;
}

/* Watch until the time is over and all workers have ended. On a busy machine it takes longer until each kind has had
 * its turn. */
static void watch(long seconds, long every_s)
{
    uint64_t begin_ns = nasty_now_ns(), next_line_s = (uint64_t)every_s;
    struct use first = {0};
    bool all_ended = false;
    while (!all_ended) {
        nasty_pause_us(200000);
        uint64_t passed_s = (nasty_now_ns() - begin_ns) / 1000000000;
        look_for_hangs();
        if (passed_s >= WARM_UP_S && first.maps == 0) {
            first = read_use();
        }
        if (passed_s >= next_line_s) {
            struct use now = read_use();
            next_line_s += (uint64_t)every_s;
            print_line(begin_ns, &now);
            if (first.maps != 0) {
                check_use(&first, &now);
            }
        }
        is_time_over = passed_s >= (uint64_t)seconds;
        if (is_time_over && (all_did_a_round() || passed_s >= AT_MOST_TIMES * (uint64_t)seconds)) {
            goes_on = false;
        }
        all_ended = true;
        for (unsigned i = 0; i < worker_count; i++) {
            all_ended = all_ended && workers[i].has_ended;
        }
    }
}

/* All workers have ended: resources that are still in use have leaked. */
static void check_end(const struct use *before)
{
    struct use now = read_use();
    int status;
    if (now.descriptors > before->descriptors + 16) { /* the recorder may have some of its own */
        fprintf(stderr, "nasty_host: ERROR leak: %ld descriptors at the end, %ld at the start\n", now.descriptors,
                before->descriptors);
        own_errors++;
    }
    pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid != -1 || errno != ECHILD) {
        fprintf(stderr, "nasty_host: ERROR a child that nobody waited for: %d\n", (int)pid);
        own_errors++;
    }
}

static void print_summary(void)
{
    printf("%-22s %12s %8s %8s\n", "kind", "rounds", "notes", "errors");
    for (size_t k = 0; nasty_kinds[k].name != NULL; k++) {
        if (states[k].is_on) {
            printf("%-22s %12ld %8ld %8ld\n", nasty_kinds[k].name, (long)states[k].rounds, (long)states[k].notes,
                   (long)states[k].errors);
            if (states[k].rounds == 0) {
                printf("nasty_host: ERROR %s did not do a single round\n", nasty_kinds[k].name);
                own_errors++;
            }
        }
    }
    printf("nasty_host: %ld errors\n", all_errors());
}

/* ---- the command line ---- */

static int usage(void)
{
    fprintf(stderr, "usage: nasty_host [--seconds N] [--seed N] [--only KIND,...] [--without KIND,...] [--hang N] "
                    "[--every N] [--list]\n");
    return 2;
}

/* Switch the kinds of a list on or off. Returns false at an unknown name. */
static bool switch_kinds(char *list, bool is_on)
{
    char *rest = NULL;
    for (char *name = strtok_r(list, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
        size_t k = 0;
        while (nasty_kinds[k].name != NULL && strcmp(nasty_kinds[k].name, name) != 0) {
            k++;
        }
        if (nasty_kinds[k].name == NULL) {
            fprintf(stderr, "nasty_host: there is no kind '%s'\n", name);
            return false;
        }
        states[k].is_on = is_on;
    }
    return true;
}

static void *end_at_once(void *unused)
{
    (void)unused;
    pthread_exit(NULL);
}

/* Load what libc loads only at its first use (the unwinder of pthread_exit), before any thread forks. */
static void warm_up(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_at_once, NULL) == 0) {
        pthread_join(thread, NULL);
    }
}

static void find_self(void)
{
    static char self[PATH_MAX], folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) {
        perror("nasty_host: /proc/self/exe");
        exit(2);
    }
    memcpy(folder, self, sizeof folder);
    *strrchr(folder, '/') = '\0';
    nasty_self = self;
    nasty_modules = folder;
}

int main(int count, char **arguments)
{
    long seconds = 10, every_s = 60;
    uint64_t seed = (uint64_t)time(NULL);
    if (count == 3 && strcmp(arguments[1], nasty_child_word) == 0) {
        return nasty_be_child(arguments[2]);
    }
    for (size_t k = 0; nasty_kinds[k].name != NULL; k++) {
        states[k].is_on = true;
    }
    for (int i = 1; i < count; i++) {
        bool has_value = i + 1 < count;
        if (strcmp(arguments[i], "--list") == 0) {
            for (size_t k = 0; nasty_kinds[k].name != NULL; k++) {
                puts(nasty_kinds[k].name);
            }
            return 0;
        } else if (strcmp(arguments[i], "--seconds") == 0 && has_value) {
            seconds = atol(arguments[++i]);
        } else if (strcmp(arguments[i], "--seed") == 0 && has_value) {
            seed = strtoull(arguments[++i], NULL, 10);
        } else if (strcmp(arguments[i], "--hang") == 0 && has_value) {
            hang_s = atol(arguments[++i]);
        } else if (strcmp(arguments[i], "--every") == 0 && has_value) {
            every_s = atol(arguments[++i]);
        } else if (strcmp(arguments[i], "--only") == 0 && has_value) {
            for (size_t k = 0; nasty_kinds[k].name != NULL; k++) {
                states[k].is_on = false;
            }
            if (!switch_kinds(arguments[++i], true)) {
                return 2;
            }
        } else if (strcmp(arguments[i], "--without") == 0 && has_value) {
            if (!switch_kinds(arguments[++i], false)) {
                return 2;
            }
        } else {
            return usage();
        }
    }
    if (seconds < 1 || hang_s < 1 || every_s < 1) {
        return usage();
    }
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max < 8192 ? files.rlim_max : 8192;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    printf("nasty_host: %ld s, seed %llu\n", seconds, (unsigned long long)seed);
    fflush(stdout); /* so that no child writes it a second time */
    find_self();
    calibrate();
    warm_up();
    take_signals();
    struct use before = read_use();
    start_workers(seed);
    nasty_block_host_signals();
    watch(seconds, every_s);
    for (unsigned i = 0; i < worker_count; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    check_end(&before);
    print_summary();
    return all_errors() != 0;
}
