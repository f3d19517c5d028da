/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_worker.c - runs sbx_symbol_make() in a process of its own. */
#include "symbol_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "elf_finder.h"
#include "split_parts.h"
#include "worker_limits.h"

#define MEMORY_BYTES UINT64_C(4294967296) /* in addition to the files themselves, which are mapped */
#define OUT_BYTES    UINT64_C(1073741824) /* of an image: ten times the image of a program with 100 MB of code */

enum {
    CPU_BASE_S = 10,
    FILE_BYTES_PER_S = 4 << 20 /* assumes a tenth of the measured speed */
};

/* The worker's message. A pipe writes such a short message at once. */
struct word {
    enum {
        WORD_PROGRESS,
        WORD_RESULT
    } kind;
    int result;
    uint64_t done, total;
    char why[240];
};

/* ---- the worker ---- */

static void say(int pipe, const struct word *word)
{
    while (write(pipe, word, sizeof *word) < 0 && errno == EINTR) {
    }
}

struct teller {
    int pipe;
    uint64_t last; /* percent */
};

static void tell_progress(void *context, size_t done, size_t total)
{
    struct teller *teller = context;
    uint64_t percent = total == 0 ? 100 : (uint64_t)done * 100 / total;
    if (percent != teller->last) {
        struct word word = {.kind = WORD_PROGRESS, .done = done, .total = total};
        teller->last = percent;
        say(teller->pipe, &word);
    }
}

static uint64_t bytes_of_files(const int *descriptors, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        struct stat status;
        if (fstat(descriptors[i], &status) == 0 && status.st_size > 0) {
            bytes += (uint64_t)status.st_size;
        }
    }
    return bytes;
}

static uint64_t bytes_of(const struct sbx_making *making)
{
    return bytes_of_files(making->descriptors, making->descriptor_count) +
           bytes_of_files(making->parts, making->part_count) +
           bytes_of_files(&making->alternate, making->alternate >= 0);
}

static int by_number(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Close all descriptors except those that the work needs: the caller may have connections to servers that trust it. */
static bool close_others(const struct sbx_making *making, int pipe)
{
    int needed[SBX_ELF_PATHS_MAX + SBX_SPLIT_PARTS_MAX + 4];
    size_t count = 0;
    if (making->descriptor_count > SBX_ELF_PATHS_MAX || making->part_count > SBX_SPLIT_PARTS_MAX) {
        return false;
    }
    for (size_t i = 0; i < making->descriptor_count; i++) {
        needed[count++] = making->descriptors[i];
    }
    for (size_t i = 0; i < making->part_count; i++) {
        needed[count++] = making->parts[i];
    }
    needed[count++] = making->alternate;
    needed[count++] = making->out;
    needed[count++] = pipe;
    needed[count++] = STDERR_FILENO; /* a sanitizer writes its reports there */
    qsort(needed, count, sizeof *needed, by_number);
    int from = 0;
    for (size_t i = 0; i < count; i++) {
        if (needed[i] > from && close_range((unsigned)from, (unsigned)needed[i] - 1, 0) != 0) {
            return false;
        }
        from = needed[i] >= from ? needed[i] + 1 : from;
    }
    return close_range((unsigned)from, ~0U, 0) == 0;
}

static void work(const struct sbx_making *making, uint64_t memory_bytes, uint64_t cpu_s, int pipe)
{
    struct word word = {.kind = WORD_RESULT, .result = -EPERM};
    struct teller teller = {.pipe = pipe};
    struct sbx_making own = *making;
    struct sbx_image_facts facts;
    own.progress = tell_progress;
    own.context = &teller;
    static const int deaths[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGXCPU, SIGTERM};
    for (size_t i = 0; sbx_worker_has_limits && i < sizeof deaths / sizeof deaths[0]; i++) {
        signal(deaths[i], SIG_DFL); /* the caller's handlers must not run in this process */
    }
    signal(SIGXFSZ, SIG_IGN); /* so that a write fails with an error */
    bool ready = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0 &&
                 sbx_worker_limit(RLIMIT_CORE, 0) && close_others(making, pipe);
    if (sbx_worker_has_limits) {
        ready = ready && sbx_worker_limit(RLIMIT_AS, memory_bytes + bytes_of(making)) &&
                sbx_worker_limit(RLIMIT_CPU, cpu_s) && sbx_worker_limit(RLIMIT_FSIZE, OUT_BYTES) &&
                sbx_worker_close_doors() == 0;
    }
    if (ready) {
        word.result = sbx_symbol_make(&own, &facts, word.why, sizeof word.why);
    } else {
        snprintf(word.why, sizeof word.why, "this machine has no filter of system calls to read it behind");
    }
    say(pipe, &word);
    _exit(0);
}

/* ---- the caller ---- */

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Read messages until there is a result, the worker has ended, or it is `until_ms`. Returns whether there was a
 * result. */
static bool listen_to(const struct sbx_making *making, int pipe, uint64_t until_ms, struct word *word)
{
    for (;;) {
        uint64_t now = now_ms();
        struct pollfd wait = {.fd = pipe, .events = POLLIN};
        int ready = now >= until_ms ? 0 : poll(&wait, 1, until_ms - now > 60000 ? 60000 : (int)(until_ms - now));
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready == 0 && now_ms() < until_ms) {
            continue;
        }
        if (ready <= 0) {
            return false;
        }
        ssize_t got = read(pipe, word, sizeof *word); /* a message is written at once */
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got != (ssize_t)sizeof *word) {
            return false;
        }
        word->why[sizeof word->why - 1] = '\0';
        if (word->kind == WORD_RESULT) {
            return true;
        }
        if (making->progress != NULL && word->kind == WORD_PROGRESS) {
            making->progress(making->context, (size_t)word->done, (size_t)word->total);
        }
    }
}

/* The text for a worker that ended without a result. */
static int explain_end(int status, bool too_late, uint64_t memory_bytes, char *why, size_t why_bytes)
{
    int signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (too_late || signal_number == SIGXCPU) {
        snprintf(why, why_bytes, "reading it took longer than a file of its size may");
        return -ETIME;
    }
    snprintf(why, why_bytes, "reading it ended by %s (its memory is limited to %llu MiB)",
             signal_number == 0 ? "an early exit" : strsignal(signal_number), (unsigned long long)(memory_bytes >> 20));
    return -ECHILD;
}

int sbx_symbol_worker_make(const struct sbx_making *making, uint64_t memory_bytes, char *why, size_t why_bytes)
{
    int pipes[2], status = 0, result;
    uint64_t cpu_s = CPU_BASE_S + bytes_of(making) / FILE_BYTES_PER_S;
    memory_bytes = memory_bytes == 0 ? MEMORY_BYTES : memory_bytes;
    pid_t pid = -1;
    if (pipe2(pipes, O_CLOEXEC) == 0) {
        pid = fork();
        if (pid == 0) {
            close(pipes[0]);
            work(making, memory_bytes, cpu_s, pipes[1]);
        }
        result = pid < 0 ? -errno : 0;
        close(pipes[1]);
    } else {
        result = -errno;
    }
    for (size_t i = 0; i < making->descriptor_count; i++) {
        close(making->descriptors[i]);
    }
    for (size_t i = 0; i < making->part_count; i++) {
        close(making->parts[i]);
    }
    if (making->alternate >= 0) {
        close(making->alternate);
    }
    if (result != 0) {
        snprintf(why, why_bytes, "%s", strerror(-result));
        return result;
    }
    struct word word = {.kind = WORD_PROGRESS};
    uint64_t until_ms = now_ms() + cpu_s * 10000; /* in case the worker gets only a tenth of a processor */
    bool answered = listen_to(making, pipes[0], until_ms, &word);
    bool too_late = !answered && now_ms() >= until_ms;
    if (!answered) {
        kill(pid, SIGKILL); /* it is our child and not waited for yet, so its pid belongs to no other process */
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    close(pipes[0]);
    if (!answered) {
        return explain_end(status, too_late, memory_bytes, why, why_bytes);
    }
    snprintf(why, why_bytes, "%s", word.why);
    return word.result;
}
