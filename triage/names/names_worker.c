/* SPDX-License-Identifier: Apache-2.0 */
/* names_worker.c - a process that reads files, and a new process after a file that ended it. */
#include "names_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "class_file.h"
#include "python_source.h"
#include "script_source.h"
#include "worker_limits.h"

#define MEMORY_BYTES UINT64_C(4294967296) /* in addition to twice the size of the files */
#define OUT_BYTES    UINT64_C(268435456)  /* of lines for one runtime */

enum {
    CPU_BASE_S = 20,
    TEXT_BYTES_PER_S = 1 << 20 /* a tenth of the measured speed */
};

const char *sbx_names_runtime_name(enum sbx_names_runtime runtime)
{
    static const char *const names[SBX_NAMES_RUNTIMES] = {
        [SBX_NAMES_PYTHON] = "python",
        [SBX_NAMES_JAVASCRIPT] = "javascript",
        [SBX_NAMES_JAVA] = "java",
    };
    return names[runtime];
}

static int read_classes(struct sbx_names_reading *reading, const struct sbx_names_job *job, struct sbx_name_list *list)
{
    if (job->map.bytes != 0 && reading->mapped != job->map.at) {
        sbx_names_reading_finish(reading);
        int result = sbx_class_mapping_read(&reading->mapping, job->map);
        if (result != 0) {
            return result;
        }
        reading->mapped = job->map.at;
    }
    const struct sbx_class_mapping *mapping = job->map.bytes != 0 ? &reading->mapping : NULL;
    bool is_archive = job->text.bytes >= 4 && memcmp(job->text.at, "PK", 2) == 0;
    return is_archive ? sbx_class_archive_read(list, job->text, mapping)
                      : sbx_class_file_read(list, job->text, mapping);
}

int sbx_names_read(struct sbx_names_reading *reading, const struct sbx_names_job *job, struct sbx_name_list *list)
{
    switch (job->runtime) {
    case SBX_NAMES_PYTHON:
        return sbx_python_source_read(list, job->file, job->text);
    case SBX_NAMES_JAVASCRIPT:
        return sbx_script_source_read(list, job->file, job->text, job->map);
    case SBX_NAMES_JAVA:
        return read_classes(reading, job, list);
    default:
        return -EINVAL;
    }
}

void sbx_names_reading_finish(struct sbx_names_reading *reading)
{
    sbx_class_mapping_finish(&reading->mapping);
    reading->mapped = NULL;
}

/* ---- the process ---- */

/* Shared memory of the process and the caller. */
struct board {
    size_t begun;  /* number of files begun; the last of them may have ended the process */
    int results[]; /* results of the files that are done */
};

static bool write_whole(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t put = write(fd, text, bytes);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return false;
        }
        text += put;
        bytes -= (size_t)put;
    }
    return true;
}

static uint64_t bytes_of(const struct sbx_names_job *jobs, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += jobs[i].text.bytes + jobs[i].map.bytes;
    }
    return bytes;
}

static void work(const struct sbx_names_job *jobs, size_t count, size_t first, const int *outs, struct board *board)
{
    static const int deaths[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGXCPU, SIGTERM};
    for (size_t i = 0; sbx_worker_has_limits && i < sizeof deaths / sizeof deaths[0]; i++) {
        signal(deaths[i], SIG_DFL);
    }
    signal(SIGXFSZ, SIG_IGN); /* so that a write fails with an error */
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    uint64_t bytes = bytes_of(jobs + first, count - first);
    bool is_ready =
        prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0 && sbx_worker_limit(RLIMIT_CORE, 0);
    if (sbx_worker_has_limits) {
        is_ready = is_ready && sbx_worker_limit(RLIMIT_AS, MEMORY_BYTES + 2 * bytes) &&
                   sbx_worker_limit(RLIMIT_CPU, CPU_BASE_S + bytes / TEXT_BYTES_PER_S) &&
                   sbx_worker_limit(RLIMIT_FSIZE, OUT_BYTES) && sbx_worker_close_doors() == 0;
    }
    struct sbx_names_reading reading = {.mapped = NULL};
    for (size_t i = first; i < count && is_ready; i++) {
        struct sbx_name_list list = {0};
        __atomic_store_n(&board->begun, i + 1, __ATOMIC_RELEASE);
        int result = sbx_names_read(&reading, &jobs[i], &list);
        if (!write_whole(outs[jobs[i].runtime], list.text, list.bytes)) {
            result = result == 0 ? -EFBIG : result;
        }
        board->results[i] = result == 0 && list.is_full ? -E2BIG : result;
        sbx_name_list_finish(&list);
    }
    _exit(is_ready ? 0 : 1);
}

/* ---- the caller ---- */

/* Add the lines that the processes wrote to `list`. */
static int take_lines(int out, struct sbx_name_list *list)
{
    struct stat status;
    if (fstat(out, &status) != 0) {
        return -errno;
    }
    size_t bytes = (size_t)status.st_size;
    if (bytes == 0) {
        return 0;
    }
    char *grown = realloc(list->text, list->bytes + bytes);
    if (grown == NULL) {
        return -ENOMEM;
    }
    list->text = grown;
    ssize_t got = pread(out, list->text + list->bytes, bytes, 0);
    list->bytes += got > 0 ? (size_t)got : 0;
    list->room = list->bytes;
    return got < 0 ? -errno : 0;
}

/* Run one process for the files from `first` on. *next_out is the first file that it did not begin. Returns 0 or
 * -errno. */
static int run_one(struct sbx_names_job *jobs, size_t count, size_t first, const int *outs, struct board *board,
                   size_t *next_out)
{
    int status = 0;
    __atomic_store_n(&board->begun, first, __ATOMIC_RELEASE);
    pid_t pid = fork();
    if (pid < 0) {
        return -errno;
    }
    if (pid == 0) {
        work(jobs, count, first, outs, board);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    bool is_whole = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    size_t begun = __atomic_load_n(&board->begun, __ATOMIC_ACQUIRE);
    if (begun > count || (!is_whole && begun <= first)) {
        return -EPERM; /* the process could not set its limits or its filter of system calls */
    }
    for (size_t i = first; i < begun; i++) {
        jobs[i].result = is_whole || i + 1 < begun ? board->results[i] : -ECHILD;
    }
    *next_out = is_whole ? count : begun;
    return 0;
}

int sbx_names_worker_read(struct sbx_names_job *jobs, size_t count, struct sbx_name_list lists[SBX_NAMES_RUNTIMES])
{
    int outs[SBX_NAMES_RUNTIMES], result = 0;
    size_t board_bytes = sizeof(struct board) + count * sizeof(int);
    struct board *board = mmap(NULL, board_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) {
        return -ENOMEM;
    }
    for (int i = 0; i < SBX_NAMES_RUNTIMES; i++) {
        outs[i] = memfd_create("stallbox-names", MFD_CLOEXEC);
        result = outs[i] < 0 ? -errno : result;
    }
    for (size_t next = 0; next < count && result == 0;) {
        result = run_one(jobs, count, next, outs, board, &next);
    }
    for (int i = 0; i < SBX_NAMES_RUNTIMES; i++) {
        result = result == 0 ? take_lines(outs[i], &lists[i]) : result;
        if (outs[i] >= 0) {
            close(outs[i]);
        }
    }
    munmap(board, board_bytes);
    return result;
}
