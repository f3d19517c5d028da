/* SPDX-License-Identifier: Apache-2.0 */
/* audit.c - writes lines to SPOOL/audit.log. */
#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "durable_file.h"
#include "envelope.h"
#include "names.h"
#include "payload_verify.h"
#include "signature.h"
#include "spool_folders.h"

/* Reserves space for the next lines while there is some. Otherwise a disk full of payloads would prevent them from
 * being sent. */
static void reserve_room(int file, const struct stat *status)
{
    enum {
        AHEAD = 16 << 10,
        LOW = 4 << 10
    };
    if (status->st_blocks * 512 < status->st_size + LOW &&
        fallocate(file, FALLOC_FL_KEEP_SIZE, status->st_size, AHEAD) != 0) {
        return; /* then writing a line may fail, and nothing is sent until a line can be written */
    }
}

/* Opens the log for appending, locked. If the file is rotated during the wait for the lock, the new file is opened. */
static int open_log(const struct sbx_spool *spool)
{
    for (int tries = 0; tries < 8; tries++) {
        struct stat ours, named;
        int file = openat(spool->root, SBX_AUDIT_FILE,
                          O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
        if (file < 0) {
            return -errno;
        }
        if (flock(file, LOCK_EX) != 0 || fstat(file, &ours) != 0 || !S_ISREG(ours.st_mode)) {
            int error = errno != 0 ? errno : EINVAL;
            close(file);
            return -error;
        }
        bool is_named = fstatat(spool->root, SBX_AUDIT_FILE, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
                        named.st_ino == ours.st_ino && named.st_dev == ours.st_dev;
        if (is_named && ours.st_size <= SBX_AUDIT_BYTES_MAX - SBX_AUDIT_LINE_MAX) {
            reserve_room(file, &ours);
            return file;
        }
        if (is_named && renameat(spool->root, SBX_AUDIT_FILE, spool->root, SBX_AUDIT_OLD_FILE) != 0) {
            int error = errno;
            close(file);
            return -error;
        }
        close(file);
    }
    return -EBUSY;
}

/* Appends one line durably. The line is written completely or not at all. */
__attribute__((format(printf, 3, 4))) static int append(const struct sbx_spool *spool, const char *event,
                                                        const char *format, ...)
{
    char line[SBX_AUDIT_LINE_MAX];
    struct tm date;
    struct stat status;
    time_t now = time(NULL);
    va_list arguments;
    int used = gmtime_r(&now, &date) != NULL ? (int)strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%SZ", &date) : 0;
    used += snprintf(line + used, sizeof line - (size_t)used, " %s ", event);
    va_start(arguments, format);
    int more = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
    va_end(arguments);
    size_t length = (size_t)used + (size_t)(more > 0 ? more : 0);
    length = length < sizeof line - 2 ? length : sizeof line - 2;
    for (size_t i = 0; i < length; i++) { /* a value from a server or a path must not end the line */
        line[i] = (unsigned char)line[i] < ' ' || line[i] == 0x7f ? '?' : line[i];
    }
    line[length++] = '\n';
    int file = open_log(spool);
    if (file < 0) {
        return file;
    }
    int result = fstat(file, &status) != 0 ? -errno : 0;
    if (result == 0) {
        ssize_t written = write(file, line, length);
        result = written == (ssize_t)length ? 0 : written < 0 ? -errno : -ENOSPC;
        if (result != 0 && written > 0 && ftruncate(file, status.st_size) != 0) {
            /* Half a line stays. The next line begins after it, and readers skip it. */
        }
    }
    if (result == 0 && fdatasync(file) != 0) {
        result = -errno;
    }
    close(file); /* this releases the lock */
    return result;
}

static void print_hex(const uint8_t *bytes, size_t count, char *text_out)
{
    for (size_t i = 0; i < count; i++) {
        snprintf(text_out + 2 * i, 3, "%02x", bytes[i]);
    }
}

/* Prints the SHA-256 of the bytes that are sent. */
static int print_digest(const uint8_t *bytes, size_t count, char text_out[2 * SBX_DIGEST_BYTES + 1])
{
    uint8_t digest[SBX_DIGEST_BYTES];
    int result = sbx_digest(&(struct sbx_digest_piece){bytes, count}, 1, digest);
    if (result == 0) {
        print_hex(digest, sizeof digest, text_out);
    }
    return result;
}

static const char *consent_word(const struct sbx_spool *spool)
{
    struct stat status;
    if (sbx_spool_is_denied(spool)) {
        return "denied";
    }
    return fstatat(spool->root, "consent", &status, AT_SYMLINK_NOFOLLOW) == 0 ? "granted" : "not-asked";
}

/* Returns a number of the payload; 0 if it is not there. */
static uint64_t number_of(const struct sbx_payload_survey *survey, enum sbx_payload_message message, uint64_t number)
{
    int index = sbx_payload_field_find(message, number);
    return index >= 0 && survey->fields[index].values != 0 ? (uint64_t)survey->fields[index].max : 0;
}

int sbx_audit_packed(struct sbx_spool *spool, const uint8_t *plain, size_t plain_bytes, const uint8_t *envelope,
                     size_t bytes, size_t raw_bytes)
{
    struct sbx_envelope inside, outside;
    struct sbx_payload_survey survey;
    uint8_t *payload = NULL;
    size_t payload_bytes = 0;
    char why[160], id[2 * SBX_PAYLOAD_ID_BYTES + 1], digest[2 * SBX_DIGEST_BYTES + 1];
    char key[2 * SBX_SEAL_KEY_ID_BYTES + 1] = "none";
    int result = sbx_envelope_read(plain, plain_bytes, &inside, why, sizeof why);
    if (result == 0) {
        result = sbx_envelope_read(envelope, bytes, &outside, why, sizeof why);
    }
    if (result == 0) {
        result = sbx_envelope_payload(&inside, &payload, &payload_bytes, why, sizeof why);
    }
    if (result == 0) {
        result = sbx_payload_verify(payload, payload_bytes, &survey, why, sizeof why);
    }
    if (result == 0) {
        result = print_digest(envelope, bytes, digest);
    }
    if (result == 0) {
        print_hex(inside.id, sizeof inside.id, id);
        if (outside.is_sealed) {
            print_hex(outside.key_id, sizeof outside.key_id, key);
        }
        result = append(spool, "packed",
                        "id=%s trigger=%s raw_bytes=%zu payload_bytes=%zu envelope_bytes=%zu sealed_to=%s sha256=%s "
                        "modules_hidden=%" PRIu64 " frames_hidden=%" PRIu64 " thread_names_hidden=%" PRIu64
                        " objects_renumbered=%" PRIu64 " records_cut=%" PRIu64 " detail=%" PRIu64 " policy=%" PRIu64
                        ".%" PRIu64 " consent=%s",
                        id, sbx_trigger_name((uint32_t)number_of(&survey, SBX_IN_TRIGGER, 1)), raw_bytes, payload_bytes,
                        bytes, key, digest, number_of(&survey, SBX_IN_REDACTIONS, 1),
                        number_of(&survey, SBX_IN_REDACTIONS, 2), number_of(&survey, SBX_IN_REDACTIONS, 3),
                        number_of(&survey, SBX_IN_REDACTIONS, 4), number_of(&survey, SBX_IN_REDACTIONS, 5),
                        number_of(&survey, SBX_IN_POLICY, 10), number_of(&survey, SBX_IN_POLICY, 1),
                        number_of(&survey, SBX_IN_POLICY, 2), consent_word(spool));
    }
    free(payload);
    return result;
}

int sbx_audit_leaving(struct sbx_spool *spool, const uint8_t id[SBX_PAYLOAD_ID_BYTES], const uint8_t *envelope,
                      size_t bytes, const char *server_url)
{
    char text[2 * SBX_PAYLOAD_ID_BYTES + 1], digest[2 * SBX_DIGEST_BYTES + 1];
    int result = print_digest(envelope, bytes, digest);
    print_hex(id, SBX_PAYLOAD_ID_BYTES, text);
    if (result == 0) {
        result = append(spool, "leaving", "id=%s bytes=%zu sha256=%s consent=%s to=%.300s", text, bytes, digest,
                        consent_word(spool), server_url);
    }
    return result;
}

int sbx_audit_answer(struct sbx_spool *spool, const uint8_t id[SBX_PAYLOAD_ID_BYTES], const char *verdict,
                     long http_status, const char *why)
{
    char text[2 * SBX_PAYLOAD_ID_BYTES + 1];
    print_hex(id, SBX_PAYLOAD_ID_BYTES, text);
    return append(spool, "answer", "id=%s answer=%s http=%ld why=%.200s", text, verdict, http_status, why);
}

int sbx_audit_active(struct sbx_spool *spool, const char *body, const char *server_url)
{
    return append(spool, "active", "body=%.64s consent=%s to=%.300s", body, consent_word(spool), server_url);
}

int sbx_audit_erasure(struct sbx_spool *spool, unsigned ids, const char *verdict, long http_status)
{
    return append(spool, "erasure", "ids=%u answer=%s http=%ld", ids, verdict, http_status);
}

int sbx_audit_expired(struct sbx_spool *spool, unsigned count, unsigned hours)
{
    return append(spool, "expired", "files=%u hours=%u", count, hours);
}

/* ---- reading ---- */

static int each_of_file(int spool, const char *name, int (*each)(void *context, const char *line), void *context)
{
    uint8_t *bytes;
    size_t count;
    int result = sbx_durable_file_read(spool, name, SBX_AUDIT_BYTES_MAX, &bytes, &count);
    if (result == -ENOENT) {
        return 0;
    }
    char *text = result == 0 ? realloc(bytes, count + 1) : NULL;
    if (text == NULL) {
        if (result == 0) {
            free(bytes);
        }
        return result == 0 ? -ENOMEM : result;
    }
    text[count] = '\0';
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL && result == 0; line = strsep(&rest, "\n")) {
        result = each(context, line);
    }
    free(text);
    return result;
}

int sbx_audit_each(int spool, int (*each)(void *context, const char *line), void *context)
{
    int result = each_of_file(spool, SBX_AUDIT_OLD_FILE, each, context);
    return result != 0 ? result : each_of_file(spool, SBX_AUDIT_FILE, each, context);
}

void sbx_audit_value(const char *line, const char *key, char *value_out, size_t value_bytes)
{
    const char *end = line + strcspn(line, "\n");
    size_t key_bytes = strlen(key);
    value_out[0] = '\0';
    for (const char *word = line; word < end;) {
        const char *word_end = memchr(word, ' ', (size_t)(end - word));
        word_end = word_end != NULL ? word_end : end;
        if ((size_t)(word_end - word) > key_bytes && memcmp(word, key, key_bytes) == 0 && word[key_bytes] == '=') {
            /* The last value, a reason, may contain spaces. */
            const char *value = word + key_bytes + 1, *value_end = strcmp(key, "why") == 0 ? end : word_end;
            size_t length = (size_t)(value_end - value);
            length = length < value_bytes - 1 ? length : value_bytes - 1;
            memcpy(value_out, value, length);
            value_out[length] = '\0';
            return;
        }
        word = word_end + (word_end < end);
    }
}
