/* SPDX-License-Identifier: Apache-2.0 */
/* thread_status.c - proc_pid_syscall(5), proc_pid_stat(5), proc_pid_schedstat and proc_pid_status(5). */
#include "thread_status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc_file.h"

enum {
    FILE_BYTES = 4096,
    STAT_PROCESSOR = 39 /* the field's number, counted from 1, as in the manual */
};

bool sbx_thread_position_parse(const char *text, struct sbx_thread_position *position_out)
{
    memset(position_out, 0, sizeof *position_out);
    if (strncmp(text, "running", 7) == 0) {
        return true;
    }
    position_out->is_asleep = true;
    uint64_t *a = position_out->arguments;
    int words = sscanf(
        text,
        "%" SCNd64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64,
        &position_out->call, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &position_out->sp, &position_out->pc);
    if (words == 3) { /* "-1 SP PC" */
        position_out->sp = a[0];
        position_out->pc = a[1];
        memset(a, 0, sizeof position_out->arguments);
        position_out->call = SBX_CALL_NONE;
    }
    return (words == 3 || words == 9) && position_out->sp != 0;
}

bool sbx_thread_stat_parse(const char *text, struct sbx_thread_status *status_out)
{
    const char *open = strchr(text, '('), *close = strrchr(text, ')'); /* the name may hold either */
    if (open == NULL || close == NULL || close < open || close[1] != ' ' || close[2] == '\0') {
        return false;
    }
    size_t length = (size_t)(close - open - 1);
    length = length < sizeof status_out->name ? length : sizeof status_out->name - 1;
    memcpy(status_out->name, open + 1, length);
    status_out->name[length] = '\0';
    status_out->state = close[2];
    status_out->processor = -1;
    const char *field = close + 2;
    for (int number = 3; field != NULL && number < STAT_PROCESSOR; number++) {
        field = strchr(field + 1, ' ');
    }
    if (field != NULL) {
        status_out->processor = (int)strtol(field, NULL, 10);
    }
    return true;
}

int sbx_thread_position_read(pid_t pid, pid_t tid, struct sbx_thread_position *position_out)
{
    char text[256];
    ssize_t length = sbx_proc_file_read(text, sizeof text, "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
    if (length <= 0) {
        return length == 0 || length == -ENOENT ? -ESRCH : (int)length;
    }
    return sbx_thread_position_parse(text, position_out) ? 0 : -EINVAL;
}

/* "CPU-NS RUNNABLE-NS RUNS" */
static bool read_schedstat(pid_t pid, pid_t tid, uint64_t words_out[3])
{
    char text[96];
    return sbx_proc_file_read(text, sizeof text, "/proc/%d/task/%d/schedstat", (int)pid, (int)tid) > 0 &&
           sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &words_out[0], &words_out[1], &words_out[2]) == 3;
}

/* The last number of the line "NSpid: OUTER ... INNER". */
static uint32_t read_inner_tid(pid_t pid, pid_t tid)
{
    char text[FILE_BYTES];
    if (sbx_proc_file_read(text, sizeof text, "/proc/%d/task/%d/status", (int)pid, (int)tid) <= 0) {
        return (uint32_t)tid;
    }
    const char *line = strstr(text, "\nNSpid:");
    if (line == NULL) {
        return (uint32_t)tid;
    }
    const char *end = line + 1 + strcspn(line + 1, "\n");
    while (end > line && end[-1] != '\t' && end[-1] != ' ') {
        end--;
    }
    return (uint32_t)strtoul(end, NULL, 10);
}

int sbx_thread_status_read(pid_t pid, pid_t tid, bool has_other_numbers, struct sbx_thread_status *status_out)
{
    char text[FILE_BYTES];
    uint64_t words[3];
    memset(status_out, 0, sizeof *status_out);
    ssize_t length = sbx_proc_file_read(text, sizeof text, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    if (length <= 0) {
        return length == 0 || length == -ENOENT ? -ESRCH : (int)length;
    }
    if (!sbx_thread_stat_parse(text, status_out)) {
        return -EINVAL;
    }
    status_out->cpu_ns = status_out->runnable_ns = -1;
    if (read_schedstat(pid, tid, words)) {
        status_out->cpu_ns = (int64_t)words[0];
        status_out->runnable_ns = (int64_t)words[1];
        status_out->runs = words[2];
    }
    status_out->inner_tid = has_other_numbers ? read_inner_tid(pid, tid) : (uint32_t)tid;
    return 0;
}

uint64_t sbx_thread_runs(pid_t pid, pid_t tid)
{
    uint64_t words[3];
    return read_schedstat(pid, tid, words) ? words[2] : 0;
}
