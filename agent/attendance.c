/* SPDX-License-Identifier: Apache-2.0 */
/* attendance.c - one mapped roster, or none. */
#include "attendance.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "the_capture.h"
#include "clock.h"
#include "libc_symbols.h"
#include "the_agent.h"
#include "thread_registry.h"

static struct {
    struct sbx_roster *roster; /* NULL: nobody wants to know */
    uint64_t number;
    uint64_t forked_ns; /* in a child of fork(): when it was made */
    bool has_said_loop;
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

/* A wait begins in a child of fork(), which nobody records. Most children call exec before; this one does not: it is what
 * would have been recorded, had it been started as a program (late_start.h). */
SBX_HOOK_SAFE static void count_forked(uint8_t group)
{
    bool is_asked = (SBX_POINT_BIT(group) & SBX_WAITS_THAT_ASK) != 0;
    if (!is_asked || (group != SBX_GROUP_POLL && sbx_now_ns() - attendance.forked_ns < SBX_OLD_ENOUGH_NS)) {
        return;
    }
    sbx_store_relaxed(&sbx_the_capture.late_ask, NULL); /* relaxed: once a child, more or less */
    sbx_add_relaxed(&attendance.roster->forked, 1);
}

static void look_out_in_child(void)
{
    attendance.forked_ns = sbx_now_ns();
    sbx_store_relaxed(&sbx_the_capture.late_ask, count_forked); /* relaxed: a child has one thread */
}

void sbx_attendance_began(int result)
{
    static bool is_at_fork;
    enum sbx_roster_state state = result == 0            ? SBX_ROSTER_RECORDS
                                  : result == -ECANCELED ? SBX_ROSTER_DECLINED
                                                         : SBX_ROSTER_FAILED;
    sbx_roster_say(attendance.roster, (uint32_t)getpid(), state, state == SBX_ROSTER_FAILED ? (uint32_t)-result : 0);
    if (attendance.roster != NULL && result == 0 && !is_at_fork) {
        is_at_fork = true;
        (void)sbx_at_fork(NULL, NULL, look_out_in_child); /* without it they are not counted */
    }
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
    attendance.has_said_loop = (thread != NULL && thread->entry->message != 0) || /* relaxed: numbers for people */
                               sbx_load_relaxed(&sbx_the_capture.has_frames) != 0 ||
                               sbx_load_relaxed(&sbx_the_capture.header->watch_count) != 0;
    if (attendance.has_said_loop) {
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
