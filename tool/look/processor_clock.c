/* SPDX-License-Identifier: Apache-2.0 */
/* processor_clock.c - reads se.exec_start of other threads and of our own. */
#include "processor_clock.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "proc_file.h"

enum {
    FILE_BYTES = 4096
};

void sbx_processor_clocks_init(struct sbx_processor_clocks *clocks)
{
    for (unsigned i = 0; i < SBX_PROCESSORS_TOLD; i++) {
        clocks->ahead_ns[i] = INT64_MIN;
    }
}

/* When a thread was last seen running, in the clock of its processor; -1: unknown. */
static int64_t last_run_ns(pid_t pid, pid_t tid)
{
    char text[FILE_BYTES];
    if (sbx_proc_file_read(text, sizeof text, "/proc/%d/task/%d/sched", (int)pid, (int)tid) <= 0) {
        return -1;
    }
    const char *line = strstr(text, "se.exec_start");
    const char *colon = line != NULL ? strchr(line, ':') : NULL;
    double milliseconds = colon != NULL ? strtod(colon + 1, NULL) : -1;
    return milliseconds > 0 ? (int64_t)(milliseconds * 1e6) : -1;
}

static int64_t ask(int processor)
{
    cpu_set_t before, there;
    int64_t ahead_ns = INT64_MAX;
    CPU_ZERO(&there);
    CPU_SET((size_t)processor, &there);
    if (sched_getaffinity(0, sizeof before, &before) != 0 || sched_setaffinity(0, sizeof there, &there) != 0) {
        return INT64_MAX;
    }
    int64_t now_ns = (int64_t)sbx_now_ns(), run_ns = last_run_ns(getpid(), gettid());
    if (run_ns >= 0) {
        ahead_ns = run_ns - now_ns;
    }
    (void)sched_setaffinity(0, sizeof before, &before);
    return ahead_ns;
}

int64_t sbx_thread_asleep_ns(struct sbx_processor_clocks *clocks, pid_t pid, pid_t tid, int processor)
{
    int64_t run_ns = processor >= 0 && processor < SBX_PROCESSORS_TOLD ? last_run_ns(pid, tid) : -1;
    if (run_ns < 0) {
        return -1;
    }
    int64_t *ahead_ns = &clocks->ahead_ns[processor];
    if (*ahead_ns == INT64_MIN) {
        *ahead_ns = ask(processor);
    }
    int64_t asleep_ns = *ahead_ns == INT64_MAX ? -1 : (int64_t)sbx_now_ns() + *ahead_ns - run_ns;
    return *ahead_ns == INT64_MAX ? -1 : asleep_ns > 0 ? asleep_ns : 0;
}
