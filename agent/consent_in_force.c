/* SPDX-License-Identifier: Apache-2.0 */
/* consent_in_force.c - one who says it at a time, and the watch thread that puts it in force. */
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
    SNAPSHOT_WAIT_MS = 500, /* how long a no waits for a snapshot in flight */
    SWITCH_WAIT_MS = 2000,  /* how long consent waits for the watch thread, which may be making a snapshot */
    FILES_WAIT_MS = 20000,  /* and for the files, which are to be durable */
};

/* Consent is said by one at a time: the application's threads, and the module thread that reads it in the spool. */
static pthread_mutex_t consent_lock = PTHREAD_MUTEX_INITIALIZER;
SBX_OF_ONE_PROCESS(consent_lock);

/* Have the watch thread put it in force, and wait until it has. */
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
    /* Before the deletion: nothing is packed behind it. */
    int written = sbx_spool_order(SBX_SPOOL_CONSENT, (uint32_t)consent, FILES_WAIT_MS);
    if (written != 0) { /* it holds for this run: what the spool says besides is old, and no news */
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
    }; /* the word may change while it is put in force; after a no nobody would look again */
    const char *spool_path = sbx_the_capture.header->spool_path;
    enum sbx_consent said;
    bool in_words;
    if (sbx_load_acquire(&sbx_the_agent.is_running) == 0 || pthread_mutex_trylock(&consent_lock) != 0) {
        return; /* it is being said right now: the next look sees what it came to */
    }
    /* Compared with what was said before and not with what is in force: an answer that could not be written down holds
     * for this run all the same. */
    for (int i = 0; i < LOOKS && sbx_consent_look(spool_path, &said, &in_words) &&
                    said != sbx_load_relaxed(&sbx_the_agent.consent_said);
         i++) {
        (void)order_consent((enum sbx_consent_order)(said + 1));
        /* A snapshot of ours may have come after the deletion by him who said it. */
        int deleted = said == SBX_CONSENT_DENIED && in_words ? sbx_consent_delete_unsent(spool_path) : 0;
        if (deleted != 0) {
            sbx_store_relaxed(&sbx_the_capture.header->last_error, (uint32_t)-deleted);
        }
    }
    pthread_mutex_unlock(&consent_lock);
}
