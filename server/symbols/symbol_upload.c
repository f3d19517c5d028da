/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_upload.c - checks the claims of a sender of symbols, and writes the body to an unnamed file. */
#include "symbol_intake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "symbol_intake_inside.h"
#include "whole_write.h"

enum {
    UPLOADS_MAX = 4,              /* at one time, over all senders */
    LOOK_AT_DISK_BYTES = 1 << 20, /* bytes between two checks of the disk */
};

/* ---- answers ---- */

void sbx_intake_refuse(struct sbx_intake_answer *answer, unsigned status, const char *why)
{
    answer->outcome = SBX_INTAKE_REFUSED;
    answer->status = status;
    if (why != answer->why)
        snprintf(answer->why, sizeof(answer->why), "%s", why);
}

void sbx_intake_put_off(struct sbx_intake_answer *answer, unsigned retry_after_s, const char *why)
{
    answer->outcome = SBX_INTAKE_LATER;
    answer->status = 503;
    answer->retry_after_s = retry_after_s;
    if (why != answer->why)
        snprintf(answer->why, sizeof(answer->why), "%s", why);
}

void sbx_intake_refuse_size(struct sbx_intake_answer *answer, uint64_t bytes_max)
{
    sbx_intake_refuse(answer, 413, "");
    snprintf(answer->why, sizeof(answer->why), "a file of symbols has at most %llu MiB here, also uncompressed",
             (unsigned long long)(bytes_max >> 20));
}

/* Make an answer for an errno of the disk. */
void sbx_intake_answer_error(struct sbx_intake_answer *answer, int result)
{
    bool is_full = result == -ENOSPC || result == -EDQUOT || result == -EFBIG;
    sbx_intake_put_off(answer, is_full ? AGAIN_FULL_S : AGAIN_BUSY_S,
                       is_full ? "the data folder has no room for it now" : strerror(-result));
}

void sbx_intake_count(struct sbx_symbol_intake *intake, const struct sbx_intake_answer *answer)
{
    sbx_metrics_add(intake->settings.metrics, (enum sbx_metric)(SBX_METRIC_SYMBOLS_ADDED + (unsigned)answer->outcome),
                    1);
    if (answer->outcome == SBX_INTAKE_DIFFERENT)
        sbx_operator_log_of(
            intake->settings.log, SBX_LOG_WARNING, "symbols", (struct sbx_log_subject){"build_id", answer->build_id},
            "symbols of build-id %s were sent that differ from those that are here, which stay", answer->build_id);
}

/* ---- claims ---- */

/* 4 to 32 bytes in lower hex, and nothing else. */
static bool read_build_id(const char *text, struct sbx_symbol_upload *upload)
{
    size_t digits = strlen(text);
    if (strspn(text, "0123456789abcdef") != digits)
        return false;
    upload->build_id_bytes = sbx_build_id_parse(text, digits, upload->build_id);
    return upload->build_id_bytes >= BUILD_ID_BYTES_MIN;
}

/* A file's name, not a path. It is shown, but never opened. */
static bool read_name(const char *text, struct sbx_symbol_upload *upload)
{
    size_t bytes = strlen(text);
    if (bytes == 0 || bytes >= sizeof(upload->name) || text[0] == '.')
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (text[i] <= ' ' || text[i] > '~' || strchr("/\\:<>\"'&", text[i]))
            return false;
    memcpy(upload->name, text, bytes + 1);
    return true;
}

/* ---- the body ---- */

/* An unnamed file, of which nothing stays whatever happens. Returns a descriptor or -errno. */
int sbx_intake_open_nameless(const struct sbx_symbol_intake *intake)
{
    int fd = openat(intake->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
        return fd >= 0 ? fd : -errno;
    char path[4096];
    if ((size_t)snprintf(path, sizeof(path), "%s/.upload-XXXXXX", intake->settings.data_dir) >= sizeof(path))
        return -ENAMETOOLONG;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    unlink(path);
    return fd;
}

struct sbx_symbol_upload *sbx_symbol_upload_begin(struct sbx_symbol_intake *intake,
                                                  const struct sbx_intake_claims *claims, uint64_t length,
                                                  struct sbx_intake_answer *answer)
{
    *answer = (struct sbx_intake_answer){0};
    struct sbx_symbol_upload *upload = calloc(1, sizeof(*upload));
    if (!upload) {
        sbx_intake_put_off(answer, AGAIN_BUSY_S, "no memory");
        return NULL;
    }
    *upload = (struct sbx_symbol_upload){
        .intake = intake, .is_zstd = claims->is_zstd, .sender = claims->sender, .fd = -1, .alternate = -1};
    pthread_mutex_lock(&intake->lock);
    bool is_free = !intake->is_ending && intake->uploads < UPLOADS_MAX;
    intake->uploads += is_free;
    pthread_mutex_unlock(&intake->lock);
    if (claims->build_id && !read_build_id(claims->build_id, upload))
        sbx_intake_refuse(answer, 400, "a build-id is 8 to 64 lower hex digits");
    else if (claims->name && !read_name(claims->name, upload))
        sbx_intake_refuse(answer, 400, "a module's name is a file's name: 1 to 63 printable letters, no path");
    else if (length > intake->settings.bytes_max)
        sbx_intake_refuse_size(answer, intake->settings.bytes_max);
    else if (!is_free)
        sbx_intake_put_off(answer, AGAIN_BUSY_S, "too many files of symbols are arriving");
    else if ((upload->fd = sbx_intake_open_nameless(intake)) < 0)
        sbx_intake_answer_error(answer, upload->fd);
    if (answer->status == 0)
        return upload;
    sbx_intake_count(intake, answer);
    upload->was_submitted = true; /* so that it is counted */
    if (is_free)
        sbx_symbol_upload_destroy(upload);
    else
        free(upload);
    return NULL;
}

/* Is there room for more, apart from the reserve for payloads? */
int sbx_intake_look_at_disk(const struct sbx_symbol_intake *intake, int fd)
{
    struct statvfs status;
    if (fstatvfs(fd, &status) < 0)
        return 0;
    return (uint64_t)status.f_bavail * status.f_frsize < intake->settings.reserve_bytes ? -ENOSPC : 0;
}

void sbx_symbol_upload_append(struct sbx_symbol_upload *upload, const void *bytes, size_t byte_count)
{
    struct sbx_symbol_intake *intake = upload->intake;
    if (upload->failure == 0 && byte_count > intake->settings.bytes_max - upload->bytes)
        upload->failure = -E2BIG;
    if (upload->failure == 0 && (upload->bytes == 0 || upload->bytes - upload->looked_at >= LOOK_AT_DISK_BYTES)) {
        upload->looked_at = upload->bytes;
        upload->failure = sbx_intake_look_at_disk(intake, upload->fd);
    }
    if (upload->failure == 0)
        upload->failure = sbx_write_all(upload->fd, bytes, byte_count);
    upload->bytes += byte_count;
    if (upload->failure != 0 && upload->fd >= 0) { /* the written part is useless now */
        close(upload->fd);
        upload->fd = -1;
    }
}

void sbx_symbol_upload_adopt(struct sbx_symbol_upload *upload, int fd, int alternate)
{
    struct stat status;
    if (upload->fd >= 0)
        close(upload->fd);
    upload->fd = fd;
    upload->alternate = alternate;
    upload->failure = fstat(fd, &status) < 0 ? -errno : 0;
    upload->bytes = upload->failure == 0 ? (uint64_t)status.st_size : 0;
    if (upload->bytes > upload->intake->settings.bytes_max)
        upload->failure = -E2BIG;
}

uint64_t sbx_symbol_intake_room(struct sbx_symbol_intake *intake)
{
    struct statvfs status;
    uint64_t most = intake->settings.bytes_max;
    if (fstatvfs(intake->folder, &status) < 0)
        return most;
    uint64_t free_bytes = (uint64_t)status.f_bavail * status.f_frsize;
    uint64_t room = free_bytes > intake->settings.reserve_bytes ? free_bytes - intake->settings.reserve_bytes : 0;
    return room < most ? room : most;
}

const struct sbx_intake_answer *sbx_symbol_upload_answer(const struct sbx_symbol_upload *upload)
{
    return &upload->answer;
}

void sbx_symbol_upload_destroy(struct sbx_symbol_upload *upload)
{
    if (!upload)
        return;
    struct sbx_symbol_intake *intake = upload->intake;
    if (!upload->was_submitted)
        sbx_metrics_add(intake->settings.metrics, SBX_METRIC_SYMBOLS_INCOMPLETE, 1);
    if (upload->fd >= 0)
        close(upload->fd);
    if (upload->alternate >= 0)
        close(upload->alternate);
    pthread_mutex_lock(&intake->lock);
    intake->uploads--;
    pthread_mutex_unlock(&intake->lock);
    free(upload);
}
