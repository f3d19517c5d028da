/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - makes ID.sbx from raw/NAME.raw. */
#include "pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit.h"
#include "durable_file.h"
#include "encode.h"
#include "identity.h"
#include "snapshot.h"
#include "names.h"
#include "spool_ages.h"
#include "spool_folders.h"
#include "raw_snapshot.h"
#include "stall_sampling.h"

enum {
    RAW_BYTES_MAX = 256 << 20
}; /* many times the size of the largest recording */

static void report(const struct sbx_spool *spool, const char *name, const char *reason, struct sbx_pack_counts *counts)
{
    snprintf(counts->why, sizeof counts->why, "%.100s/raw/%.80s: %.120s", spool->path, name, reason);
}

/* Returns the module of the program itself. NULL: it has no identity, so the names of its messages cannot be attributed
 * to it. */
static const struct sbx_module_entry *app_of(const struct sbx_snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot->module_count; i++) {
        if ((snapshot->modules[i].flags & SBX_MODULE_MAIN) != 0 && snapshot->modules[i].build_id_bytes != 0) {
            return &snapshot->modules[i];
        }
    }
    return NULL;
}

/* A hint for `stallbox report`, which otherwise searches for modules. So errors are not passed on. */
static void note_modules(struct sbx_spool *spool, const struct sbx_snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot->module_count; i++) {
        const struct sbx_module_entry *module = &snapshot->modules[i];
        if (module->build_id_bytes != 0 && module->build_id_bytes <= SBX_BUILD_ID_MAX && module->path[0] == '/' &&
            sbx_spool_note_module(spool, module->build_id, module->build_id_bytes, module->path) == -ENOMEM) {
            return;
        }
    }
    for (uint32_t i = 0; i < snapshot->watch_count; i++) {
        if (sbx_spool_note_watch(spool, snapshot->watches[i].what, snapshot->watches[i].name) == -ENOMEM) {
            return;
        }
    }
    char app_name[SBX_APP_NAME_MAX + 1] = "";
    memcpy(app_name, snapshot->header.app_name, SBX_APP_NAME_MAX);
    if (app_name[0] != '\0' && sbx_spool_note_watch(spool, sbx_app_what(app_name), app_name) == -ENOMEM) {
        return;
    }
    const struct sbx_module_entry *app = app_of(snapshot);
    for (uint32_t i = 1; i < snapshot->kind_count && app != NULL; i++) {
        uint64_t what = sbx_message_kind_what(app->build_id, app->build_id_bytes, i);
        if (snapshot->kinds[i].name[0] != 0 && sbx_spool_note_watch(spool, what, snapshot->kinds[i].name) == -ENOMEM) {
            return;
        }
    }
    for (uint32_t i = 1; i < snapshot->scene_count && app != NULL; i++) {
        uint64_t what = sbx_scene_what(app->build_id, app->build_id_bytes, i);
        const char *name = snapshot->scenes[i].name;
        if (name[0] != 0 && sbx_spool_note_watch(spool, what, name) == -ENOMEM) {
            return;
        }
    }
    if (sbx_spool_save_modules(spool) != 0) {
        return; /* they stay noted: the next snapshot saves them */
    }
}

/* May the snapshot be sent, and for how many does it stand? *sampled_out is untouched if there is no sampling. Returns
 * 0 or -errno. */
static int ask_gate(const struct sbx_spool *spool, const struct sbx_snapshot *snapshot,
                    const struct sbx_delivery_gate *gate, bool *withheld_out, struct sbx_sampled *sampled_out)
{
    enum sbx_stall_fate fate = SBX_FATE_TOLD;
    struct sbx_delivery_terms terms;
    *withheld_out = false;
    if (gate == NULL) {
        return 0;
    }
    if (gate->terms == NULL) {
        *withheld_out = !gate->may_pack(gate->context, snapshot->header.trigger.kind);
        return 0;
    }
    gate->terms(gate->context, &terms);
    int result = sbx_stall_sampling_decide(spool->root, snapshot, &terms.sampling, gate, &fate, sampled_out);
    *withheld_out = fate != SBX_FATE_TOLD;
    return result;
}

/* The end of a stall may be sent if the stall itself was, and not before it. If sampling or a budget held back the
 * stall, its end is not sent either. The end is not counted as a snapshot, because it is part of one that was counted.
 * Returns 0 or -errno; -EAGAIN: not decided yet. */
static int ask_gate_of_end(const struct sbx_spool *spool, const struct sbx_snapshot *snapshot,
                           const struct sbx_delivery_gate *gate, uint32_t detail_level, bool *withheld_out)
{
    const uint8_t *first_id = snapshot->header.trigger.first_id;
    char name[SBX_RAW_NAME_BYTES];
    sbx_raw_name_print(first_id, name);
    *withheld_out = detail_level == 0;
    if (faccessat(spool->raw, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        return -EAGAIN;
    }
    if (gate == NULL || *withheld_out) {
        return 0;
    }
    if (gate->terms == NULL) {
        *withheld_out = !gate->may_pack(gate->context, SBX_TRIGGER_END);
        return 0;
    }
    enum sbx_stall_fate fate = SBX_FATE_UNKNOWN;
    int result = sbx_stall_sampling_recall(spool->root, first_id, &fate);
    *withheld_out = fate == SBX_FATE_THINNED || fate == SBX_FATE_WITHHELD;
    return result;
}

/* Seals a plain envelope if this is required, notes in the audit log what was made of the snapshot, and puts the
 * envelope into the spool. */
static int put(struct sbx_spool *spool, struct sbx_sealer *sealer, const uint8_t *id, const uint8_t *plain,
               size_t plain_bytes, size_t raw_bytes, char *why, size_t why_bytes)
{
    const uint8_t *envelope = plain;
    size_t bytes = plain_bytes;
    uint8_t *sealed = NULL;
    int result = 0;
    if (sealer != NULL) {
        result = sbx_sealer_seal(sealer, plain, plain_bytes, &sealed, &bytes, why, why_bytes);
        envelope = sealed;
    }
    if (result == 0) {
        result = sbx_audit_packed(spool, plain, plain_bytes, envelope, bytes, raw_bytes);
        if (result == 0) {
            result = sbx_spool_put(spool, id, envelope, bytes);
        }
        if (result != 0) {
            snprintf(why, why_bytes, "cannot write the payload: %s", strerror(-result));
        }
    }
    free(sealed);
    return result;
}

/* The result for a snapshot that could be packed. */
enum outcome {
    PACKED,
    PACKED_END, /* it contains the end of a stall */
    WITHHELD
};

/* Makes a durable payload from the bytes of one snapshot. Returns 0, or -errno with `why`. */
static int pack_bytes(struct sbx_spool *spool, const struct sbx_redaction *redaction,
                      const struct sbx_delivery_gate *gate, struct sbx_sealer *sealer, const uint8_t *raw,
                      size_t raw_bytes, enum outcome *outcome_out, char *why, size_t why_bytes)
{
    struct sbx_snapshot *snapshot;
    bool is_sealing = sealer != NULL && sbx_sealer_is_demanded(sealer);
    /* Checked first. The gate would count the snapshot at each try, so it must come later. */
    int result = is_sealing ? sbx_sealer_check(sealer, why, why_bytes) : 0;
    if (result == 0) {
        result = sbx_snapshot_read(raw, raw_bytes, &snapshot, why, why_bytes);
    }
    if (result != 0) {
        return result;
    }
    struct sbx_sampled sampled = {0, 0};
    bool is_end = snapshot->header.trigger.kind == SBX_TRIGGER_END, is_withheld;
    result = is_end ? ask_gate_of_end(spool, snapshot, gate, redaction->detail_level, &is_withheld)
                    : ask_gate(spool, snapshot, gate, &is_withheld, &sampled);
    *outcome_out = is_withheld ? WITHHELD : is_end ? PACKED_END : PACKED;
    if (result != 0 || is_withheld) {
        snprintf(why, why_bytes, "whether it is sent cannot be decided: %s", strerror(-result));
        sbx_snapshot_destroy(snapshot);
        return result;
    }
    uint8_t *envelope;
    size_t bytes;
    /* No payload is made without an id that a request for deletion can name. */
    struct sbx_redaction own = *redaction;
    time_t now = time(NULL);
    result = sbx_identity_rotating_id(spool, (uint32_t)(now > 0 ? now / 86400 / SBX_ROTATING_PERIOD_DAYS : 0),
                                      own.rotating_id);
    own.has_rotating_id = true;
    if (result != 0) {
        snprintf(why, why_bytes, "SPOOL/identity: %s", strerror(-result));
        sbx_snapshot_destroy(snapshot);
        return result;
    }
    result =
        sbx_encode_sampled(snapshot, &own, sampled.weight != 0 ? &sampled : NULL, &envelope, &bytes, why, why_bytes);
    if (result == 0) {
        result = put(spool, is_sealing ? sealer : NULL, snapshot->header.snapshot_id, envelope, bytes, raw_bytes, why,
                     why_bytes);
        free(envelope);
        if (result == 0) {
            note_modules(spool, snapshot);
        }
    }
    sbx_snapshot_destroy(snapshot);
    return result;
}

/* Will the same bytes always fail again? */
static bool is_final(int result)
{
    return result == -EINVAL || result == -EPROTO || result == -EPERM || result == -E2BIG || result == -EFBIG ||
           result == -EOVERFLOW;
}

static void pack_one(struct sbx_spool *spool, const struct sbx_redaction *redaction,
                     const struct sbx_delivery_gate *gate, struct sbx_sealer *sealer, const char *name,
                     struct sbx_pack_counts *counts)
{
    enum outcome outcome = PACKED;
    char why[200] = "";
    uint8_t *raw;
    size_t raw_bytes;
    int result = sbx_durable_file_read(spool->raw, name, RAW_BYTES_MAX, &raw, &raw_bytes);
    if (result == -ENOENT) {
        return; /* another process has packed it */
    }
    if (result != 0) {
        snprintf(why, sizeof why, "%s", strerror(-result));
    } else {
        result = pack_bytes(spool, redaction, gate, sealer, raw, raw_bytes, &outcome, why, sizeof why);
        free(raw);
    }
    if (result == 0) {
        counts->withheld += outcome == WITHHELD;
        counts->packed += outcome == PACKED;
        counts->ends += outcome == PACKED_END;
        if (unlinkat(spool->raw, name, 0) != 0 && errno != ENOENT) {
            report(spool, name, strerror(errno), counts); /* it will be packed again, into the same payload */
        }
        return;
    }
    if (result == -EAGAIN) {
        counts->later++;
        counts->early++;
        return;
    }
    report(spool, name, why, counts);
    if (is_final(result) && sbx_spool_move_to_bad(spool, spool->raw, name) == 0) {
        counts->unreadable++;
    } else {
        counts->later++;
        counts->unsealed += result == -ENOKEY;
    }
}

/* Sets the spool's limits for the next payloads. The process that packs also puts payloads, so it applies the
 * limits. */
static void take_limits(struct sbx_spool *spool, const struct sbx_delivery_gate *gate)
{
    struct sbx_delivery_terms terms;
    if (gate != NULL && gate->terms != NULL) {
        gate->terms(gate->context, &terms);
        spool->limits.bytes_max = (uint64_t)terms.spool_kib * 1024u;
        spool->limits.files_max = terms.spool_files;
        spool->limits.hours_max = terms.spool_hours;
    }
}

/* Removes what has waited for too long, even if it could not have been packed or sent now. */
static void drop_what_is_old(struct sbx_spool *spool, struct sbx_pack_counts *counts)
{
    struct sbx_delivery_now now;
    sbx_delivery_now_read(&now);
    int gone = sbx_spool_ages_look(spool, &now);
    if (gone > 0) {
        counts->expired = (uint32_t)gone;
        if (sbx_audit_expired(spool, (unsigned)gone, spool->limits.hours_max) != 0) {
            /* Their absence from the spool shows that they are gone. */
        }
    }
}

static bool is_raw_name(const char *name)
{
    size_t length = strlen(name), suffix = sizeof SBX_RAW_SUFFIX - 1;
    return name[0] != '.' && length > suffix && strcmp(name + length - suffix, SBX_RAW_SUFFIX) == 0;
}

/* Packs everything in raw/, in the order of the folder. */
static int pack_all(struct sbx_spool *spool, const struct sbx_redaction *redaction,
                    const struct sbx_delivery_gate *gate, struct sbx_sealer *sealer, struct sbx_pack_counts *counts_out)
{
    DIR *listing;
    int result = sbx_spool_list(spool->raw, &listing);
    if (result != 0) {
        return result;
    }
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(listing);
        if (entry == NULL) {
            result = -errno;
            break;
        }
        struct stat status;
        if (is_raw_name(entry->d_name) && fstatat(spool->raw, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode)) {
            if (!sbx_spool_is_denied(spool)) { /* after a no, even just now, older snapshots are removed unread */
                pack_one(spool, redaction, gate, sealer, entry->d_name, counts_out);
            } else if (unlinkat(spool->raw, entry->d_name, 0) != 0 && errno != ENOENT) {
                report(spool, entry->d_name, strerror(errno), counts_out);
            }
        }
    }
    closedir(listing);
    return result;
}

int sbx_pack_raw_folder(struct sbx_spool *spool, const struct sbx_redaction *redaction,
                        const struct sbx_delivery_gate *gate, struct sbx_sealer *sealer,
                        struct sbx_pack_counts *counts_out)
{
    *counts_out = (struct sbx_pack_counts){.packed = 0};
    take_limits(spool, gate);
    drop_what_is_old(spool, counts_out);
    int result = pack_all(spool, redaction, gate, sealer, counts_out);
    if (result == 0 && counts_out->early != 0) { /* the end of a stall came before the stall itself */
        counts_out->later = counts_out->unsealed = counts_out->early = 0;
        result = pack_all(spool, redaction, gate, sealer, counts_out);
    }
    /* A process that stores the user's no writes the word first and then deletes. So it deletes a payload that was put
     * meanwhile, or the word is found here. */
    (void)sbx_spool_empty_when_refused(spool);
    return result;
}
