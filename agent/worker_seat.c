/* SPDX-License-Identifier: Apache-2.0 */
/* worker_seat.c - the turns that workers take. */
#include "worker_seat.h"

#include <time.h>
#include <unistd.h>

#include "attendance.h"
#include "clock.h"
#include "family.h"
#include "process_state.h"
#include "recording_upkeep.h"
#include "seat_term.h"
#include "start_account.h"
#include "the_agent.h"
#include "the_capture.h"

#define LOOK_NS      UINT64_C(1000000000) /* while it has a seat, or works without one */
#define LOOK_MOST_NS UINT64_C(4000000000) /* longest pause while it rests without a seat; each is twice as long */
#define WORKED_NS    UINT64_C(1000000)    /* CPU time since the last look: it works again */

static struct {
    bool is_worker, is_away;
    struct sbx_seat_term term;
    uint64_t look_ns, pause_ns;
    uint64_t left_worked_ns, seen_worked_ns; /* when it passed its seat on, and at the last look since then */
    bool has_paid;                           /* for its own start: start_account.h */
} seat;
SBX_OF_ONE_PROCESS(seat);

/* CPU time of the program, without this thread of ours. */
static uint64_t worked_ns(void)
{
    uint64_t process_ns = sbx_read_clock_ns(CLOCK_PROCESS_CPUTIME_ID), own_ns = sbx_own_cpu_ns();
    return process_ns > own_ns ? process_ns - own_ns : 0;
}

void sbx_worker_seat_begin(uint64_t now_ns)
{
    seat.is_worker = sbx_the_agent.family.role == SBX_ROLE_WORKER;
    seat.look_ns = now_ns + LOOK_NS;
    sbx_seat_term_begin(&seat.term, now_ns, worked_ns());
}

bool sbx_worker_sits(void)
{
    return !seat.is_away;
}

static bool come_back(uint64_t now_ns, uint64_t now_worked_ns)
{
    uint32_t pid = (uint32_t)getpid();
    if (!sbx_family_take_seat(pid, now_ns, now_worked_ns - seat.left_worked_ns, false)) {
        return false;
    }
    sbx_family_date_seat(pid);
    if (sbx_recording_reserve_again(&sbx_the_agent.recording) != 0) { /* the file system has become full meanwhile */
        (void)sbx_family_pass_seat_on(pid);
        return false;
    }
    sbx_ring_open_whole(&sbx_the_capture.ring, sbx_the_capture.header);
    seat.is_away = false;
    sbx_seat_term_begin(&seat.term, now_ns, now_worked_ns);
    return true;
}

/* Without a seat: the worker wants one only while it works. */
static bool look_for_seat(uint64_t now_ns)
{
    uint64_t now_worked_ns = worked_ns();
    bool works = now_worked_ns - seat.seen_worked_ns >= WORKED_NS;
    seat.seen_worked_ns = now_worked_ns;
    seat.pause_ns = works ? LOOK_NS : seat.pause_ns * 2 < LOOK_MOST_NS ? seat.pause_ns * 2 : LOOK_MOST_NS;
    seat.look_ns = now_ns + seat.pause_ns;
    return works && come_back(now_ns, now_worked_ns);
}

static void pay_for_start(void)
{
    uint32_t budget = sbx_budget_of(&sbx_the_capture.control->wanted);
    if (!seat.has_paid && budget != 0 && worked_ns() >= sbx_start_paid_ns(budget)) {
        seat.has_paid = true;
        sbx_family_refund_start();
    }
}

bool sbx_worker_seat_is_wanted(uint64_t now_ns)
{
    uint64_t limit_ns = sbx_seat_term_look(&seat.term, now_ns, worked_ns());
    return limit_ns != SBX_SEAT_KEPT && sbx_family_wants_seat((uint32_t)getpid(), now_ns, limit_ns);
}

bool sbx_worker_seat_is_due(uint64_t now_ns)
{
    return seat.is_worker && now_ns >= seat.look_ns;
}

bool sbx_worker_seat_look(uint64_t now_ns, bool is_free_to_go)
{
    if (!sbx_worker_seat_is_due(now_ns)) {
        return false;
    }
    pay_for_start();
    if (seat.is_away) {
        return look_for_seat(now_ns);
    }
    seat.look_ns = now_ns + LOOK_NS;
    seat.is_away = sbx_worker_seat_is_wanted(now_ns) && is_free_to_go;
    return seat.is_away;
}

bool sbx_worker_seat_pass_on(uint64_t now_ns)
{
    sbx_upkeep_wipe();
    bool is_closed = sbx_upkeep_close();
    if (is_closed && sbx_recording_release(&sbx_the_agent.recording) && sbx_family_pass_seat_on((uint32_t)getpid())) {
        seat.left_worked_ns = seat.seen_worked_ns = worked_ns();
        seat.pause_ns = LOOK_NS;
        seat.look_ns = now_ns + LOOK_NS;
        sbx_attendance_unrecorded_child();
        return true;
    }
    /* The memory may be released and not available any more. Then the worker is without a recording all the same, and
     * keeps its seat until it finds room. */
    seat.is_away = is_closed && sbx_recording_reserve_again(&sbx_the_agent.recording) != 0;
    if (is_closed && !seat.is_away) {
        sbx_ring_open_whole(&sbx_the_capture.ring, sbx_the_capture.header);
    }
    seat.look_ns = now_ns + LOOK_NS;
    return seat.is_away;
}

uint64_t sbx_worker_seat_due_ns(void)
{
    if (!seat.is_worker || (!seat.is_away && !sbx_family_is_crowded())) {
        return UINT64_MAX;
    }
    uint64_t rest_ns = seat.term.window_ns + SBX_SEAT_REST_NS;
    return seat.is_away || seat.look_ns > rest_ns ? seat.look_ns : rest_ns;
}
