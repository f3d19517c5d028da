/* SPDX-License-Identifier: Apache-2.0 */
/* attendance.c - one mapped roster, or none. */
#include "attendance.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "the_capture.h"
#include "the_agent.h"
#include "thread_registry.h"

static struct {
    struct sbx_roster *roster; /* NULL: there is no companion */
    uint64_t number;
    bool has_said_loop;
    uint32_t unrecorded_pid; /* the last process that was counted as not recorded, or not always recorded */
} attendance;

void sbx_attendance_join(const char *recordings_folder, uint64_t number)
{
    if (attendance.roster != NULL && attendance.number == number) {
        return;
    }
    attendance.roster = sbx_roster_map(recordings_folder, number);
    attendance.number = attendance.roster != NULL ? number : 0;
}

uint64_t sbx_attendance_roster(void)
{
    return attendance.number;
}

void sbx_attendance_unrecorded_child(void)
{
    uint32_t pid = (uint32_t)getpid();
    if (attendance.roster != NULL && attendance.unrecorded_pid != pid) {
        attendance.unrecorded_pid = pid;
        sbx_add_relaxed(&attendance.roster->forked, 1); /* relaxed: statistics */
    }
}

void sbx_attendance_put_off_child(void)
{
    if (attendance.roster != NULL && attendance.unrecorded_pid != (uint32_t)getpid()) {
        sbx_add_relaxed(&attendance.roster->put_off, 1); /* relaxed: statistics */
        sbx_attendance_unrecorded_child();
    }
}

void sbx_attendance_forget_parent(void)
{
    attendance.has_said_loop = false;
}

void sbx_attendance_began(int result)
{
    enum sbx_roster_state state = result == 0            ? SBX_ROSTER_RECORDS
                                  : result == -ECANCELED ? SBX_ROSTER_DECLINED
                                                         : SBX_ROSTER_FAILED;
    if (sbx_the_agent.family.role == SBX_ROLE_WORKER && state == SBX_ROSTER_RECORDS) {
        if (attendance.roster != NULL) {
            sbx_add_relaxed(&attendance.roster->workers, 1); /* relaxed: statistics */
        }
        return;
    }
    sbx_roster_say(attendance.roster, (uint32_t)getpid(), state, state == SBX_ROSTER_FAILED ? (uint32_t)-result : 0);
}

void sbx_attendance_left(void)
{
    sbx_roster_say(attendance.roster, (uint32_t)getpid(), SBX_ROSTER_LEFT, 0);
}

void sbx_attendance_look(void)
{
    if (attendance.roster == NULL || attendance.has_said_loop) {
        return;
    }
    const struct sbx_thread *thread = sbx_thread_main();
    attendance.has_said_loop = (thread != NULL && thread->entry->message != 0) || /* relaxed: statistics */
                               sbx_load_relaxed(&sbx_the_capture.has_frames) != 0 ||
                               sbx_load_relaxed(&sbx_the_capture.has_clients) != 0 ||
                               sbx_load_relaxed(&sbx_the_capture.header->watch_count) != 0;
    if (attendance.has_said_loop && sbx_the_agent.family.role == SBX_ROLE_WORKER) {
        sbx_store_relaxed(&attendance.roster->has_worker_loop, 1); /* relaxed: every writer writes the same value */
    } else if (attendance.has_said_loop) {
        sbx_roster_say_loop(attendance.roster, sbx_the_capture.header->pid);
    }
}

void sbx_attendance_left_out(void)
{
    if (attendance.roster != NULL) {
        sbx_add_relaxed(&attendance.roster->left_out, 1); /* relaxed: statistics */
    }
}

void sbx_attendance_made(const uint8_t id[16])
{
    sbx_roster_add(attendance.roster, id);
}
