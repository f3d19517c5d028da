/* SPDX-License-Identifier: Apache-2.0 */
/* policy_store.h - what a machine knows about its policy. After a kill at any moment, either the old or the new content
 * is there, and a policy never goes back to an older one.
 *
 *   SPOOL/policy/APP/        0700; APP is the application's id in lower hex
 *     documents              the bundle in force, as it was signed; verified again each time it is read
 *     safe                   the last policy that has proved itself
 *     state                  struct sbx_policy_state: floor, trial, budget, freshness; not used if damaged
 *     secret                 32 random bytes of this machine, for rollouts; never sent
 *     lock                   held while the others are read and changed
 *     alive.PID.START        locked by a process that is alive (companion_alive.h)
 *
 * The root of trust is not here but in the file that ships with the application. So a process that can write here can
 * withhold and undo policies, but cannot sign them. Documents are written before the floor that they raise, so a kill
 * in between only repeats the step. Any number of processes may use one folder. A store is for one thread at a time. */
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

/* The file `state`. It is used on this machine only, so it has the machine's byte order. */
struct sbx_policy_state {
    char magic[8];
    uint32_t version, byte_count;
    struct sbx_policy_floor floor;
    uint32_t is_killed;
    uint32_t last_verdict; /* of the last offered document (enum sbx_policy_verdict) */
    uint64_t newest_issued_s;
    uint64_t killed_at_s; /* wall clock when the kill was first obeyed; 0: no kill */
    uint8_t safe_hash[SBX_DIGEST_BYTES];
    struct sbx_freshness freshness;
    struct sbx_crash_loop crash_loop;
    struct sbx_day_budget budget;
    uint32_t verdicts[32]; /* how often each verdict was given, without SAME */
    uint8_t checksum[SBX_DIGEST_BYTES];
};

/* Why this policy is in force. */
enum sbx_policy_source {
    SBX_SOURCE_DEFAULT = 0, /* no policy was ever verified */
    SBX_SOURCE_POLICY = 1,  /* the newest one */
    SBX_SOURCE_SAFE = 2,    /* the newest policy crashed the application: the previous one, or the default */
    SBX_SOURCE_REDUCED = 3, /* the last one has expired, or was not confirmed for 30 days */
    SBX_SOURCE_CRASHES = 4, /* nothing is recorded: the application also crashed with the safe policy */
    SBX_SOURCE_KILLED = 5,  /* nothing is recorded and nothing is sent */
};

/* One of "default", "policy", "safe policy", "reduced default", "off after crashes", "killed". Never NULL. */
const char *sbx_policy_source_name(enum sbx_policy_source source);

/* The policy in force. */
struct sbx_policy_effect {
    struct sbx_policy policy; /* without the points that the rollout excludes or that are quarantined */
    enum sbx_policy_source source;
    uint8_t hash[SBX_DIGEST_BYTES]; /* of the applied document; zeroes: none */
    uint64_t points_off;            /* quarantined */
};

struct sbx_policy_store;

/* Open SPOOL/policy/APP; it is created if missing. APP is the application in the KEYSET at the start of `shipped`.
 * `shipped` is the bundle that came with the application (borrowed until this returns), `build_s` the time when this
 * program was built, and `folder` the descriptor of SPOOL (borrowed until this returns). Returns 0 and a store (given:
 * close), -EINVAL if `shipped` is no bundle that begins with a KEYSET signed by its own roots, or another -errno. `why`
 * gets a sentence fragment. */
SBX_MUST_CHECK int sbx_policy_store_open(int folder, const uint8_t *shipped, size_t shipped_bytes, uint64_t build_s,
                                         struct sbx_policy_store **store_out, char *why, size_t why_bytes);
void sbx_policy_store_close(struct sbx_policy_store *store); /* NULL is fine */

/* Begin to read or change: waits for other processes, and reads what they stored. `wall_s` is the current time until
 * end. The files are read and checked each time. Only signatures that this store has verified before are not verified
 * again (verified_signatures.h). Returns 0 or -errno; then nothing is begun. */
SBX_MUST_CHECK int sbx_policy_store_begin(struct sbx_policy_store *store, uint64_t wall_s);

/* End. If `changed`, the state is stored durably before the lock is released. Returns 0 or -errno (a full disk). Then
 * this process still uses what it has accepted. */
SBX_MUST_CHECK int sbx_policy_store_end(struct sbx_policy_store *store, bool changed);

/* Between begin and end: the state, which may be read and changed. */
struct sbx_policy_state *sbx_policy_store_state(struct sbx_policy_store *store);

/* How many signatures this store has verified by key, in total. */
uint64_t sbx_policy_store_verifications(const struct sbx_policy_store *store);

/* The application and the server's pins, from the KEYSET in force. */
const struct sbx_keyset *sbx_policy_store_keyset(const struct sbx_policy_store *store);

/* Between begin and end: a bundle came from outside. The accepted documents are stored durably (documents, then state)
 * before this returns. Returns the verdict of the first document that failed, else of the last one, with the report. */
enum sbx_policy_verdict sbx_policy_store_offer(struct sbx_policy_store *store, const uint8_t *bytes, size_t count,
                                               struct sbx_policy_report *report);

/* Between begin and end: decide what is in force. Starts in the crash loop's list whose process is gone are counted as
 * crashes. `app_mark` says which version of the application this is. If *changed_out becomes true, the state has
 * changed: end with `changed`. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_policy_store_decide(struct sbx_policy_store *store, uint64_t app_mark,
                                           struct sbx_policy_effect *effect_out, bool *changed_out);

/* Between begin and end: the policy in force becomes the safe one. Returns 0 or -errno. */
SBX_MUST_CHECK int sbx_policy_store_keep_safe(struct sbx_policy_store *store);

/* This process, as the one that will report how a start ended. */
struct sbx_open_start sbx_policy_store_self(const struct sbx_policy_store *store);

#endif
