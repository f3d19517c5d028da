/* SPDX-License-Identifier: Apache-2.0 */
/* family.c - one shared page of seats, rates and stalls. */
#include "family.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fork_path.h"
#include "marks.h"
#include "order.h"

enum {
    PAGE_BYTES = 4096,
    STALLS = 64 /* remembered at a time, the newest */
};
#define SECOND_NS UINT64_C(1000000000)

struct stall {
    uint64_t begin_ns, end_ns, moment;
    uint32_t pid, reserved;
};

struct family {
    uint8_t id[16];
    uint64_t starts;    /* second << 16 | starts in it */
    uint64_t snapshots; /* minute << 16 | snapshots in it */
    uint64_t swept_ns;  /* when it was last looked whose owners have ended */
    uint32_t stalls_ever;
    uint32_t first;                   /* pid of the first process */
    uint32_t seats[SBX_FAMILY_SEATS]; /* pid; 0: free */
    struct stall stalls[STALLS];
};
static_assert(sizeof(struct family) <= PAGE_BYTES, "a page for all of them");

static struct family *family;
static uint8_t id_of_all[16]; /* the page's: a forked child need not touch that for it */

bool sbx_family_found(const uint8_t session_id[16])
{
    struct family *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return false;
    }
    memcpy(page->id, session_id, sizeof page->id);
    page->first = (uint32_t)getpid();
    memcpy(id_of_all, session_id, sizeof id_of_all);
    family = page; /* one that was there stays mapped: another thread may be at it */
    return true;
}

bool sbx_family_is_of(uint32_t pid)
{
    return family != NULL && sbx_load_relaxed(&family->first) == pid; /* relaxed: written before there were others */
}

SBX_FORK_CODE const uint8_t *sbx_family_id(void)
{
    return id_of_all;
}

/* Once more in this window of time, if that is allowed. order: relaxed - a limit, not a lock */
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

static bool take_free(uint32_t pid)
{
    for (uint32_t i = 0; i < SBX_FAMILY_SEATS; i++) {
        uint32_t nobody = 0;
        if (sbx_load_relaxed(&family->seats[i]) == 0 &&
            sbx_cas_acq_rel(&family->seats[i], &nobody, pid)) { /* order: acq_rel family.seats - one owner */
            return true;
        }
    }
    return false;
}

/* Free the seats whose owners have ended; once a second at most, by whoever finds all taken. */
static void sweep(uint64_t now_ns)
{
    uint64_t swept_ns = sbx_load_relaxed(&family->swept_ns);
    if ((swept_ns != 0 && now_ns - swept_ns < SECOND_NS) ||
        !sbx_cas_acq_rel(&family->swept_ns, &swept_ns, now_ns)) { /* order: acq_rel family.swept - one sweeper */
        return;
    }
    for (uint32_t i = 0; i < SBX_FAMILY_SEATS; i++) {
        uint32_t pid = sbx_load_relaxed(&family->seats[i]);
        if (pid != 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH) {
            (void)sbx_cas_acq_rel(&family->seats[i], &pid, 0); /* order: acq_rel family.seats */
        }
    }
}

bool sbx_family_take_seat(uint32_t pid, uint64_t now_ns, bool is_last_chance)
{
    if (family == NULL ||
        (!count_in(&family->starts, now_ns / SECOND_NS, SBX_FAMILY_STARTS_A_SECOND) && !is_last_chance)) {
        return false;
    }
    if (take_free(pid)) {
        return true;
    }
    sweep(now_ns);
    return take_free(pid);
}

void sbx_family_give_seat(uint32_t pid)
{
    for (uint32_t i = 0; family != NULL && i < SBX_FAMILY_SEATS; i++) {
        uint32_t owner = pid;
        if (sbx_load_relaxed(&family->seats[i]) == pid) {
            (void)sbx_cas_acq_rel(&family->seats[i], &owner, 0); /* order: acq_rel family.seats */
        }
    }
}

uint32_t sbx_family_members(uint32_t *pids_out, uint32_t max)
{
    uint32_t count = 0;
    if (family == NULL || max == 0) {
        return 0;
    }
    pids_out[count++] = sbx_load_relaxed(&family->first);
    for (uint32_t i = 0; i < SBX_FAMILY_SEATS && count < max; i++) {
        uint32_t pid = sbx_load_relaxed(&family->seats[i]);
        if (pid != 0) {
            pids_out[count++] = pid;
        }
    }
    return count;
}

bool sbx_family_may_tell(uint64_t now_ns)
{
    return family == NULL || count_in(&family->snapshots, now_ns / (60 * SECOND_NS), SBX_FAMILY_SNAPSHOTS_A_MINUTE);
}

uint32_t sbx_family_note_stall(uint32_t pid, uint64_t begin_ns, uint64_t end_ns, uint64_t *moment_inout)
{
    if (family == NULL) {
        return 0;
    }
    uint32_t others[STALLS], count = 0;
    for (uint32_t i = 0; i < STALLS; i++) {
        /* relaxed: words that another process may be changing; what comes of it is a number for people */
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
