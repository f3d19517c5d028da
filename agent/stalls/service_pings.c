/* SPDX-License-Identifier: Apache-2.0 */
/* service_pings.c - a watch that begins with the first ping. */
#include "service_pings.h"

#include <stdbool.h>
#include <stdlib.h>

#include "capture_settings.h"
#include "clock.h"
#include "notify_socket.h"
#include "watch_table.h"

enum {
    SILENT_PERCENT = 70,
    SLOW_PERCENT = 90,
    SLOW_FROM_PERCENT = 60
};

static struct {
    uint32_t is_busy; /* one thread at a time; a ping of another thread at that moment adds nothing */
    uint64_t watchdog_us;
    uint64_t id; /* of the watch; 0: none yet */
    uint32_t timeout_ms;
    uint64_t last_ns;
    uint32_t is_blind; /* some of SBX_POINTS_OF_PINGS are out, or are being taken out */
} pings;

uint32_t sbx_service_ping_timeout_ms(uint64_t watchdog_us, uint64_t interval_ns)
{
    uint64_t watchdog_ms = watchdog_us / 1000;
    bool is_slow = interval_ns == 0 || interval_ns / 10000 > watchdog_us * SLOW_FROM_PERCENT / 1000;
    if (watchdog_us > UINT64_C(1000) * SBX_WATCH_TIMEOUT_MAX_MS) { /* "infinity" is about that large */
        return 0;
    }
    return (uint32_t)(watchdog_ms * (is_slow ? SLOW_PERCENT : SILENT_PERCENT) / 100);
}

void sbx_service_pings_forget_parent(void)
{
    pings.is_busy = 0;
    pings.id = 0;
    pings.timeout_ms = 0;
    pings.last_ns = 0;
    pings.is_blind = 0;
}

static void begin(uint32_t timeout_ms)
{
    pings.id = timeout_ms != 0 ? sbx_watch_begin(SBX_WATCH_WATCHDOG, "WATCHDOG=1", timeout_ms) : 0;
    pings.timeout_ms = timeout_ms;
}

static void on_ping(void)
{
    uint64_t now_ns = sbx_now_ns();
    uint64_t interval_ns = pings.last_ns != 0 ? now_ns - pings.last_ns : 0;
    uint32_t timeout_ms = sbx_service_ping_timeout_ms(pings.watchdog_us, interval_ns);
    /* A silence that was reported is no usual interval: this beat ends the silence, and the next interval counts. */
    bool is_habit = interval_ns / 1000000 <= pings.timeout_ms;
    pings.last_ns = now_ns;
    if (!sbx_watch_beat(pings.id)) {
        begin(timeout_ms);
    } else if (is_habit && timeout_ms != pings.timeout_ms) {
        sbx_watch_end(pings.id);
        begin(timeout_ms);
    }
}

bool sbx_service_pings_are_awaited(void)
{
    uint64_t watchdog_us = sbx_load_relaxed(&pings.watchdog_us); /* relaxed: late by one look */
    return watchdog_us != 0 && watchdog_us != UINT64_MAX;
}

/* One thread may ping at the moment when another one finds that pings cannot be seen. The later of the two ends the
 * watch. */
static void end_when_blind(void)
{
    uint32_t idle = 0;
    sbx_fence_seq_cst(); /* order: seq_cst pings - one of the two sees what the other has stored */
    if (sbx_load_relaxed(&pings.is_blind) == 0 ||
        !sbx_cas_acq_rel(&pings.is_busy, &idle, 1)) { /* order: acq_rel pings */
        return;
    }
    sbx_watch_end(pings.id);
    pings.id = 0;
    pings.last_ns = 0;
    sbx_store_release(&pings.is_busy, 0); /* order: release pings */
}

void sbx_service_pings_follow(uint64_t points)
{
    bool is_blind = (points & SBX_POINTS_OF_PINGS) != SBX_POINTS_OF_PINGS;
    sbx_store_relaxed(&pings.is_blind, is_blind); /* relaxed: the fence below */
    end_when_blind();
}

static void told(enum sbx_notify_word word, uint64_t value)
{
    uint32_t idle = 0;
    if (!sbx_cas_acq_rel(&pings.is_busy, &idle, 1)) { /* order: acq_rel pings - one at a time */
        return;
    }
    switch (word) {
    case SBX_NOTIFY_PING:
        if (sbx_load_relaxed(&pings.is_blind) == 0) { /* relaxed: see end_when_blind() */
            on_ping();
        }
        break;
    case SBX_NOTIFY_TIMEOUT:
        sbx_store_relaxed(&pings.watchdog_us, value);
        break;
    case SBX_NOTIFY_STOPPING:
        sbx_watch_end(pings.id);
        pings.id = 0;
        sbx_store_relaxed(&pings.watchdog_us, UINT64_MAX); /* no ping begins the watch again */
        break;
    }
    sbx_store_release(&pings.is_busy, 0); /* order: release pings */
    end_when_blind();
}

void sbx_service_pings_look_at_environment(void)
{
    const char *name = getenv("NOTIFY_SOCKET"), *microseconds = getenv("WATCHDOG_USEC");
    if (name == NULL || microseconds == NULL) {
        return;
    }
    char *end;
    unsigned long long watchdog_us = strtoull(microseconds, &end, 10);
    if (*end == '\0' && sbx_service_ping_timeout_ms(watchdog_us, 0) != 0) {
        pings.watchdog_us = watchdog_us;
        sbx_notify_socket_start(name, told);
    }
}
