/* SPDX-License-Identifier: Apache-2.0 */
/* run_words.c - numbers into sentences. */
#include "run_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "family.h"

enum {
    WHY_BYTES = 4400 /* a path and some words */
};

const char *sbx_run_name(const char *program)
{
    const char *slash = strrchr(program, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : program;
}

const char *sbx_run_spool_remedy(int error)
{
    switch (error) {
    case -EMFILE:
        return "raise the limit on open files (ulimit -n)";
    case -ENFILE:
        return "raise the machine's limit on open files (sysctl fs.file-max)";
    default:
        return "name a folder of your own with --spool DIR";
    }
}

void sbx_run_tell_off(const char *program, const char *why, const char *remedy)
{
    fprintf(stderr, "stallbox run: nothing is recorded of %s: %s; %s\n", sbx_run_name(program), why, remedy);
}

/* Why a recorder could not start, and what mends it. */
static const char *explain(const struct sbx_run_told *told, int error, char why_out[WHY_BYTES])
{
    switch (error) {
    case ENOSPC:
        snprintf(why_out, WHY_BYTES, "there is no room for its recording in %s", told->recordings);
        return "make that file system larger (a container: --shm-size), or name another folder with "
               "STALLBOX_RECORDINGS";
    case EFBIG:
        snprintf(why_out, WHY_BYTES, "the limit on the size of files (ulimit -f) is smaller than its recording");
        return "raise the limit to 16 MiB";
    case ENOMEM:
    case EAGAIN:
        snprintf(why_out, WHY_BYTES, "there is no memory, or no thread, for its recorder");
        return "raise the limits on memory and processes (ulimit -v, ulimit -u)";
    default:
        snprintf(why_out, WHY_BYTES, "%s: %s", told->recordings, strerror(error));
        return "name another folder with STALLBOX_RECORDINGS";
    }
}

static bool is_switched_off(void)
{
    const char *off = getenv("STALLBOX_DISABLE");
    return off != NULL && off[0] != '\0' && strcmp(off, "0") != 0;
}

bool sbx_run_tell_state(const struct sbx_run_told *told, const struct sbx_roster *roster, bool has_ended)
{
    char why[WHY_BYTES];
    struct sbx_roster_process process = sbx_roster_process(roster, told->pid);
    switch (process.state) {
    case SBX_ROSTER_FAILED: {
        const char *remedy = explain(told, (int)(process.error & 0xfff), why);
        sbx_run_tell_off(told->program, why, remedy);
        return true;
    }
    case SBX_ROSTER_DECLINED:
        sbx_run_tell_off(told->program, "it locks its memory (mlockall), and has a small limit for that",
                         "raise the limit (ulimit -l)");
        return true;
    case SBX_ROSTER_LEFT:
        if (has_ended && !told->is_quiet) {
            fprintf(stderr,
                    "stallbox run: recording of %s ended when the program entered a sandbox, or another user or mount "
                    "namespace (docs/SANDBOXES.md)\n",
                    sbx_run_name(told->program));
        }
        return has_ended;
    case SBX_ROSTER_UNTOLD:
        if (has_ended && !is_switched_off()) {
            sbx_run_tell_off(
                told->program, "the recorder is not loaded into it",
                "a static or set-user-id program, one of another C library, one under Valgrind, and one with an "
                "allocator of its own that ends before it waits, are not recorded (docs/LIMITS.md)");
        }
        return has_ended;
    default:
        return false;
    }
}

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

static void tell_stalls(const struct sbx_run_told *told, const struct sbx_snapshot_fates *fates)
{
    uint32_t recorded = fates->made - fates->withheld;
    if (fates->withheld != 0) {
        fprintf(stderr, "stallbox run: %u stall%s not kept: the policy, or the user, says so\n", fates->withheld,
                fates->withheld == 1 ? " was" : "s were");
    }
    if (recorded == 0) {
        return;
    }
    fprintf(stderr, "stallbox run: %u stall%s recorded", recorded, plural(recorded));
    if (told->server_url != NULL) {
        fprintf(stderr, ", %u delivered to %s, %u waiting", fates->delivered, told->server_url,
                fates->waiting + fates->raw);
        if (fates->bad != 0) {
            fprintf(stderr, ", %u unreadable or refused", fates->bad);
        }
        if (fates->gone != 0) {
            fprintf(stderr, ", %u removed unsent", fates->gone);
        }
        if (fates->older != 0) {
            fprintf(stderr, ", %u older ones", fates->older);
        }
    }
    fprintf(stderr, "; see: stallbox report %s", told->spool);
    if (fates->unkept != 0) {
        fprintf(stderr, " (without %u that were delivered and are not kept here)", fates->unkept);
    }
    fputc('\n', stderr);
}

/* What keeps payloads here, when some of them wait. */
static void tell_delivery(const struct sbx_run_told *told, const struct sbx_snapshot_fates *fates)
{
    if (told->server_url != NULL && told->server_error[0] != '\0' && fates->waiting + fates->bad != 0) {
        fprintf(stderr, "stallbox run: not delivered: %s\n", told->server_error);
    }
}

/* What a look at the recording would not show: that there was nothing to be judged, and who was not recorded. */
static void tell_gaps(const struct sbx_run_told *told, const struct sbx_snapshot_fates *fates,
                      const struct sbx_roster *roster)
{
    struct sbx_roster_process process = sbx_roster_process(roster, told->pid);
    bool could_stall = told->judged_ms != 0 && told->lived_ms >= told->judged_ms && fates->made == 0;
    if (process.state == SBX_ROSTER_RECORDS && process.has_loop == 0 && roster->has_worker_loop == 0 && could_stall) {
        fprintf(stderr,
                "stallbox run: no message loop was found in the main thread of %s, and no thread that answers clients: "
                "only its "
                "crashes are reported (docs/LIMITS.md)\n",
                sbx_run_name(told->program));
    }
    if (roster->forked != 0) {
        fprintf(stderr, "stallbox run: %u forked child%s %s not recorded, or only at times (docs/LIMITS.md)",
                roster->forked, roster->forked == 1 ? "" : "ren", roster->forked == 1 ? "was" : "were");
        if (roster->put_off != 0) {
            fprintf(stderr, "; %u of them because so many end soon that their starts would exceed the CPU budget",
                    roster->put_off);
        }
        fputc('\n', stderr);
    }
    uint32_t others = roster->failed - (process.state == SBX_ROSTER_FAILED && roster->failed != 0);
    if (others != 0) {
        char why[WHY_BYTES];
        const char *remedy = explain(told, (int)(roster->last_error & 0xfff), why);
        fprintf(stderr, "stallbox run: %u more program%s not recorded: %s; %s\n", others,
                others == 1 ? " was" : "s were", why, remedy);
    }
    if (roster->left_out != 0) {
        fprintf(stderr,
                "stallbox run: %u more stall%s not kept: at most one snapshot of a kind is made in so short a time",
                roster->left_out, roster->left_out == 1 ? " was" : "s were");
        if (roster->workers != 0) {
            fprintf(stderr, ", and %d a minute of all forked children of a program together",
                    SBX_FAMILY_SNAPSHOTS_A_MINUTE);
        }
        fputc('\n', stderr);
    }
}

void sbx_run_tell_end(const struct sbx_run_told *told, const struct sbx_roster *roster,
                      const struct sbx_snapshot_fates *fates)
{
    if (!told->is_quiet) {
        tell_stalls(told, fates);
    }
    tell_delivery(told, fates);
    if (!told->is_quiet) {
        tell_gaps(told, fates, roster);
    }
}

void sbx_run_tell_stay(const char *program, bool is_quiet, int result)
{
    if (result != 0) {
        fprintf(stderr,
                "stallbox run: processes that %s started go on, without a companion for their recordings: %s; run "
                "`stallbox deliver` for their spool\n",
                sbx_run_name(program), strerror(-result));
    } else if (!is_quiet) {
        fprintf(stderr,
                "stallbox run: processes that %s started go on; recording goes on in the background until they end\n",
                sbx_run_name(program));
    }
}

void sbx_run_tell_failures(const struct sbx_handover_counts *counts)
{
    if (counts->failed != 0) {
        fprintf(stderr, "stallbox run: %llu snapshot%s could not be written: %s\n", (unsigned long long)counts->failed,
                counts->failed == 1 ? "" : "s",
                counts->last_error == ETIME ? "not in time" : strerror(counts->last_error));
    }
}

void sbx_run_tell_courier(const char *spool, const struct sbx_courier_counts *counts)
{
    if (counts->unreadable != 0) {
        fprintf(stderr, "stallbox run: %llu snapshots could not be encoded; they are in %s/bad\n",
                (unsigned long long)counts->unreadable, spool);
    }
    if (counts->unsealed != 0) {
        fprintf(stderr, "stallbox run: %llu snapshots wait in %s/raw: sealing is demanded and no key holds now\n",
                (unsigned long long)counts->unsealed, spool);
    }
    if (counts->expired != 0) {
        fprintf(stderr, "stallbox run: %s: %llu waited too long and were removed unsent\n", spool,
                (unsigned long long)counts->expired);
    }
}
