/* SPDX-License-Identifier: Apache-2.0 */
/* family.c - two shared pages of seats, rates and stalls, and a page of shared_hands.h after them. */
#include "family.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fork_path.h"
#include "marks.h"
#include "order.h"
#include "process_life.h"
#include "shared_hands.h"
#include "start_account.h"

enum {
    PAGES_BYTES = 8192,
    STALLS = 64, /* the newest ones are kept */
    WISHES = 64, /* of processes without a seat */
    HOLDERS = 16 /* named by waiters; the newest ones are kept */
};
#define SECOND_NS UINT64_C(1000000000)
#define WISH_NS   (3 * SECOND_NS)    /* lifetime of a wish: a process that still wants a seat asks once a second */
#define HOLDER_NS (10 * SECOND_NS)   /* lifetime of a name: a waiter names its holder twice a second */
#define WORK_NS   UINT64_C(10000000) /* the unit in which work is counted */

struct stall {
    uint64_t begin_ns, end_ns, moment;
    uint32_t pid, reserved;
};

struct wish {
    uint64_t who; /* pid << 32 | worked, in WORK_NS; 0: free */
    uint64_t asked_ns;
};

struct holder {
    uint64_t pid; /* 0: free */
    uint64_t named_ns;
};

struct family {
    uint8_t id[16];
    uint64_t starts;       /* second << 16 | starts in it */
    uint64_t sleepers;     /* the same for children whose thread sleeps before the start */
    uint64_t snapshots;    /* minute << 16 | snapshots in it */
    uint64_t holders_told; /* the same for holders, after the others have used up the minute */
    uint64_t swept_ns;     /* when the owners were last checked for having ended */
    uint32_t stalls_ever;
    uint32_t work_permille;           /* how much the family works; the first process reports it */
    uint64_t start_account;           /* start_account.h */
    uint64_t first;                   /* the first process, in the format of a seat */
    uint64_t seats[SBX_FAMILY_SEATS]; /* when its owner began << 32 | its pid; 0: free */
    struct stall stalls[STALLS];
    struct wish wishes[WISHES];
    struct holder holders[HOLDERS];
    uint64_t seatless[SBX_FAMILY_SEATLESS]; /* recorders without a seat, in the format of seats */
};
static_assert(sizeof(struct family) <= PAGES_BYTES, "two pages for all of them");

/* A seat's owner. The pid alone may belong to another process by now; the start time tells the two apart. */
static uint64_t named(uint32_t pid, uint32_t began)
{
    return (uint64_t)began << 32 | pid;
}

static bool lives(uint64_t owner)
{
    return sbx_process_lives((uint32_t)owner, (uint32_t)(owner >> 32));
}

static struct family *family;
static uint8_t id_of_all[16]; /* a copy of the page's id: a forked child need not touch the page to read it */
static uint32_t seats_most = SBX_FAMILY_SEATS;
static uint32_t starts_lent = SBX_STARTS_AHEAD;

void sbx_family_allow_seats(uint32_t seats)
{
    seats_most = seats < SBX_FAMILY_SEATS ? seats : SBX_FAMILY_SEATS;
}

void sbx_family_lend_starts(uint32_t starts)
{
    const uint32_t most = 1000000; /* each up to a millisecond: no word overflows */
    starts_lent = starts < most ? starts : most;
}

bool sbx_family_found(const uint8_t session_id[16], uint32_t began)
{
    struct family *page =
        mmap(NULL, PAGES_BYTES + SBX_HANDS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return false;
    }
    memcpy(page->id, session_id, sizeof page->id);
    page->first = named((uint32_t)getpid(), began);
    memcpy(id_of_all, session_id, sizeof id_of_all);
    sbx_hands_use((uint8_t *)page + PAGES_BYTES);
    family = page; /* an older page stays mapped: another thread may be using it */
    return true;
}

bool sbx_family_is_of(uint32_t pid)
{
    return family != NULL &&
           (uint32_t)sbx_load_relaxed(&family->first) == pid; /* relaxed: written before there were other processes */
}

SBX_FORK_CODE const uint8_t *sbx_family_id(void)
{
    return id_of_all;
}

/* Counts one more in this window of time, if the limit allows it. order: relaxed - a limit, not a lock */
static bool count_in(uint64_t *word, uint64_t window, uint32_t most)
{
    uint64_t now = sbx_load_relaxed(word), next;
    do {
        bool is_same = now >> 16 == (window & (UINT64_MAX >> 16));
        if (is_same && (now & 0xffff) >= most) {
            return false;
        }
        next = is_same ? now + 1 : window << 16 | 1;
    } while (!sbx_cas_acq_rel(word, &now, next)); /* order: acq_rel family.rate */
    return true;
}

static uint32_t count_free(void)
{
    uint32_t free = 0;
    for (uint32_t i = 0; i < seats_most; i++) {
        free += sbx_load_relaxed(&family->seats[i]) == 0; /* relaxed: the thread that takes the seat checks again */
    }
    return free;
}

static bool has_free(void)
{
    return count_free() != 0;
}

static bool take_free(uint64_t *places, uint32_t count, uint64_t owner)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t nobody = 0;
        if (sbx_load_relaxed(&places[i]) == 0 &&
            sbx_cas_acq_rel(&places[i], &nobody, owner)) { /* order: acq_rel family.seats - one owner */
            return true;
        }
    }
    return false;
}

static void leave(uint64_t *places, uint32_t count, uint32_t pid)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t owner = sbx_load_relaxed(&places[i]);
        if (owner != 0 && (uint32_t)owner == pid) {
            (void)sbx_cas_acq_rel(&places[i], &owner, 0); /* order: acq_rel family.seats */
        }
    }
}

static void leave_to_the_living(uint64_t *places, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t owner = sbx_load_relaxed(&places[i]);
        if (owner != 0 && !lives(owner)) {
            (void)sbx_cas_acq_rel(&places[i], &owner, 0); /* order: acq_rel family.seats */
        }
    }
}

/* Free the seats whose owners have ended. Runs once a second at most, in a process that finds all seats taken. */
static void sweep(uint64_t now_ns)
{
    uint64_t swept_ns = sbx_load_relaxed(&family->swept_ns);
    if ((swept_ns != 0 && now_ns - swept_ns < SECOND_NS) ||
        !sbx_cas_acq_rel(&family->swept_ns, &swept_ns, now_ns)) { /* order: acq_rel family.swept - one sweeper */
        return;
    }
    leave_to_the_living(family->seats, SBX_FAMILY_SEATS);
    leave_to_the_living(family->seatless, SBX_FAMILY_SEATLESS);
}

/* Wishes are hints, and every word of them is relaxed: if two are written at once, one of the two processes loses a
 * second. */

static uint32_t pid_of(uint64_t who)
{
    return (uint32_t)(who >> 32);
}

static bool is_in_force(const struct wish *wish, uint64_t who, uint64_t now_ns)
{
    return who != 0 && now_ns - sbx_load_relaxed(&wish->asked_ns) < WISH_NS; /* relaxed: see above */
}

/* Longer by a quarter, and by more than 100 ms: otherwise two processes would each wait for the other. */
static bool has_worked_much_longer(uint32_t other, uint32_t worked)
{
    return other > (uint64_t)worked + worked / 4 + 10;
}

static bool has_another_worked_longer(uint32_t pid, uint64_t now_ns, uint32_t worked)
{
    for (uint32_t i = 0; i < WISHES; i++) {
        uint64_t who = sbx_load_relaxed(&family->wishes[i].who); /* relaxed: see above */
        if (pid_of(who) != pid && is_in_force(&family->wishes[i], who, now_ns) &&
            has_worked_much_longer((uint32_t)who, worked)) {
            return true;
        }
    }
    return false;
}

/* In the process's own place, in a free one, or in that of a process that has worked less. */
static void wish(uint32_t pid, uint64_t now_ns, uint32_t worked)
{
    struct wish *place = NULL;
    uint32_t least = worked;
    for (uint32_t i = 0; i < WISHES; i++) {
        struct wish *it = &family->wishes[i];
        uint64_t who = sbx_load_relaxed(&it->who); /* relaxed: see above */
        uint32_t its = is_in_force(it, who, now_ns) ? (uint32_t)who : 0;
        if (pid_of(who) == pid) {
            place = it;
            break;
        }
        if (its < least || (its == 0 && place == NULL)) {
            place = it;
            least = its;
        }
    }
    if (place != NULL) {
        sbx_store_relaxed(&place->who, (uint64_t)pid << 32 | worked); /* relaxed: see above */
        sbx_store_relaxed(&place->asked_ns, now_ns);
    }
}

static void wish_no_more(uint32_t pid)
{
    for (uint32_t i = 0; i < WISHES; i++) {
        uint64_t who = sbx_load_relaxed(&family->wishes[i].who); /* relaxed: see above */
        if (who != 0 && pid_of(who) == pid) {
            sbx_store_relaxed(&family->wishes[i].who, 0);
        }
    }
}

static uint32_t units_of(uint64_t worked_ns)
{
    uint64_t units = worked_ns / WORK_NS;
    return units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

bool sbx_family_take_seat(uint32_t pid, uint64_t now_ns, uint64_t worked_ns, bool is_last_chance)
{
    uint32_t worked = units_of(worked_ns);
    if (family == NULL) {
        return false;
    }
    bool is_its_turn = is_last_chance || !has_another_worked_longer(pid, now_ns, worked);
    if (is_its_turn && !has_free()) {
        sweep(now_ns);
    }
    /* A start is counted only if a seat is free. Otherwise processes that ask in vain would use up this second's
     * starts. */
    bool may_begin = is_its_turn && has_free() &&
                     (is_last_chance || count_in(&family->starts, now_ns / SECOND_NS, SBX_FAMILY_STARTS_A_SECOND));
    bool has_seat = may_begin && take_free(family->seats, seats_most, named(pid, 0));
    if (has_seat) {
        leave(family->seatless, SBX_FAMILY_SEATLESS, pid);
        wish_no_more(pid);
    } else {
        wish(pid, now_ns, worked);
    }
    return has_seat;
}

static uint64_t account_at(uint64_t account, uint64_t now_ns, uint32_t budget)
{
    return sbx_start_account_at(account, now_ns, budget,
                                sbx_load_relaxed(&family->work_permille)); /* relaxed: a hint */
}

uint64_t sbx_family_put_off_ns(uint64_t now_ns, uint32_t budget)
{
    if (family == NULL || budget == 0) {
        return 0;
    }
    uint64_t account = sbx_load_relaxed(&family->start_account); /* relaxed: a limit, not a lock */
    return (uint64_t)sbx_start_put_off_ms(account_at(account, now_ns, budget), starts_lent) * 1000000;
}

bool sbx_family_lend_sleeper(uint64_t now_ns)
{
    return family != NULL && count_in(&family->sleepers, now_ns / SECOND_NS, SBX_FAMILY_SLEEPERS_A_SECOND);
}

void sbx_family_charge_start(uint64_t now_ns, uint32_t budget)
{
    if (family == NULL || budget == 0) {
        return;
    }
    uint64_t account = sbx_load_relaxed(&family->start_account);
    /* order: acq_rel family.start_account */
    while (!sbx_cas_acq_rel(&family->start_account, &account,
                            sbx_start_account_charge(account_at(account, now_ns, budget), starts_lent))) {
    }
}

void sbx_family_refund_start(void)
{
    if (family == NULL) {
        return;
    }
    uint64_t account = sbx_load_relaxed(&family->start_account);
    /* order: acq_rel family.start_account */
    while (!sbx_cas_acq_rel(&family->start_account, &account, sbx_start_account_refund(account))) {
    }
}

void sbx_family_tell_work(uint32_t work_permille)
{
    if (family != NULL) {
        sbx_store_relaxed(&family->work_permille, work_permille); /* relaxed: a hint */
    }
}

void sbx_family_date_seat(uint32_t pid)
{
    uint32_t began = family != NULL ? sbx_process_began(pid) : 0;
    for (uint32_t i = 0; began != 0 && i < SBX_FAMILY_SEATS; i++) {
        uint64_t owner = named(pid, 0);
        if (sbx_load_relaxed(&family->seats[i]) == owner) {
            (void)sbx_cas_acq_rel(&family->seats[i], &owner, named(pid, began)); /* order: acq_rel family.seats */
        }
    }
}

void sbx_family_give_seat(uint32_t pid)
{
    if (family != NULL) {
        leave(family->seats, SBX_FAMILY_SEATS, pid);
        leave(family->seatless, SBX_FAMILY_SEATLESS, pid);
    }
}

bool sbx_family_wants_seat(uint32_t pid, uint64_t now_ns, uint64_t worked_ns)
{
    return family != NULL && !has_free() && has_another_worked_longer(pid, now_ns, units_of(worked_ns));
}

bool sbx_family_pass_seat_on(uint32_t pid)
{
    if (family == NULL || !take_free(family->seatless, SBX_FAMILY_SEATLESS, named(pid, sbx_process_began(pid)))) {
        return false;
    }
    leave(family->seats, SBX_FAMILY_SEATS, pid);
    return true;
}

bool sbx_family_is_crowded(void)
{
    return family != NULL && count_free() <= seats_most / 2;
}

bool sbx_family_has_children(void)
{
    bool has_any = false;
    for (uint32_t i = 0; family != NULL && i < SBX_FAMILY_SEATS && !has_any; i++) {
        has_any = sbx_load_relaxed(&family->seats[i]) != 0; /* relaxed: a hint */
    }
    return has_any;
}

uint32_t sbx_family_members(uint32_t *pids_out, uint32_t max)
{
    uint32_t count = 0;
    for (uint32_t i = 0; family != NULL && i <= SBX_FAMILY_SEATS && count < max; i++) {
        uint64_t owner = sbx_load_relaxed(i == 0 ? &family->first : &family->seats[i - 1]);
        if (owner != 0 && lives(owner)) {
            pids_out[count++] = (uint32_t)owner;
        }
    }
    return count;
}

/* Names of holders are hints, as wishes are: every word of them is relaxed. */

void sbx_family_name_holder(uint32_t pid, uint64_t now_ns)
{
    if (family == NULL || pid == 0) {
        return;
    }
    struct holder *place = &family->holders[0];
    for (uint32_t i = 0; i < HOLDERS; i++) {
        struct holder *it = &family->holders[i];
        if (sbx_load_relaxed(&it->pid) == pid) {
            place = it;
            break;
        }
        place = sbx_load_relaxed(&it->named_ns) < sbx_load_relaxed(&place->named_ns) ? it : place;
    }
    sbx_store_relaxed(&place->pid, pid);
    sbx_store_relaxed(&place->named_ns, now_ns);
}

static bool is_holder(uint32_t pid, uint64_t now_ns)
{
    bool is_one = false;
    for (uint32_t i = 0; i < HOLDERS && !is_one; i++) {
        is_one = sbx_load_relaxed(&family->holders[i].pid) == pid &&
                 now_ns - sbx_load_relaxed(&family->holders[i].named_ns) < HOLDER_NS;
    }
    return is_one;
}

bool sbx_family_may_tell(uint32_t pid, uint64_t now_ns)
{
    uint64_t minute = now_ns / (60 * SECOND_NS);
    return family == NULL || count_in(&family->snapshots, minute, SBX_FAMILY_SNAPSHOTS_A_MINUTE) ||
           (is_holder(pid, now_ns) && count_in(&family->holders_told, minute, SBX_FAMILY_HOLDERS_A_MINUTE));
}

uint32_t sbx_family_note_stall(uint32_t pid, uint64_t begin_ns, uint64_t end_ns, uint64_t *moment_inout)
{
    if (family == NULL) {
        return 0;
    }
    uint32_t others[STALLS], count = 0;
    for (uint32_t i = 0; i < STALLS; i++) {
        /* relaxed: another process may be changing these words; the result is only a number for people */
        struct stall it = {.begin_ns = sbx_load_relaxed(&family->stalls[i].begin_ns),
                           .end_ns = sbx_load_relaxed(&family->stalls[i].end_ns),
                           .moment = sbx_load_relaxed(&family->stalls[i].moment),
                           .pid = sbx_load_relaxed(&family->stalls[i].pid)};
        bool is_counted = it.pid == 0 || it.pid == pid || it.end_ns < begin_ns || it.begin_ns > end_ns;
        *moment_inout = is_counted || it.moment == 0 || count > 0 ? *moment_inout : it.moment;
        for (uint32_t k = 0; k < count && !is_counted; k++) {
            is_counted = others[k] == it.pid;
        }
        if (!is_counted) {
            others[count++] = it.pid;
        }
    }
    struct stall *mine = &family->stalls[sbx_add_relaxed(&family->stalls_ever, 1) % STALLS];
    sbx_store_relaxed(&mine->pid, 0);
    sbx_store_relaxed(&mine->begin_ns, begin_ns);
    sbx_store_relaxed(&mine->end_ns, end_ns);
    sbx_store_relaxed(&mine->moment, *moment_inout);
    sbx_store_relaxed(&mine->pid, pid);
    return count;
}
