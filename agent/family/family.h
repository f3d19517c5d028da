/* SPDX-License-Identifier: Apache-2.0 */
/* family.h - what the processes that fork from one another share: how many of them are recorded, how many snapshots they make,
 * and which of them stalled at the same time.
 *
 * One shared page, mapped by the first of them before it forks, and handed down by fork(), with that of shared_hands.h behind it. It holds numbers alone. Any member may write
 * anything there, also one that has given up its rights and was taken over: what is read is bounded, and the worst that it can do is to keep
 * others of its family from being recorded.
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

/* The first process, before it forks: the family is called by its session id. A daemon, whose parent has ended, begins one anew. False:
 * no memory; then no child is recorded. `began`: when this process did (process_life.h); 0: that could not be asked here. */
bool sbx_family_found(const uint8_t session_id[16], uint32_t began);

/* Has this process founded the family that it is in? */
bool sbx_family_is_of(uint32_t pid);

/* The family's id; zeroes when there is none. */
const uint8_t *sbx_family_id(void);

/* A child wants to be recorded, and is not any more. `worked_ns`: the processor time that it has used. A seat whose owner has ended, which may be
 * a zombie or have left its number to another process, is given to who asks next, but not before one who has worked much longer and has asked in vain in the last seconds. `is_last_chance`: it gives up its rights, and
 * could make no recording later, so neither that nor how many begin in a second matters. */
bool sbx_family_take_seat(uint32_t pid, uint64_t now_ns, uint64_t worked_ns, bool is_last_chance);
/* How old a child has to be to ask for a seat at its first wait; 0: that is all one. `budget`: ten-thousandths of CPU time (start_account.h). Who gives up its
 * rights, or waits for connections, asks all the same. */
uint64_t sbx_family_put_off_ns(uint64_t now_ns, uint32_t budget);

/* May a child that is put off have a thread that sleeps until it is old enough? It takes a fifth of what a start takes; where more are put off in a second, the others
 * begin at a call of theirs behind that time. */
bool sbx_family_lend_sleeper(uint64_t now_ns);

/* A child has begun, which is to be paid for; one has worked for it by itself. */
void sbx_family_charge_start(uint64_t now_ns, uint32_t budget);
void sbx_family_refund_start(void);

/* How much the family works at present, in thousandths of one processor: of the first process and what it has waited for. */
void sbx_family_tell_work(uint32_t work_permille);

/* Say of the seat that it has taken when its owner began, which tells it from a process that has its number later. That asks /proc, so it is left to a
 * thread that the program does not wait for. */
void sbx_family_date_seat(uint32_t pid);
/* It ends, or is not recorded any more. */
void sbx_family_give_seat(uint32_t pid);

/* Has somebody without a seat asked for one in the last seconds, and has it worked much longer than `worked_ns`, while no seat is free? */
bool sbx_family_wants_seat(uint32_t pid, uint64_t now_ns, uint64_t worked_ns);

/* The seat of `pid` becomes free. Its recorder stays, records nothing, and may ask for a seat again by sbx_family_take_seat(). False: there are
 * too many of those already, and it keeps its seat. */
bool sbx_family_pass_seat_on(uint32_t pid);

/* Are half of the seats taken, or more? Before that nobody need look whether his is wanted. */
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
