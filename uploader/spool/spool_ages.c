/* SPDX-License-Identifier: Apache-2.0 */
/* spool_ages.c - checks four folders once an hour. */
#include "spool_ages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "durable_file.h"
#include "recording_format.h"
#include "spool_folders.h"

static const char ages_name[] = ".ages";
static const char *const folder_names[] = {".", "raw", "sent", "bad"};

enum {
    FOLDERS = 4,
    FOLDERS_UNSENT = 2, /* the first two contain files that were not sent yet */
};
static const uint64_t hour_ms = 3600000;

uint64_t sbx_spool_time_passed_ms(const struct sbx_delivery_now *before, const struct sbx_delivery_now *now,
                                  uint64_t limit_ms)
{
    if (before->boot_id[0] != '\0' && strcmp(before->boot_id, now->boot_id) == 0) {
        return now->boot_ms > before->boot_ms ? now->boot_ms - before->boot_ms : 0;
    }
    uint64_t passed_ms = now->wall_ms > before->wall_ms ? now->wall_ms - before->wall_ms : 0;
    return passed_ms < limit_ms / 2 ? passed_ms : limit_ms / 2;
}

/* ---- the text ---- */

static int folder_of(const char *name)
{
    for (int i = 0; i < FOLDERS; i++) {
        if (strcmp(name, folder_names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

void sbx_spool_ages_parse(char *text, struct sbx_spool_ages *ages)
{
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        char folder[8];
        struct sbx_spool_age age;
        if (sscanf(line, "stallbox-ages 1 %36s %" SCNu64 " %" SCNu64, ages->at.boot_id, &ages->at.boot_ms,
                   &ages->at.wall_ms) == 3) {
            ages->at.boot_id[strspn(ages->at.boot_id, "0123456789abcdef-")] = '\0';
            ages->is_known = true;
        } else if (ages->count < SBX_SPOOL_AGES_MAX &&
                   sscanf(line, "%7s %63s %" SCNu64, folder, age.name, &age.age_s) == 3 &&
                   (age.folder = folder_of(folder)) >= 0 && age.age_s <= SBX_SPOOL_HOURS_MAX * 3600u + 1) {
            ages->kept[ages->count++] = age;
        }
    }
}

static int read_ages(const struct sbx_spool *spool, struct sbx_spool_ages *ages)
{
    uint8_t *bytes;
    size_t count;
    int result = sbx_durable_file_read(spool->root, ages_name, SBX_SPOOL_AGES_BYTES_MAX, &bytes, &count);
    if (result != 0) {
        return result == -ENOMEM ? result : 0; /* after any other error, there is no earlier text that can be trusted */
    }
    char *text = realloc(bytes, count + 1);
    if (text == NULL) {
        free(bytes);
        return -ENOMEM;
    }
    text[count] = '\0';
    sbx_spool_ages_parse(text, ages);
    free(text);
    return 0;
}

size_t sbx_spool_ages_print(const struct sbx_spool_ages *ages, char *text_out)
{
    size_t at =
        (size_t)snprintf(text_out, SBX_SPOOL_AGES_BYTES_MAX, "stallbox-ages 1 %s %" PRIu64 " %" PRIu64 "\n",
                         ages->at.boot_id[0] != '\0' ? ages->at.boot_id : "-", ages->at.boot_ms, ages->at.wall_ms);
    for (size_t i = 0; i < ages->count; i++) {
        const struct sbx_spool_age *age = &ages->kept[i];
        at += (size_t)snprintf(text_out + at, SBX_SPOOL_AGES_BYTES_MAX - at, "%s %s %" PRIu64 "\n",
                               folder_names[age->folder], age->name, age->age_s);
    }
    return at;
}

static int write_ages(const struct sbx_spool *spool, const struct sbx_spool_ages *ages)
{
    if (ages->count == 0) {
        return unlinkat(spool->root, ages_name, 0) == 0 || errno == ENOENT ? 0 : -errno;
    }
    char *text = malloc(SBX_SPOOL_AGES_BYTES_MAX);
    if (text == NULL) {
        return -ENOMEM;
    }
    int result = sbx_durable_file_write(spool->root, ages_name, text, sbx_spool_ages_print(ages, text));
    free(text);
    return result;
}

/* ---- the check ---- */

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), suffix_length = strlen(suffix);
    return length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

static const struct sbx_spool_age *find(const struct sbx_spool_ages *ages, int folder, const char *name)
{
    for (size_t i = 0; i < ages->count; i++) {
        if (ages->kept[i].folder == folder && strcmp(ages->kept[i].name, name) == 0) {
            return &ages->kept[i];
        }
    }
    return NULL;
}

/* The age of a file that was not checked before is that of its time stamp, within limits. */
static uint64_t first_age_ms(const struct stat *status, const struct sbx_delivery_now *now, uint64_t limit_ms)
{
    struct sbx_delivery_now made = {.boot_id = ""};
    made.wall_ms = status->st_mtim.tv_sec > 0 ? (uint64_t)status->st_mtim.tv_sec * 1000u : now->wall_ms;
    return sbx_spool_time_passed_ms(&made, now, limit_ms);
}

/* Checks one folder. Files that are too old are removed, the others are added to `after`. Returns how many were
 * removed, or -errno. */
static int look_at(int descriptor, int folder, const struct sbx_spool_ages *before, const struct sbx_delivery_now *now,
                   uint64_t limit_ms, struct sbx_spool_ages *after)
{
    DIR *listing;
    int gone = 0, result = sbx_spool_list(descriptor, &listing);
    if (result != 0) {
        return result;
    }
    uint64_t passed_ms = before->is_known ? sbx_spool_time_passed_ms(&before->at, now, limit_ms) : 0;
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        struct stat status;
        const char *name = entry->d_name;
        bool is_ours = ends_with(name, SBX_ENVELOPE_SUFFIX) || ends_with(name, SBX_RAW_SUFFIX);
        if (name[0] == '.' || !is_ours || strlen(name) >= SBX_SPOOL_AGE_NAME_BYTES ||
            strpbrk(name, " \t\n\v\f\r") != NULL || fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode)) {
            continue;
        }
        const struct sbx_spool_age *known = find(before, folder, name);
        uint64_t age_ms = known != NULL ? known->age_s * 1000u + passed_ms : first_age_ms(&status, now, limit_ms);
        if (age_ms > limit_ms) {
            gone += unlinkat(descriptor, name, 0) == 0;
        } else if (after->count < SBX_SPOOL_AGES_MAX) {
            struct sbx_spool_age *age = &after->kept[after->count++];
            age->folder = folder;
            age->age_s = (age_ms + 999) / 1000; /* rounded up: the times between frequent checks must not add up to 0 */
            strcpy(age->name, name);
        }
    }
    closedir(listing);
    if (gone != 0 && fsync(descriptor) != 0) {
        return -errno;
    }
    return gone;
}

int sbx_spool_ages_look(struct sbx_spool *spool, const struct sbx_delivery_now *now)
{
    uint32_t hours = spool->limits.hours_max < SBX_SPOOL_HOURS_MAX ? spool->limits.hours_max : SBX_SPOOL_HOURS_MAX;
    uint64_t limit_ms = hours * hour_ms, pause_ms = limit_ms / 4 < hour_ms ? limit_ms / 4 : hour_ms;
    const int descriptors[FOLDERS] = {spool->root, spool->raw, spool->sent, spool->bad};
    struct sbx_spool_ages *before = calloc(1, sizeof *before), *after = calloc(1, sizeof *after);
    int result = before == NULL || after == NULL ? -ENOMEM : read_ages(spool, before), unsent = 0;
    bool is_early = result == 0 && before->is_known && before->at.boot_id[0] != '\0' &&
                    strcmp(before->at.boot_id, now->boot_id) == 0 && now->boot_ms >= before->at.boot_ms &&
                    now->boot_ms - before->at.boot_ms < pause_ms;
    if (result == 0 && !is_early) {
        after->at = *now;
        for (int i = 0; i < FOLDERS && result >= 0; i++) {
            result = look_at(descriptors[i], i, before, now, limit_ms, after);
            unsent += result > 0 && i < FOLDERS_UNSENT ? result : 0;
        }
        spool->dropped += (uint64_t)unsent;
        result = result < 0 ? result : write_ages(spool, after);
    }
    free(before);
    free(after);
    return result < 0 ? result : unsent;
}
