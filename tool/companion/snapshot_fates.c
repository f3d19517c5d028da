/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_fates.c - looks in the folders first, in the order in which files move, and then in the audit log. */
#include "snapshot_fates.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit.h"

enum {
    ID_TEXT_BYTES = 2 * SBX_ROSTER_ID_BYTES + 1
};

static void print_id(const uint8_t id[SBX_ROSTER_ID_BYTES], char text_out[ID_TEXT_BYTES])
{
    for (unsigned i = 0; i < SBX_ROSTER_ID_BYTES; i++) {
        snprintf(text_out + (size_t)2 * i, 3, "%02x", id[i]);
    }
}

static bool is_there(int spool, const char *folder, const char *id, const char *suffix)
{
    char path[96];
    struct stat status;
    snprintf(path, sizeof path, "%s%s%s", folder, id, suffix);
    return fstatat(spool, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Count a snapshot by the folder of its file. False: there is no file. */
static bool count_by_folder(int spool, const char *id, struct sbx_snapshot_fates *fates)
{
    if (is_there(spool, "raw/", id, ".raw")) {
        fates->raw++;
    } else if (is_there(spool, "", id, ".sbx")) {
        fates->waiting++;
    } else if (is_there(spool, "sent/", id, ".sbx")) {
        fates->delivered++;
    } else if (is_there(spool, "bad/", id, ".sbx") || is_there(spool, "bad/", id, ".raw")) {
        fates->bad++;
    } else {
        return false;
    }
    return true;
}

/* Snapshots without a file, and what the log says about each. */
struct gone {
    uint32_t count;
    char ids[SBX_ROSTER_IDS][ID_TEXT_BYTES];
    bool was_packed[SBX_ROSTER_IDS], was_stored[SBX_ROSTER_IDS];
};

static int read_line(void *context, const char *line)
{
    struct gone *gone = context;
    char id[ID_TEXT_BYTES], answer[16];
    sbx_audit_value(line, "id", id, sizeof id);
    sbx_audit_value(line, "answer", answer, sizeof answer);
    for (uint32_t i = 0; i < gone->count; i++) {
        if (strcmp(gone->ids[i], id) == 0) {
            gone->was_packed[i] = true;
            gone->was_stored[i] |= strcmp(answer, "stored") == 0;
        }
    }
    return 0;
}

void sbx_snapshot_fates_find(const char *spool_path, const struct sbx_roster *roster,
                             struct sbx_snapshot_fates *fates_out)
{
    static const uint8_t none[SBX_ROSTER_ID_BYTES];
    static struct gone gone;
    memset(fates_out, 0, sizeof *fates_out);
    gone.count = 0;
    uint32_t known = roster->snapshots < SBX_ROSTER_IDS ? roster->snapshots : SBX_ROSTER_IDS;
    int spool = open(spool_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (uint32_t i = 0; i < known; i++) {
        char id[ID_TEXT_BYTES];
        print_id(roster->ids[i], id);
        if (memcmp(roster->ids[i], none, sizeof none) == 0) { /* its writer was killed meanwhile */
            fates_out->withheld++;
        } else if (spool < 0 || (!count_by_folder(spool, id, fates_out) && !count_by_folder(spool, id, fates_out))) {
            gone.was_packed[gone.count] = gone.was_stored[gone.count] = false;
            memcpy(gone.ids[gone.count++], id, sizeof id);
        }
    }
    if (spool >= 0 && gone.count != 0) {
        (void)sbx_audit_each(spool, read_line, &gone);
    }
    for (uint32_t i = 0; i < gone.count; i++) {
        fates_out->delivered += gone.was_stored[i];
        fates_out->unkept += gone.was_stored[i];
        fates_out->gone += gone.was_packed[i] && !gone.was_stored[i];
        fates_out->withheld += !gone.was_packed[i];
    }
    if (spool >= 0) {
        close(spool);
    }
    fates_out->older = roster->snapshots - known;
    fates_out->made = roster->snapshots;
}
