/* SPDX-License-Identifier: Apache-2.0 */
/* recorder_alone.c - sets up the parts of the agent that its start sets up. */
#include "recorder_alone.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "loader_visit.h"
#include "module_map.h"
#include "module_rows.h"
#include "recording_file.h"
#include "the_capture.h"
#include "thread_clock.h"
#include "thread_end.h"
#include "thread_registry.h"

enum {
    CALIBRATIONS = 50 /* of the clock, a fiftieth of a second apart; usually two are enough */
};

uint64_t bench_invented_ns;

bool bench_recorder_alone(const char *name, const struct sbx_capture_settings *settings)
{
    static struct sbx_recording_file file;
    static uint32_t gate[2] = {1, 1};
    char folder[64];
    bool has_shm = access("/dev/shm", W_OK) == 0; /* the default place of recordings */
    snprintf(folder, sizeof folder, "%s/stallbox-bench-%d", has_shm ? "/dev/shm" : "/tmp", (int)getpid());
    if (sbx_recording_create(folder, "", &file) != 0) {
        fprintf(stderr, "%s: no recording\n", name);
        return false;
    }
    sbx_recording_unlink(&file);
    rmdir(folder);
    sbx_clock_start();
    for (int i = 0; i < CALIBRATIONS && sbx_clock_calibrate() != SBX_CLOCK_RSEQ; i++) { /* as the watch thread does */
        const struct timespec pause = {0, 20000000};
        nanosleep(&pause, NULL);
    }
    sbx_the_capture.gate = gate;
    sbx_capture_attach(file.header);
    sbx_capture_apply(settings);
    if (sbx_thread_registry_start(file.header, sbx_the_capture.threads, &sbx_thread_end) != 0) {
        fprintf(stderr, "%s: no registry of threads\n", name);
        return false;
    }
    sbx_loader_visit_begin();
    sbx_module_map_refresh();
    sbx_loader_visit_end();
    while (sbx_module_rows_get_next()) {
    }
    bench_invented_ns = sbx_now_ns();
    return sbx_thread_register_self() != NULL;
}
