/* SPDX-License-Identifier: Apache-2.0 */
/* recovery_place.c - uses folders by descriptor, temporary files by their lock, snapshots by their own header. */
#include "recovery_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "own_folder.h"
#include "raw_snapshot.h"
#include "recording_name.h"
#include "snapshot_copy.h"
#include "temporary_file.h"

uint64_t sbx_recovery_place_mark(const char *spool)
{
    struct stat status;
    int folder = sbx_own_folder_open(spool);
    uint64_t mark = folder >= 0 && fstat(folder, &status) == 0 ? sbx_spool_mark(&status) : 0;
    if (folder >= 0) {
        close(folder);
    }
    return mark;
}

bool sbx_recovery_place_is_denied(const char *spool)
{
    static const char yes[] = "granted\n"; /* as agent/shared/consent.c writes it */
    char text[16] = "";
    int folder = sbx_own_folder_open(spool);
    if (folder < 0) {
        return false; /* then nothing can be written there either */
    }
    int file = openat(folder, "consent", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    bool is_denied = file >= 0 || errno != ENOENT;
    if (file >= 0) {
        is_denied = read(file, text, sizeof text) != (ssize_t)sizeof yes - 1 || memcmp(text, yes, sizeof yes - 1) != 0;
        close(file);
    }
    close(folder);
    return is_denied;
}

int sbx_recovery_place_open(struct sbx_recovery_place *place)
{
    if (place->folder >= 0) {
        return 0;
    }
    int spool = sbx_own_folder_open_at(AT_FDCWD, place->spool, true);
    if (spool < 0) {
        return spool;
    }
    int folder = sbx_own_folder_open_at(spool, "raw", true);
    close(spool);
    place->folder = folder >= 0 ? folder : -1;
    return folder >= 0 ? 0 : folder;
}

void sbx_recovery_place_close(struct sbx_recovery_place *place)
{
    if (place->folder >= 0) {
        close(place->folder);
        place->folder = -1;
    }
}

/* Does the file's own header say that it is snapshot `id` of session `session_id`? A copy's header is written last, so
 * an incomplete file does not say so. */
static bool is_snapshot(int folder, const char *temporary, const uint8_t id[16], const uint8_t session_id[16])
{
    struct sbx_recording_header header;
    struct stat status;
    int file = openat(folder, temporary, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    bool is_it = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                 status.st_nlink == 1 && pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                 header.state == SBX_STATE_SNAPSHOT && memcmp(header.snapshot_id, id, 16) == 0 &&
                 memcmp(header.session_id, session_id, 16) == 0;
    close(file);
    return is_it;
}

/* A search through the temporary files of one snapshot: one of them at most gets its name, the others are removed. */
struct search {
    const struct sbx_recovery_place *place;
    const uint8_t *id, *session_id; /* session_id NULL: none gets a name */
    bool has_named;
    int error;
};

static void deal_with(struct search *search, const char *temporary, const char *name)
{
    int folder = search->place->folder;
    if (search->session_id != NULL && !search->has_named && search->error == 0 &&
        is_snapshot(folder, temporary, search->id, search->session_id)) {
        int result = sbx_raw_name_give(folder, temporary, name);
        search->has_named = result == 0;
        if (result == 0 || result != -EEXIST) {
            search->error = result;
            return;
        }
    }
    (void)sbx_temporary_sweep(folder, temporary); /* if this fails it stays; its name is not that of a snapshot */
}

static int search_temporaries(struct search *search)
{
    char name[SBX_RAW_NAME_BYTES], prefix[SBX_RAW_NAME_BYTES + 2];
    int again = openat(search->place->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = again >= 0 ? fdopendir(again) : NULL;
    if (listing == NULL) {
        int error = -errno;
        if (again >= 0) {
            close(again);
        }
        return error;
    }
    sbx_raw_name_print(search->id, name);
    int prefix_length = snprintf(prefix, sizeof prefix, ".%s-", name);
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        size_t length = strlen(entry->d_name);
        if (length > 4 && strncmp(entry->d_name, prefix, (size_t)prefix_length) == 0 &&
            strcmp(entry->d_name + length - 4, ".tmp") == 0) {
            deal_with(search, entry->d_name, name);
        }
    }
    closedir(listing);
    return search->error;
}

void sbx_recovery_place_sweep(const struct sbx_recovery_place *place, const uint8_t id[16])
{
    struct search search = {.place = place, .id = id};
    if (search_temporaries(&search) != 0) {
        return; /* they stay, and are removed when they are old */
    }
}

int sbx_recovery_place_name(const struct sbx_recovery_place *place, const uint8_t id[16], const uint8_t session_id[16],
                            bool *has_named_out)
{
    struct search search = {.place = place, .id = id, .session_id = session_id};
    int error = search_temporaries(&search);
    *has_named_out = search.has_named;
    return error != 0 ? error : fsync(place->folder) != 0 ? -errno : 0;
}

int sbx_recovery_place_write(const struct sbx_recovery_place *place, const struct sbx_recording_header *data,
                             const uint8_t id[16], const struct sbx_trigger_entry *trigger)
{
    char name[SBX_RAW_NAME_BYTES], temporary[SBX_TEMPORARY_NAME_BYTES];
    sbx_recovery_place_sweep(place, id);
    void *scratch = mmap(NULL, SBX_COPY_SCRATCH_MIN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (scratch == MAP_FAILED) {
        return -ENOMEM;
    }
    sbx_raw_name_print(id, name);
    int result = 0, file = sbx_temporary_create(place->folder, name, temporary);
    if (file < 0) {
        result = file;
        goto free_scratch;
    }
    result = sbx_snapshot_copy(data, file, trigger, id, sbx_now_ns(), scratch, SBX_COPY_SCRATCH_MIN);
    if (result == 0 && fsync(file) != 0) {
        result = -errno;
    }
    if (close(file) != 0 && result == 0) {
        result = -errno;
    }
    if (result != 0) {
        unlinkat(place->folder, temporary, 0);
    }
free_scratch:
    munmap(scratch, SBX_COPY_SCRATCH_MIN);
    return result;
}
