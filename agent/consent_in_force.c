/* SPDX-License-Identifier: Apache-2.0 */
/* consent_in_force.c - one thread sets consent at a time, and the watch thread puts it in force. */
#include "consent_in_force.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "process_state.h"
#include "consent.h"
#include "spool_order.h"
#include "the_agent.h"
#include "the_capture.h"

enum {
    SNAPSHOT_WAIT_MS = 500, /* how long a refusal waits for a snapshot in flight */
    SWITCH_WAIT_MS = 2000,  /* how long consent waits for the watch thread, which may be making a snapshot */
    FILES_WAIT_MS = 20000,  /* how long it waits for the files, which are written durably */
};

/* One thread at a time sets consent: a thread of the application, or the module thread that reads it in the spool. */
static pthread_mutex_t consent_lock = PTHREAD_MUTEX_INITIALIZER;
SBX_OF_ONE_PROCESS(consent_lock);

/* Have the watch thread put the consent in force, and wait until it has. */
static int order_consent(enum sbx_consent_order order)
{
    struct sbx_control_page *control = sbx_the_capture.control;
    sbx_store_release(&control->consent_order, (uint32_t)order); /* order: release control.consent_order */
    sbx_capture_ring_bell();
    int result = sbx_agent_wait_for(&control->consent_order, SBX_CONSENT_ORDER_NONE, SWITCH_WAIT_MS) ? 0 : -ETIMEDOUT;
    if (order == SBX_CONSENT_ORDER_DENIED) {
        sbx_agent_wait_for(&sbx_the_agent.snapshot_active, 0, SNAPSHOT_WAIT_MS); /* order: acquire snapshot_active */
    }
    return result;
}

int sbx_agent_set_consent(enum sbx_consent consent)
{
    if (sbx_load_acquire(&sbx_the_agent.is_running) == 0 || !sbx_capture_is_ours()) {
        return -ESRCH;
    }
    pthread_mutex_lock(&consent_lock);
    uint32_t said_before = sbx_load_relaxed(&sbx_the_agent.consent_said); /* relaxed: under the lock */
    int result = order_consent((enum sbx_consent_order)(consent + 1));
    /* Written before the deletion, so that nothing is packed after the deletion. */
    int written = sbx_spool_order(SBX_SPOOL_CONSENT, (uint32_t)consent, FILES_WAIT_MS);
    if (written != 0) { /* the answer holds for this run: the older answer in the spool is not new */
        sbx_store_relaxed(&sbx_the_agent.consent_said, said_before);
    }
    if (consent == SBX_CONSENT_DENIED) {
        int deleted = sbx_spool_order(SBX_SPOOL_DELETION, 0, FILES_WAIT_MS);
        result = result != 0 ? result : deleted;
    }
    pthread_mutex_unlock(&consent_lock);
    return result != 0 ? result : written;
}

void sbx_agent_follow_consent(void)
{
    enum {
        LOOKS = 3
    }; /* the answer may change while it is put in force; after a refusal nobody looks again */
    const char *spool_path = sbx_the_capture.header->spool_path;
    enum sbx_consent said;
    bool in_words;
    if (sbx_load_acquire(&sbx_the_agent.is_running) == 0 || pthread_mutex_trylock(&consent_lock) != 0) {
        return; /* another thread is setting consent now: the next look sees the result */
    }
    /* Compared with the answer that was read before, not with the answer in force: an answer that could not be written
     * to the spool holds for this run all the same. */
    for (int i = 0; i < LOOKS && sbx_consent_look(spool_path, &said, &in_words) &&
                    said != sbx_load_relaxed(&sbx_the_agent.consent_said);
         i++) {
        (void)order_consent((enum sbx_consent_order)(said + 1));
        /* A snapshot of ours may have been written after the deletion by the process that refused. */
        int deleted = said == SBX_CONSENT_DENIED && in_words ? sbx_consent_delete_unsent(spool_path) : 0;
        if (deleted != 0) {
            sbx_store_relaxed(&sbx_the_capture.header->last_error, (uint32_t)-deleted);
        }
    }
    pthread_mutex_unlock(&consent_lock);
}
