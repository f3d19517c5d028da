/* SPDX-License-Identifier: Apache-2.0 */
/* policy_store.c - the files, a lock, and the order of writing. */
#include "policy_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "companion_alive.h"
#include "durable_file.h"
#include "recording_recover.h"

static const char state_magic[8] = "SBXPOLST";
enum {
    STATE_VERSION = 2
};

/* A bundle that was read, with its parsing result. */
struct kept {
    uint8_t *bytes;
    size_t count;
};

struct sbx_policy_store {
    int folder, lock; /* descriptors; lock -1: not held */
    int alive;        /* of the file whose lock shows that we are alive; -1: none */
    bool is_new;      /* nothing was ever stored here, so nothing can be lost */
    struct kept shipped, documents, safe;
    uint64_t build_s;
    struct sbx_policy_moment moment;
    struct sbx_verified_signatures verified; /* of the documents below that were read before */
    struct sbx_policy_trust trust;
    struct sbx_policy_state state;
    bool has_policy, has_safe;
    struct sbx_policy_document policy, safe_policy;
    uint8_t policy_hash[SBX_DIGEST_BYTES];
    uint8_t rollout_key[SBX_ROLLOUT_KEY_BYTES];
    struct sbx_process_facts self; /* of this process; its boot and start are used */
};

const char *sbx_policy_source_name(enum sbx_policy_source source)
{
    static const char *const names[] = {"default",           "policy", "safe policy", "reduced default",
                                        "off after crashes", "killed"};
    return (size_t)source < sizeof names / sizeof names[0] ? names[source] : "unknown";
}

static void drop(struct kept *kept)
{
    free(kept->bytes);
    *kept = (struct kept){NULL, 0};
}

static uint64_t boottime_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec;
}

/* ---- the state ---- */

static int checksum_of(const struct sbx_policy_state *state, uint8_t checksum_out[SBX_DIGEST_BYTES])
{
    return sbx_digest(&(struct sbx_digest_piece){state, offsetof(struct sbx_policy_state, checksum)}, 1, checksum_out);
}

/* Reads the state. A damaged state is not used: then the floor is that of the documents, and the day's budget counts as
 * spent. */
static int read_state(struct sbx_policy_store *store)
{
    uint8_t *bytes = NULL, checksum[SBX_DIGEST_BYTES];
    size_t count = 0;
    struct sbx_policy_state state;
    int result = sbx_durable_file_read(store->folder, "state", sizeof state, &bytes, &count);
    if (result == -ENOMEM) {
        return result;
    }
    bool is_whole = result == 0 && count == sizeof state;
    if (is_whole) {
        memcpy(&state, bytes, sizeof state);
        is_whole = memcmp(state.magic, state_magic, sizeof state_magic) == 0 && state.version == STATE_VERSION &&
                   state.byte_count == sizeof state && checksum_of(&state, checksum) == 0 &&
                   memcmp(checksum, state.checksum, sizeof checksum) == 0;
    }
    free(bytes);
    if (!is_whole) {
        memset(&state, 0, sizeof state);
        memcpy(state.magic, state_magic, sizeof state.magic);
        state.version = STATE_VERSION;
        state.byte_count = sizeof state;
        sbx_day_budget_turn(&state.budget, store->moment.wall_s);
        state.budget.is_spent = !store->is_new;
        state.freshness.confirmed_wall_s = store->moment.wall_s;
    }
    store->state = state;
    return 0;
}

static int write_state(struct sbx_policy_store *store)
{
    struct sbx_policy_state *state = &store->state;
    state->floor = store->trust.floor;
    state->is_killed = store->trust.is_killed;
    state->newest_issued_s = store->trust.newest_issued_s;
    int result = checksum_of(state, state->checksum);
    if (result == 0) {
        result = sbx_durable_file_write(store->folder, "state", state, sizeof *state);
    }
    if (result == 0) {
        store->is_new = false;
    }
    return result;
}

/* ---- documents ---- */

static int read_bundle(struct sbx_policy_store *store, const char *name, struct kept *kept)
{
    drop(kept);
    int result = sbx_durable_file_read(store->folder, name, SBX_BUNDLE_BYTES_MAX, &kept->bytes, &kept->count);
    return result == -ENOMEM ? result : 0; /* after any other error, there is no document that can be trusted */
}

/* Verifies a bundle, and stores which policy it puts in force. */
static enum sbx_policy_verdict take(struct sbx_policy_store *store, const struct kept *kept,
                                    struct sbx_bundle_outcome *outcome)
{
    enum sbx_policy_verdict verdict =
        sbx_policy_trust_take_bundle(&store->trust, kept->bytes, kept->count, &store->moment, outcome);
    if (outcome->has_policy) {
        store->has_policy = true;
        store->policy = outcome->policy;
        memcpy(store->policy_hash, outcome->policy_hash, sizeof store->policy_hash);
    }
    return verdict;
}

/* Verifies everything stored, beginning with the shipped KEYSET. */
static int believe(struct sbx_policy_store *store)
{
    struct sbx_bundle_outcome *outcome = malloc(sizeof *outcome);
    struct sbx_policy_report report;
    if (outcome == NULL) {
        return -ENOMEM;
    }
    store->has_policy = false;
    store->has_safe = false;
    enum sbx_policy_verdict verdict =
        sbx_policy_trust_begin(store->shipped.bytes, store->shipped.count, &store->verified, &store->trust, &report);
    store->trust.floor = store->state.floor;
    store->trust.is_killed = store->state.is_killed != 0;
    store->trust.newest_issued_s = store->state.newest_issued_s;
    if (verdict == SBX_POLICY_ACCEPTED) {
        verdict = take(store, &store->shipped, outcome);
    }
    if (verdict != SBX_POLICY_LATER && store->documents.count != 0) {
        verdict = take(store, &store->documents, outcome);
    }
    /* The safe policy comes last: only for it the floor is lifted, and it must not become the policy in force. */
    if (verdict != SBX_POLICY_LATER && store->safe.count != 0) {
        struct sbx_policy_trust trust = store->trust;
        memcpy(trust.safe_hash, store->state.safe_hash, sizeof trust.safe_hash);
        verdict = sbx_policy_trust_take_bundle(&trust, store->safe.bytes, store->safe.count, &store->moment, outcome);
        store->has_safe =
            outcome->has_policy && memcmp(outcome->policy_hash, store->state.safe_hash, SBX_DIGEST_BYTES) == 0;
        store->safe_policy = outcome->policy;
    }
    free(outcome);
    return verdict == SBX_POLICY_LATER ? -ENOMEM : 0;
}

/* ---- opening ---- */

/* Wait for the lock. 0 or -errno. */
static int take_lock(struct sbx_policy_store *store)
{
    store->lock = openat(store->folder, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (store->lock < 0) {
        return -errno;
    }
    while (flock(store->lock, LOCK_EX) != 0) {
        if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

static void release_lock(struct sbx_policy_store *store)
{
    if (store->lock >= 0) {
        close(store->lock); /* this releases the lock; the file stays, because another process may have it open */
        store->lock = -1;
    }
}

/* Reads the machine's secret, which the first opening creates. Locked, so that a second process reads what the first
 * one created. */
static int read_secret(struct sbx_policy_store *store)
{
    uint8_t fresh[SBX_INSTALL_SECRET_BYTES], *bytes = NULL;
    size_t count = 0;
    int result = sbx_durable_file_read(store->folder, "secret", SBX_INSTALL_SECRET_BYTES, &bytes, &count);
    if (result != 0 || count != SBX_INSTALL_SECRET_BYTES) {
        if (result == -ENOMEM) {
            return result;
        }
        free(bytes);
        bytes = NULL;
        if (getrandom(fresh, sizeof fresh, 0) != (ssize_t)sizeof fresh) {
            return -EIO;
        }
        result = sbx_durable_file_write(store->folder, "secret", fresh, sizeof fresh);
        store->is_new = true;
    } else {
        memcpy(fresh, bytes, sizeof fresh);
    }
    if (result == 0) {
        result = sbx_rollout_key(fresh, store->rollout_key);
    }
    explicit_bzero(fresh, sizeof fresh);
    if (bytes != NULL) {
        explicit_bzero(bytes, count);
    }
    free(bytes);
    return result;
}

/* Opens a folder inside `parent`. It is created (0700) if missing, and refused if other users have access. */
static int open_folder(int parent, const char *name)
{
    struct stat status;
    if (mkdirat(parent, name, 0700) != 0 && errno != EEXIST) {
        return -errno;
    }
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0 || fstat(folder, &status) != 0) {
        int result = -errno;
        if (folder >= 0) {
            close(folder);
        }
        return result;
    }
    if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        close(folder);
        return -EPERM;
    }
    return folder;
}

int sbx_policy_store_open(int folder, const uint8_t *shipped, size_t shipped_bytes, uint64_t build_s,
                          struct sbx_policy_store **store_out, char *why, size_t why_bytes)
{
    struct sbx_policy_report report;
    char app[2 * SBX_APP_ID_BYTES + 1];
    struct sbx_policy_store *store = calloc(1, sizeof *store);
    if (store == NULL || (store->shipped.bytes = malloc(shipped_bytes + 1)) == NULL) {
        free(store);
        snprintf(why, why_bytes, "out of memory");
        return -ENOMEM;
    }
    store->folder = store->lock = store->alive = -1;
    store->build_s = build_s;
    memcpy(store->shipped.bytes, shipped, shipped_bytes);
    store->shipped.count = shipped_bytes;
    int result = 0;
    if (sbx_policy_trust_begin(shipped, shipped_bytes, &store->verified, &store->trust, &report) !=
        SBX_POLICY_ACCEPTED) {
        snprintf(why, why_bytes, "it must begin with the application's KEYSET: %s: %s",
                 sbx_policy_verdict_name(report.verdict), report.why);
        result = report.verdict == SBX_POLICY_LATER ? -ENOMEM : -EINVAL;
        goto close_store;
    }
    for (int i = 0; i < SBX_APP_ID_BYTES; i++) {
        snprintf(app + 2 * i, 3, "%02x", store->trust.keyset.app_id[i]);
    }
    int policies = open_folder(folder, "policy");
    result = policies;
    if (policies >= 0) {
        store->folder = open_folder(policies, app);
        result = store->folder < 0 ? store->folder : 0;
        close(policies);
    }
    if (result == 0) {
        result = take_lock(store);
    }
    if (result == 0) {
        result = read_secret(store);
    }
    if (result == 0 && store->is_new) { /* from now on, a missing state is a lost one */
        store->moment.wall_s = (uint64_t)time(NULL);
        result = read_state(store);
        if (result == 0) {
            result = write_state(store);
        }
    }
    release_lock(store);
    if (result == 0) {
        result = sbx_process_facts_read((uint32_t)getpid(), &store->self);
    }
    if (result != 0) {
        snprintf(why, why_bytes, "policy/%s in the spool: %s", app, strerror(-result));
        goto close_store;
    }
    sbx_durable_file_sweep(store->folder);
    sbx_companions_sweep(store->folder);
    store->alive = sbx_companion_show(store->folder, (uint32_t)getpid(), store->self.start_ticks);
    *store_out = store;
    return 0;

close_store:
    sbx_policy_store_close(store);
    return result;
}

void sbx_policy_store_close(struct sbx_policy_store *store)
{
    if (store == NULL) {
        return;
    }
    release_lock(store);
    if (store->alive >= 0) {
        close(store->alive);
        sbx_companions_sweep(store->folder);
    }
    if (store->folder >= 0) {
        close(store->folder);
    }
    drop(&store->shipped);
    drop(&store->documents);
    drop(&store->safe);
    explicit_bzero(store->rollout_key, sizeof store->rollout_key);
    free(store);
}

/* ---- reading and changing ---- */

int sbx_policy_store_begin(struct sbx_policy_store *store, uint64_t wall_s)
{
    store->moment = (struct sbx_policy_moment){.wall_s = wall_s, .build_s = store->build_s};
    int result = take_lock(store);
    if (result == 0) {
        result = read_state(store);
    }
    if (result == 0) {
        result = read_bundle(store, "documents", &store->documents);
    }
    if (result == 0) {
        result = read_bundle(store, "safe", &store->safe);
    }
    if (result == 0) {
        result = believe(store);
    }
    if (result == 0) {
        sbx_freshness_advance(&store->state.freshness, store->self.boot_id, boottime_s());
        sbx_day_budget_turn(&store->state.budget, wall_s);
    } else {
        release_lock(store);
    }
    return result;
}

int sbx_policy_store_end(struct sbx_policy_store *store, bool changed)
{
    int result = changed ? write_state(store) : 0;
    release_lock(store);
    return result;
}

uint64_t sbx_policy_store_verifications(const struct sbx_policy_store *store)
{
    return store->verified.verifications;
}

struct sbx_policy_state *sbx_policy_store_state(struct sbx_policy_store *store)
{
    return &store->state;
}

const struct sbx_keyset *sbx_policy_store_keyset(const struct sbx_policy_store *store)
{
    return &store->trust.keyset;
}

struct sbx_open_start sbx_policy_store_self(const struct sbx_policy_store *store)
{
    struct sbx_open_start self = {.pid = (uint32_t)getpid(), .start_ticks = store->self.start_ticks};
    memcpy(self.boot_id, store->self.boot_id, sizeof self.boot_id);
    return self;
}

static bool append(struct kept *kept, const struct sbx_signed_document *document)
{
    if (kept->count + document->byte_count > SBX_BUNDLE_BYTES_MAX) {
        return false;
    }
    memcpy(kept->bytes + kept->count, document->bytes, document->byte_count);
    kept->count += document->byte_count;
    return true;
}

/* Appends the documents of `role` from a bundle. Of the offered bundle, only the new ones are appended. */
static bool append_role(struct kept *kept, const struct sbx_bundle *bundle, enum sbx_signed_role role, uint32_t which)
{
    for (uint32_t i = 0; i < bundle->count; i++) {
        if (bundle->documents[i].role == role && (which & UINT32_C(1) << i) != 0 &&
            !append(kept, &bundle->documents[i])) {
            return false;
        }
    }
    return true;
}

static bool has_role(const struct sbx_bundle *bundle, enum sbx_signed_role role, uint32_t which)
{
    for (uint32_t i = 0; i < bundle->count; i++) {
        if (bundle->documents[i].role == role && (which & UINT32_C(1) << i) != 0) {
            return true;
        }
    }
    return false;
}

/* Makes the new content of `documents`: the chain of KEYSETs, the kill while it is valid, and the newest policy. */
static int merge(const struct sbx_policy_store *store, const struct sbx_bundle *offered, uint32_t is_new,
                 struct kept *merged)
{
    struct sbx_bundle before, *old = &before;
    merged->bytes = malloc(SBX_BUNDLE_BYTES_MAX);
    merged->count = 0;
    if (merged->bytes == NULL) {
        return -ENOMEM;
    }
    if (store->documents.count == 0 ||
        sbx_bundle_parse(store->documents.bytes, store->documents.count, &before) != NULL) {
        before.count = 0;
    }
    bool fits =
        append_role(merged, old, SBX_ROLE_KEYSET, UINT32_MAX) && append_role(merged, offered, SBX_ROLE_KEYSET, is_new);
    if (store->trust.is_killed) {
        bool is_newer = has_role(offered, SBX_ROLE_KILL, is_new);
        fits = fits && append_role(merged, is_newer ? offered : old, SBX_ROLE_KILL, is_newer ? is_new : UINT32_MAX);
    }
    bool is_newer = has_role(offered, SBX_ROLE_POLICY, is_new);
    fits = fits && append_role(merged, is_newer ? offered : old, SBX_ROLE_POLICY, is_newer ? is_new : UINT32_MAX);
    return fits ? 0 : -EFBIG;
}

enum sbx_policy_verdict sbx_policy_store_offer(struct sbx_policy_store *store, const uint8_t *bytes, size_t count,
                                               struct sbx_policy_report *report)
{
    struct sbx_bundle *offered = malloc(sizeof *offered);
    struct sbx_bundle_outcome *outcome = malloc(sizeof *outcome);
    struct kept merged = {NULL, 0}, given = {(uint8_t *)(uintptr_t)bytes, count};
    bool was_killed = store->trust.is_killed;
    int result = 0;
    if (offered == NULL || outcome == NULL) {
        free(offered);
        free(outcome);
        return sbx_policy_judge(report, SBX_POLICY_LATER, "out of memory");
    }
    enum sbx_policy_verdict verdict = take(store, &given, outcome);
    *report = outcome->report;
    if (outcome->new_documents != 0 && sbx_bundle_parse(bytes, count, offered) == NULL) {
        result = merge(store, offered, outcome->new_documents, &merged);
        if (result == 0) {
            result = sbx_durable_file_write(store->folder, "documents", merged.bytes, merged.count);
        }
        if (result == 0) {
            drop(&store->documents);
            store->documents = merged;
            merged.bytes = NULL;
        }
        free(merged.bytes);
    }
    /* This process obeys a kill even if it cannot be stored. */
    if (store->trust.is_killed && (!was_killed || store->state.killed_at_s == 0)) {
        store->state.killed_at_s = store->moment.wall_s;
    } else if (!store->trust.is_killed) {
        store->state.killed_at_s = 0;
    }
    if (outcome->policy_is_new) { /* a new policy cannot be a replay, whatever path it came by */
        sbx_freshness_renew(&store->state.freshness, store->moment.wall_s);
    }
    store->state.last_verdict = verdict;
    store->state.verdicts[verdict] += verdict != SBX_POLICY_SAME;
    if (verdict != SBX_POLICY_SAME && (outcome->new_documents != 0 || store->state.verdicts[verdict] == 1)) {
        int written = write_state(store);
        result = result == 0 ? written : result;
    }
    if (outcome->new_documents != 0 && outcome->keyset_is_new && result == 0) {
        result = believe(store); /* the keys have changed: documents that they did not sign are dropped */
    }
    free(offered);
    free(outcome);
    if (result != 0) {
        return sbx_policy_judge(report, SBX_POLICY_STORE, "it could not be kept: %s", strerror(-result));
    }
    return verdict;
}

/* Returns a bit for each start whose process is gone. */
static uint32_t find_dead(const struct sbx_policy_store *store)
{
    uint32_t dead = 0;
    for (uint32_t i = 0; i < SBX_OPEN_STARTS_MAX; i++) {
        const struct sbx_open_start *start = &store->state.crash_loop.open[i];
        struct sbx_process_facts facts;
        if (start->pid == 0 || (start->pid == (uint32_t)getpid() && start->start_ticks == store->self.start_ticks)) {
            continue;
        }
        if (sbx_companion_lives(store->folder, start->pid, start->start_ticks) ||
            sbx_process_facts_read(start->pid, &facts) != 0) {
            continue; /* it is alive, or this is not known: leave it */
        }
        bool is_alive = facts.is_running && facts.start_ticks == start->start_ticks &&
                        memcmp(facts.boot_id, start->boot_id, sizeof facts.boot_id) == 0;
        dead |= (uint32_t)!is_alive << i;
    }
    return dead;
}

static int apply(const struct sbx_policy_store *store, const struct sbx_policy_document *document,
                 enum sbx_policy_source source, const uint8_t *hash, struct sbx_policy_effect *effect)
{
    effect->source = source;
    memcpy(effect->hash, hash, SBX_DIGEST_BYTES);
    return sbx_policy_document_apply(document, store->rollout_key, &effect->policy);
}

int sbx_policy_store_decide(struct sbx_policy_store *store, uint64_t app_mark, struct sbx_policy_effect *effect_out,
                            bool *changed_out)
{
    static const uint8_t none[SBX_DIGEST_BYTES];
    struct sbx_crash_loop before = store->state.crash_loop;
    bool is_stale = sbx_freshness_is_stale(&store->state.freshness, &store->moment);
    bool is_in_force = store->has_policy && !is_stale;
    int result = 0;
    memset(effect_out, 0, sizeof *effect_out);
    enum sbx_policy_choice choice =
        sbx_crash_loop_choose(&store->state.crash_loop, is_in_force ? store->policy_hash : none, app_mark,
                              store->moment.wall_s, find_dead(store), &effect_out->points_off);
    *changed_out = memcmp(&before, &store->state.crash_loop, sizeof before) != 0;
    if (store->trust.is_killed) {
        effect_out->source = SBX_SOURCE_KILLED;
        sbx_policy_off(&effect_out->policy);
    } else if (choice == SBX_CHOOSE_OFF) {
        effect_out->source = SBX_SOURCE_CRASHES;
        sbx_policy_off(&effect_out->policy);
    } else if (choice == SBX_CHOOSE_SAFE && is_in_force) {
        if (store->has_safe) {
            result = apply(store, &store->safe_policy, SBX_SOURCE_SAFE, store->state.safe_hash, effect_out);
        } else {
            effect_out->source = SBX_SOURCE_SAFE;
            effect_out->policy = *sbx_policy_default();
        }
    } else if (is_in_force) {
        result = apply(store, &store->policy, SBX_SOURCE_POLICY, store->policy_hash, effect_out);
    } else if (store->trust.floor.seq != 0) {
        effect_out->source = SBX_SOURCE_REDUCED;
        sbx_policy_reduced(&effect_out->policy);
    } else {
        effect_out->policy = *sbx_policy_default();
    }
    effect_out->policy.capture.points &= ~effect_out->points_off;
    return result;
}

int sbx_policy_store_keep_safe(struct sbx_policy_store *store)
{
    struct sbx_bundle bundle;
    if (!store->has_policy || store->documents.count == 0 ||
        sbx_bundle_parse(store->documents.bytes, store->documents.count, &bundle) != NULL) {
        return 0; /* the embedded default need not be stored, and the shipped policy is there already */
    }
    for (uint32_t i = 0; i < bundle.count; i++) {
        if (bundle.documents[i].role == SBX_ROLE_POLICY) {
            int result = sbx_durable_file_write(store->folder, "safe", bundle.documents[i].bytes,
                                                bundle.documents[i].byte_count);
            if (result == 0) {
                memcpy(store->state.safe_hash, store->policy_hash, SBX_DIGEST_BYTES);
            }
            return result;
        }
    }
    return 0;
}
