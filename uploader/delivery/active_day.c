/* SPDX-License-Identifier: Apache-2.0 */
/* active_day.c - sends a line of text to the server, and stores the same line in the spool, so that it is sent only
 * once. */
#include "active_day.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <unistd.h>

#include "audit.h"
#include "http_exchange.h"
#include "spool_folders.h"

enum {
    BODY_BYTES = 64,
    LINE_BYTES = BODY_BYTES + 24,
    FILE_BYTES = 4096, /* about sixty applications and versions a day; further ones are not reported */
    VERSION_MAX = 999999,
};

/* Example: "app=0123456789&version=1.2.3". */
static void print_body(uint64_t app, const uint32_t version[3], char body_out[BODY_BYTES])
{
    int used = snprintf(body_out, BODY_BYTES, "app=%010" PRIx64 "&version=", app);
    if (version[0] + version[1] + version[2] != 0) {
        uint32_t parts[3];
        for (unsigned i = 0; i < 3; i++) {
            parts[i] = version[i] < VERSION_MAX ? version[i] : VERSION_MAX;
        }
        snprintf(body_out + used, BODY_BYTES - (size_t)used, "%" PRIu32 ".%" PRIu32 ".%" PRIu32, parts[0], parts[1],
                 parts[2]);
    }
}

/* Opens SPOOL/active, locked. Returns a descriptor or -errno. -EWOULDBLOCK: another process holds the lock. */
static int open_told(const struct sbx_spool *spool)
{
    int file = openat(spool->root, SBX_ACTIVE_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (file < 0) {
        return -errno;
    }
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
        int result = -errno;
        close(file);
        return result;
    }
    return file;
}

/* Reads the lines of this day into text_out[FILE_BYTES]. Lines of other days are left out. */
static void read_told(int file, const char *day, char *text_out)
{
    char text[FILE_BYTES];
    ssize_t bytes = pread(file, text, sizeof text - 1, 0);
    size_t used = 0;
    text[bytes > 0 ? bytes : 0] = '\0';
    text_out[0] = '\0';
    for (char *at = text, *end = strchr(at, '\n'); end != NULL; at = end + 1, end = strchr(at, '\n')) {
        size_t count = (size_t)(end - at) + 1;
        if (strncmp(at, day, strlen(day)) == 0) {
            memcpy(text_out + used, at, count);
            used += count;
            text_out[used] = '\0';
        }
    }
}

/* If a crash cuts the file short, lines are missing. Their reports are sent once more. */
static int write_told(int file, const char *text)
{
    size_t count = strlen(text);
    if (pwrite(file, text, count, 0) != (ssize_t)count || ftruncate(file, (off_t)count) != 0 || fdatasync(file) != 0) {
        return errno != 0 ? -errno : -EIO;
    }
    return 0;
}

static bool is_unwanted(void *spool)
{
    return sbx_spool_is_denied(spool);
}

static enum sbx_active_told ask(struct sbx_spool *spool, const struct sbx_active_place *place, const char *body,
                                uint32_t timeout_ms)
{
    static const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded", NULL};
    char answer[256];
    struct sbx_http_reply reply;
    bool has_pins = place->pin_count != 0 && strncasecmp(place->server_url, "https:", 6) == 0;
    const struct sbx_http_question question = {
        .server_url = place->server_url,
        .path = "/v1/active",
        .token = place->token,
        .headers = headers,
        .body = body,
        .body_bytes = strlen(body),
        .answer_bytes_max = 4096,
        .timeout_ms = timeout_ms,
        .pins = has_pins ? place->pins : NULL,
        .pin_count = has_pins ? place->pin_count : 0,
        .is_unwanted = is_unwanted,
        .context = spool,
    };
    if (!sbx_http_exchange(&question, (uint8_t *)answer, sizeof answer, &reply) || reply.status == 429 ||
        reply.status >= 500) {
        return SBX_ACTIVE_LATER;
    }
    return reply.status == 200 ? SBX_ACTIVE_TOLD : SBX_ACTIVE_REFUSED;
}

enum sbx_active_told sbx_active_day_tell(struct sbx_spool *spool, const struct sbx_active_place *place, uint64_t app,
                                         const uint32_t version[3], uint64_t day, uint32_t timeout_ms)
{
    char body[BODY_BYTES], line[LINE_BYTES], told[FILE_BYTES], today[24];
    enum sbx_active_told result = SBX_ACTIVE_LATER;
    if (app == 0 || sbx_spool_is_denied(spool)) {
        return SBX_ACTIVE_LATER;
    }
    int file = open_told(spool);
    if (file < 0) {
        return SBX_ACTIVE_LATER;
    }
    print_body(app, version, body);
    snprintf(today, sizeof today, "%" PRIu64 " ", day);
    snprintf(line, sizeof line, "%s%s\n", today, body);
    read_told(file, today, told);
    if (strstr(told, line) != NULL) {
        result = SBX_ACTIVE_KNOWN;
    } else if (strlen(told) + strlen(line) < sizeof told && sbx_audit_active(spool, body, place->server_url) == 0) {
        result = ask(spool, place, body, timeout_ms);
    }
    if (result == SBX_ACTIVE_TOLD || result == SBX_ACTIVE_REFUSED) {
        strcat(told, line);
        if (write_told(file, told) != 0) {
            /* The report is sent once more, at the next poll or by the next process. */
        }
    }
    close(file); /* this releases the lock */
    return result;
}
