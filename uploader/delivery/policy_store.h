/* SPDX-License-Identifier: Apache-2.0 */
/* policy_store.h - what a machine knows of its policy, kept so that a kill at any moment leaves the old or the new, and so
 * that it never goes back.
 *
 *   SPOOL/policy/APP/        0700; APP is the application's id in lower hex
 *     documents              the bundle in force, as it was signed: verified again each time it is read
 *     safe                   the policy that has proved itself
 *     state                  struct sbx_policy_state: floor, trial, budget, freshness; whole or not believed
 *     secret                 32 random bytes of this machine, for rollouts; never sent
 *     lock                   held while the others are read and changed
 *     alive.PID.START        locked by a process that lives (companion_alive.h)
 *
 * The root of trust is not here but in the file that ships with the application, so a process that can write here can withhold and
 * undo, but not sign. Documents are written before the floor that they raise: a kill in between repeats the step. Any number
 * of processes may use one folder; a store is for one thread at a time. */
#ifndef SBX_POLICY_STORE_H
#define SBX_POLICY_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crash_loop.h"
#include "day_budget.h"
#include "freshness.h"
#include "marks.h"
#include "policy_trust.h"

/* The file `state`, as it lies there: of this machine alone, so in its byte order. */
struct sbx_policy_state {
    char magic[8];
    uint32_t version, byte_count;
    struct sbx_policy_floor floor;
    uint32_t is_killed;
    uint32_t last_verdict; /* of the last document that was offered (enum sbx_policy_verdict) */
    uint64_t newest_issued_s;
    uint64_t killed_at_s; /* wall clock when the kill was first obeyed; 0: it is not */
    uint8_t safe_hash[SBX_DIGEST_BYTES];
    struct sbx_freshness freshness;
    struct sbx_crash_loop crash_loop;
    struct sbx_day_budget budget;
    uint32_t verdicts[32]; /* how often each was said, SAME apart */
    uint8_t checksum[SBX_DIGEST_BYTES];
};

/* Why what is in force is. */
enum sbx_policy_source {
    SBX_SOURCE_DEFAULT = 0, /* no policy was ever believed */
    SBX_SOURCE_POLICY = 1,  /* the newest one */
    SBX_SOURCE_SAFE = 2,    /* the newest one crashed the application: the one before that, or the default */
    SBX_SOURCE_REDUCED = 3, /* the last one has expired, or has not been confirmed for 30 days */
    SBX_SOURCE_CRASHES = 4, /* nothing is recorded: it crashed with the safe one too */
    SBX_SOURCE_KILLED = 5,  /* nothing is recorded and nothing is sent */
};

/* "default", "policy", "safe policy", "reduced default", "off after crashes", "killed". Never NULL. */
const char *sbx_policy_source_name(enum sbx_policy_source source);

/* What is in force. */
struct sbx_policy_effect {
    struct sbx_policy policy; /* rollouts and quarantined points are taken away already */
    enum sbx_policy_source source;
    uint8_t hash[SBX_DIGEST_BYTES]; /* of the document applied; zeroes: none */
    uint64_t points_off;            /* quarantined */
};

struct sbx_policy_store;

/* Open SPOOL/policy/APP, making it when missing; APP is what the KEYSET says that `shipped` begins with. `shipped` is the
 * bundle that came with the application (borrowed until it returns), `build_s` when this program was built, `folder` the
 * descriptor of SPOOL (borrowed until it returns). Returns 0 and a store (given: close), -EINVAL when `shipped` is not a
 * bundle that begins with a KEYSET signed by its own roots, or another -errno; `why` gets a sentence fragment. */
SBX_MUST_CHECK int sbx_policy_store_open(int folder, const uint8_t *shipped, size_t shipped_bytes, uint64_t build_s,
                                         struct sbx_policy_store **store_out, char *why, size_t why_bytes);
void sbx_policy_store_close(struct sbx_policy_store *store); /* NULL is fine */

/* Begin to read or change: waits for other processes, and reads what they left. `wall_s` is what "now" is until end.
 * The files are read and judged each time; of what was verified before in this store, the signatures alone are not
 * verified again (verified_signatures.h). Returns 0 or -errno; then nothing is begun. */
SBX_MUST_CHECK int sbx_policy_store_begin(struct sbx_policy_store *store, uint64_t wall_s);

/* End; when `changed`, the state is kept durably before the lock is let go. Returns 0 or -errno (a full disk): what was
 * believed stays believed in this process. */
SBX_MUST_CHECK int sbx_policy_store_end(struct sbx_policy_store *store, bool changed);

/* Between begin and end: the state, to look at and to change. */
struct sbx_policy_state *sbx_policy_store_state(struct sbx_policy_store *store);

/* How many signatures were verified by key, ever, in this store. */
uint64_t sbx_policy_store_verifications(const struct sbx_policy_store *store);

/* The application and the server's pins, from the KEYSET in force. */
const struct sbx_keyset *sbx_policy_store_keyset(const struct sbx_policy_store *store);

/* Between begin and end: a bundle came from outside. What is accepted of it is kept durably (documents, then state) before
 * this returns. Returns the verdict of the first document that failed, else of the last, with the report. */
enum sbx_policy_verdict sbx_policy_store_offer(struct sbx_policy_store *store, const uint8_t *bytes, size_t count,
                                               struct sbx_policy_report *report);

/* Between begin and end: decide what is in force. Starts in the crash loop's list whose process is gone are counted as
 * crashes. `app_mark`: which version of the application this is. Changes the state: end with `changed` when it returns
 * true in *changed_out. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_policy_store_decide(struct sbx_policy_store *store, uint64_t app_mark,
                                           struct sbx_policy_effect *effect_out, bool *changed_out);

/* Between begin and end: the policy in force has earned to be the safe one. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_policy_store_keep_safe(struct sbx_policy_store *store);

/* This process, as the one that will report how a start ended. */
struct sbx_open_start sbx_policy_store_self(const struct sbx_policy_store *store);

#endif
