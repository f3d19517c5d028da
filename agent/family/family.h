/* SPDX-License-Identifier: Apache-2.0 */
/* family.h - what the processes that fork from one another share: how many of them are recorded, how many snapshots they make,
 * and which of them stalled at the same time.
 *
 * It is one shared page, with that of shared_hands.h after it. The first process maps it before it forks, and fork() hands it
 * down. It holds numbers only. Any member may write anything there, also one that has given up its rights and was taken over.
 * So all that is read is bounded, and the worst that a member can do is to keep others of its family from being recorded.
 *
 * Any thread, without a lock; not in a handler. */
#ifndef SBX_FAMILY_H
#define SBX_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SBX_FAMILY_SEATS = 64,             /* recorded children at a time */
    SBX_FAMILY_SEATLESS = 192,         /* children that have passed their seat on, and may have one again */
    SBX_FAMILY_STARTS_A_SECOND = 20,   /* of children */
    SBX_FAMILY_SLEEPERS_A_SECOND = 20, /* of those that are put off */
    SBX_FAMILY_SNAPSHOTS_A_MINUTE = 4, /* of all children together: one lock may stop every worker at once */
    SBX_FAMILY_HOLDERS_A_MINUTE = 1,   /* besides, of children that others wait for */
};

/* Called by the first process, before it forks. The family's id is its session id. A daemon, whose parent has ended, begins a
 * new family. False: no memory; then no child is recorded. `began`: when this process began (process_life.h); 0: that could not
 * be asked here. */
bool sbx_family_found(const uint8_t session_id[16], uint32_t began);

/* Has this process founded the family that it is in? */
bool sbx_family_is_of(uint32_t pid);

/* The family's id; zeroes when there is none. */
const uint8_t *sbx_family_id(void);

/* A child asks for a seat. `worked_ns`: the processor time that it has used. A seat is free if its owner has ended; the owner may
 * be a zombie, or have left its number to another process. The child that asks next gets it, unless another one that has worked
 * much longer has asked in vain in the last seconds. `is_last_chance`: the child gives up its rights, and could make no recording
 * later. Then neither that nor how many begin in a second matters. */
bool sbx_family_take_seat(uint32_t pid, uint64_t now_ns, uint64_t worked_ns, bool is_last_chance);
/* How old a child has to be to ask for a seat at its first wait; 0: any age. `budget`: ten-thousandths of CPU time
 * (start_account.h). A child that gives up its rights, or waits for connections, asks at any age. */
uint64_t sbx_family_put_off_ns(uint64_t now_ns, uint32_t budget);

/* May a child that is put off have a thread that sleeps until the child is old enough? Such a thread takes a fifth of what a start
 * takes. If more children are put off in a second, the others begin at one of their calls after that time. */
bool sbx_family_lend_sleeper(uint64_t now_ns);

/* A child has begun: its start is charged. A child has worked enough to pay for its start: the charge is taken back. */
void sbx_family_charge_start(uint64_t now_ns, uint32_t budget);
void sbx_family_refund_start(void);

/* How much the family works at present, in thousandths of one processor: of the first process and what it has waited for. */
void sbx_family_tell_work(uint32_t work_permille);

/* Say of the seat that it has taken when its owner began, which tells it from a process that has its number later. That asks /proc, so it is left to a
 * thread that the program does not wait for. */
void sbx_family_date_seat(uint32_t pid);
/* It ends, or is not recorded any more. */
void sbx_family_give_seat(uint32_t pid);

/* Has a child without a seat, which has worked much longer than `worked_ns`, asked for one in the last seconds, while no seat is
 * free? */
bool sbx_family_wants_seat(uint32_t pid, uint64_t now_ns, uint64_t worked_ns);

/* The seat of `pid` becomes free. Its recorder stays, records nothing, and may ask for a seat again by sbx_family_take_seat(). False: there are
 * too many of those already, and it keeps its seat. */
bool sbx_family_pass_seat_on(uint32_t pid);

/* Are half of the seats taken, or more? Before that no child need look whether its seat is wanted. */
bool sbx_family_is_crowded(void);

/* So many seats and no more. Tests, before the family is founded. */
void sbx_family_allow_seats(uint32_t seats);

/* So many starts are lent. Tests and benchmarks, before the family is founded. */
void sbx_family_lend_starts(uint32_t starts);

/* Has any child a seat, as far as the page says? */
bool sbx_family_has_children(void);

/* The processes of the family that are recorded and live: the first of them, and those with a seat. Asks /proc for each. Returns how many of
 * `max` were written. */
uint32_t sbx_family_members(uint32_t *pids_out, uint32_t max);

/* A child waits for what process `pid` has. */
void sbx_family_name_holder(uint32_t pid, uint64_t now_ns);

/* May child `pid` make a snapshot now? Counts it. A child that others have waited for in the last seconds may where the others have used up the
 * minute: without what it did their stalls tell half. */
bool sbx_family_may_tell(uint32_t pid, uint64_t now_ns);

/* Process `pid` stalled from `begin_ns` to `end_ns`. Returns how many others did meanwhile, as far as they have said so. *moment_inout:
 * a random number comes in, and that of the first of them goes out: stalls of one moment have it in common. */
uint32_t sbx_family_note_stall(uint32_t pid, uint64_t begin_ns, uint64_t end_ns, uint64_t *moment_inout);

#endif
