/* SPDX-License-Identifier: Apache-2.0 */
/* consent.c - the user's answer about recording, as a file in the spool. */
#include "consent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "folder_list.h"
#include "own_folder.h"
#include "recording_file.h"
#include "temporary_file.h"

static const char granted[] = "granted\n", denied[] = "denied\n";

enum sbx_consent sbx_consent_read(const char *spool_path)
{
    char text[16] = "";
    int folder = sbx_believed_folder_open(spool_path);
    if (folder < 0) { /* without access: unknown; a folder that others may write to: no */
        return folder == -ENOENT || folder == -EACCES ? SBX_CONSENT_UNKNOWN : SBX_CONSENT_DENIED;
    }
    int file = openat(folder, SBX_CONSENT_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    enum sbx_consent consent = errno == ENOENT ? SBX_CONSENT_UNKNOWN : SBX_CONSENT_DENIED;
    if (file >= 0) {
        ssize_t got = read(file, text, sizeof text);
        bool is_yes = got == (ssize_t)sizeof granted - 1 && memcmp(text, granted, sizeof granted - 1) == 0;
        consent = is_yes ? SBX_CONSENT_GRANTED : SBX_CONSENT_DENIED;
        close(file);
    }
    close(folder);
    return consent;
}

bool sbx_consent_look(const char *spool_path, enum sbx_consent *said_out, bool *in_words_out)
{
    char text[16] = "";
    int folder = sbx_believed_folder_open(spool_path);
    int file = folder < 0 ? -1 : openat(folder, SBX_CONSENT_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t got = file < 0 ? -1 : read(file, text, sizeof text);
    if (file >= 0) {
        close(file);
    }
    if (folder >= 0) {
        close(folder);
    }
    bool is_yes = got == (ssize_t)sizeof granted - 1 && memcmp(text, granted, sizeof granted - 1) == 0;
    bool is_no = got == (ssize_t)sizeof denied - 1 && memcmp(text, denied, sizeof denied - 1) == 0;
    *said_out = is_yes ? SBX_CONSENT_GRANTED : SBX_CONSENT_DENIED;
    *in_words_out = is_yes || is_no;
    return got >= 0;
}

/* Writes the whole file or nothing: a temporary file is written, synced and renamed. */
static int write_file(int folder, const char *text)
{
    char temporary[SBX_TEMPORARY_NAME_BYTES];
    int file = sbx_temporary_create(folder, SBX_CONSENT_FILE, temporary);
    if (file < 0) {
        return file;
    }
    ssize_t wrote = write(file, text, strlen(text));
    int result = wrote == (ssize_t)strlen(text) ? 0 : wrote < 0 ? -errno : -ENOSPC;
    if (result == 0 && fsync(file) != 0) {
        result = -errno;
    }
    if (result == 0 && renameat(folder, temporary, folder, SBX_CONSENT_FILE) != 0) {
        result = -errno;
    }
    close(file); /* this also drops the lock, which is not needed after the rename */
    if (result != 0) {
        unlinkat(folder, temporary, 0);
    }
    return result;
}

/* Renames the secret from which rotating ids are made. The new name says that the payloads of this secret must be
 * deleted: the delivery asks the server to do so (uploader/delivery/identity.h). A later yes begins with a new
 * secret. */
static int put_identity_aside(int folder)
{
    char name[40];
    uint32_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) {
        random = (uint32_t)getpid(); /* any unused name will do */
    }
    snprintf(name, sizeof name, SBX_IDENTITY_FILE ".%08x" SBX_ERASE_SUFFIX, random);
    return renameat(folder, SBX_IDENTITY_FILE, folder, name) == 0 || errno == ENOENT ? 0 : -errno;
}

int sbx_consent_write(const char *spool_path, enum sbx_consent consent)
{
    int folder = sbx_own_folder_make(spool_path);
    if (folder < 0) {
        return folder;
    }
    int result = 0;
    if (consent != SBX_CONSENT_UNKNOWN) {
        result = write_file(folder, consent == SBX_CONSENT_GRANTED ? granted : denied);
    } else if (unlinkat(folder, SBX_CONSENT_FILE, 0) != 0 && errno != ENOENT) {
        result = -errno;
    }
    if (consent == SBX_CONSENT_DENIED) { /* after the answer is written: nothing is packed any more */
        int aside = put_identity_aside(folder);
        result = result != 0 ? result : aside;
    }
    if (result == 0 && fsync(folder) != 0) {
        result = -errno;
    }
    close(folder);
    return result;
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t bytes = strlen(name), suffix_bytes = strlen(suffix);
    return bytes > suffix_bytes && strcmp(name + bytes - suffix_bytes, suffix) == 0;
}

/* Payloads, snapshots, and temporary files of both. */
static bool is_unsent(const char *name)
{
    return ends_with(name, ".sbx") || ends_with(name, SBX_RAW_SUFFIX) || (name[0] == '.' && ends_with(name, ".tmp"));
}

/* Delete those in a listing. Returns 0 or the first -errno. */
static int delete_listed(int folder, const uint8_t *listing, long bytes)
{
    int result = 0;
    for (long at = 0; at < bytes;) {
        const char *name = sbx_folder_list_next(listing, &at);
        if (is_unsent(name) && unlinkat(folder, name, 0) != 0 && errno != ENOENT && result == 0) {
            result = -errno;
        }
    }
    return result;
}

/* Without opendir(), which allocates: this also runs on the watch thread. */
static int delete_files(int folder)
{
    uint8_t listing[4096] __attribute__((aligned(8)));
    int result = 0;
    long got;
    while ((got = syscall(SYS_getdents64, folder, listing, sizeof listing)) > 0) {
        int deleted = delete_listed(folder, listing, got);
        result = result != 0 ? result : deleted;
    }
    if (got < 0 && result == 0) {
        result = -errno;
    }
    if (fsync(folder) != 0 && result == 0) {
        result = -errno;
    }
    return result;
}

int sbx_consent_delete_unsent(const char *spool_path)
{
    static const char *const folders[] = {".", "raw", "bad"};
    int result = 0, spool = sbx_own_folder_open(spool_path);
    if (spool < 0) {
        return spool == -ENOENT ? 0 : spool;
    }
    for (size_t i = 0; i < SBX_COUNT_OF(folders); i++) {
        int folder = sbx_own_folder_open_at(spool, folders[i], false);
        int deleted = folder >= 0 ? delete_files(folder) : folder == -ENOENT ? 0 : folder;
        result = result != 0 ? result : deleted;
        if (folder >= 0) {
            close(folder);
        }
    }
    close(spool);
    return result;
}
