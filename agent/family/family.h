/* SPDX-License-Identifier: Apache-2.0 */
/* family.h - what the processes that fork from one another share: how many of them are recorded, how many snapshots
 * they make, and which of them stalled at the same time.
 *
 * They share two pages, with that of shared_hands.h after them. The first process maps the pages before it forks, and
 * its children inherit them. The pages hold numbers only. Any member may write anything there, also a member that has
 * dropped its privileges and was compromised. So all values that are read are checked against bounds, and the worst
 * that a member can do is to keep others of its family from being recorded.
 *
 * Any thread, without a lock; not in a signal handler. */
#ifndef SBX_FAMILY_H
#define SBX_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SBX_FAMILY_SEATS = 64,             /* recorded children at a time */
    SBX_FAMILY_SEATLESS = 192,         /* children that have given their seat up, and may get one again */
    SBX_FAMILY_STARTS_A_SECOND = 20,   /* of children */
    SBX_FAMILY_SLEEPERS_A_SECOND = 20, /* of children that are put off */
    SBX_FAMILY_SNAPSHOTS_A_MINUTE = 4, /* of all children together: one lock may stop every worker at once */
    SBX_FAMILY_HOLDERS_A_MINUTE = 1,   /* in addition, of children that other processes wait for */
};

/* Called by the first process, before it forks. The family's id is its session id. A daemon, whose parent has ended,
 * founds a new family. `began`: when this process began (process_life.h); 0: this could not be read here. Returns false
 * when there is no memory; then no child is recorded. */
bool sbx_family_found(const uint8_t session_id[16], uint32_t began);

/* Has this process founded the family that it is in? */
bool sbx_family_is_of(uint32_t pid);

/* The family's id; zeroes when there is no family. */
const uint8_t *sbx_family_id(void);

/* A child asks for a seat. `worked_ns`: the processor time that it has used. A seat is free if its owner has ended; the
 * owner may be a zombie, or its pid may belong to another process by now. The child that asks next gets it, unless
 * another one that has worked much longer has asked in vain in the last seconds. `is_last_chance`: the child drops its
 * privileges, and could not create a recording later. Then neither other children's wishes nor the limit of starts in a
 * second count. */
bool sbx_family_take_seat(uint32_t pid, uint64_t now_ns, uint64_t worked_ns, bool is_last_chance);
/* How old a child has to be before it asks for a seat at its first wait; 0: any age. `budget`: ten-thousandths of CPU
 * time (start_account.h). A child that drops its privileges, or waits for connections, asks at any age. */
uint64_t sbx_family_put_off_ns(uint64_t now_ns, uint32_t budget);

/* May a child that is put off have a thread that sleeps until the child is old enough? Such a thread costs a fifth of a
 * start. If more children are put off in a second, the others start at their first call after that time. */
bool sbx_family_lend_sleeper(uint64_t now_ns);

/* Charge: a child has started. Refund: a child has worked enough to pay for its start. */
void sbx_family_charge_start(uint64_t now_ns, uint32_t budget);
void sbx_family_refund_start(void);

/* Tell how much the family works at present, in thousandths of one processor: the first process and the children that
 * it has waited for. */
void sbx_family_tell_work(uint32_t work_permille);

/* Add to the seat that `pid` has taken the time when that process began. It distinguishes the owner from a later
 * process with the same pid. This reads /proc, so a thread does it that the program does not wait for. */
void sbx_family_date_seat(uint32_t pid);
/* Process `pid` ends, or is not recorded any more. */
void sbx_family_give_seat(uint32_t pid);

/* Is no seat free, and has a child without a seat, which has worked much longer than `worked_ns`, asked for one in the
 * last seconds? */
bool sbx_family_wants_seat(uint32_t pid, uint64_t now_ns, uint64_t worked_ns);

/* The seat of `pid` becomes free. Its recorder stays but records nothing, and may ask for a seat again with
 * sbx_family_take_seat(). Returns false when too many recorders have no seat already; then `pid` keeps its seat. */
bool sbx_family_pass_seat_on(uint32_t pid);

/* Are half of the seats taken, or more? If not, no child needs to check whether its seat is wanted. */
bool sbx_family_is_crowded(void);

/* Limit the number of seats. For tests, before the family is founded. */
void sbx_family_allow_seats(uint32_t seats);

/* Set how many starts are lent. For tests and benchmarks, before the family is founded. */
void sbx_family_lend_starts(uint32_t starts);

/* Does a child have a seat, according to the shared page? */
bool sbx_family_has_children(void);

/* The processes of the family that are recorded and alive: the first process, and those with a seat. Reads /proc for
 * each. Returns how many pids were written, `max` at most. */
uint32_t sbx_family_members(uint32_t *pids_out, uint32_t max);

/* A child waits for something that process `pid` holds. */
void sbx_family_name_holder(uint32_t pid, uint64_t now_ns);

/* May child `pid` make a snapshot now? Counts the snapshot. When the others have used up the minute, a child that
 * others have waited for in the last seconds still may: without its snapshot the stalls of the waiters are only half
 * explained. */
bool sbx_family_may_tell(uint32_t pid, uint64_t now_ns);

/* Process `pid` stalled from `begin_ns` to `end_ns`. Returns how many other processes stalled in the same time, as far
 * as they have reported it. *moment_inout: pass in a random number; on return it is the number of the first of these
 * processes, if there is one. So all stalls of one moment have the same number. */
uint32_t sbx_family_note_stall(uint32_t pid, uint64_t begin_ns, uint64_t end_ns, uint64_t *moment_inout);

#endif
