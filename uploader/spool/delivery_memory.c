/* SPDX-License-Identifier: Apache-2.0 */
/* delivery_memory.c - converts a few numbers to lines of text, and back. */
#include "delivery_memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_BYTES_MAX = 160,
    ID_TEXT_BYTES = 2 * SBX_PAYLOAD_ID_BYTES,
};
static const uint64_t wait_most_ms = UINT64_C(2) * 86400000; /* a requested day, and its jitter */

static uint64_t clock_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec < 0 ? 0 : (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

void sbx_delivery_now_read(struct sbx_delivery_now *now_out)
{
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, now_out->boot_id, SBX_BOOT_ID_BYTES - 1);
    if (file >= 0) {
        close(file);
    }
    now_out->boot_id[got > 0 ? got : 0] = '\0';
    now_out->boot_id[strspn(now_out->boot_id, "0123456789abcdef-")] = '\0';
    now_out->boot_ms = clock_ms(CLOCK_BOOTTIME);
    now_out->wall_ms = clock_ms(CLOCK_REALTIME);
}

/* FNV-1a: it distinguishes servers, and protects nothing. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++) {
        hash = (hash ^ (uint8_t)*text) * UINT64_C(1099511628211);
    }
    return hash;
}

bool sbx_delivery_memory_is_empty(const struct sbx_delivery_memory *memory)
{
    return memory->server.fails == 0 && memory->payload_count == 0;
}

static size_t print_hold(char *text, size_t room, const char *who, const struct sbx_hold *hold,
                         const struct sbx_delivery_now *now)
{
    uint64_t left_ms = hold->due_ms > now->boot_ms ? hold->due_ms - now->boot_ms : 0;
    int length = snprintf(text, room, "%s %" PRIu32 " %d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", who, hold->fails,
                          hold->is_asked ? 1 : 0, now->boot_ms + left_ms, now->wall_ms + left_ms, hold->wait_ms);
    return length > 0 && (size_t)length < room ? (size_t)length : 0;
}

size_t sbx_delivery_memory_print(const struct sbx_delivery_memory *memory, const char *server_url,
                                 const struct sbx_delivery_now *now, char *text_out)
{
    char who[64];
    size_t room = SBX_DELIVERY_MEMORY_BYTES_MAX;
    size_t used = (size_t)snprintf(text_out, room, "stallbox-delivery 1 %s\n", now->boot_id);
    snprintf(who, sizeof who, "server %016" PRIx64, hash_of(server_url));
    used += print_hold(text_out + used, room - used, who, &memory->server, now);
    for (size_t i = 0; i < memory->payload_count; i++) {
        const struct sbx_hold *hold = &memory->payloads[i];
        size_t at = (size_t)snprintf(who, sizeof who, "payload ");
        for (size_t j = 0; j < SBX_PAYLOAD_ID_BYTES; j++) {
            at += (size_t)snprintf(who + at, sizeof who - at, "%02x", hold->id[j]);
        }
        used += print_hold(text_out + used, room - used, who, hold, now);
    }
    return used;
}

/* Returns the next word of a line, or NULL. */
static char *next_word(char **line)
{
    char *word = *line + strspn(*line, " ");
    size_t length = strcspn(word, " ");
    if (length == 0) {
        return NULL;
    }
    *line = word + length + (word[length] != '\0');
    word[length] = '\0';
    return word;
}

static bool next_number(char **line, uint64_t most, uint64_t *value_out)
{
    const char *word = next_word(line);
    if (word == NULL || strlen(word) > 19 || word[strspn(word, "0123456789")] != '\0') {
        return false;
    }
    *value_out = strtoull(word, NULL, 10);
    return *value_out <= most;
}

/* Parses "FAILS ASKED BOOT-MS WALL-MS WAIT-MS". */
static bool parse_hold(char *line, bool is_same_boot, const struct sbx_delivery_now *now, struct sbx_hold *hold)
{
    uint64_t fails, is_asked, boot_ms, wall_ms;
    if (!next_number(&line, UINT32_MAX, &fails) || !next_number(&line, 1, &is_asked) ||
        !next_number(&line, UINT64_MAX, &boot_ms) || !next_number(&line, UINT64_MAX, &wall_ms) ||
        !next_number(&line, wait_most_ms, &hold->wait_ms) || next_word(&line) != NULL) {
        return false;
    }
    uint64_t due_ms = is_same_boot ? boot_ms : wall_ms, now_ms = is_same_boot ? now->boot_ms : now->wall_ms;
    uint64_t left_ms = due_ms > now_ms ? due_ms - now_ms : 0;
    left_ms = left_ms < hold->wait_ms ? left_ms : hold->wait_ms;
    hold->fails = (uint32_t)fails;
    hold->is_asked = is_asked != 0;
    hold->due_ms = left_ms != 0 ? now->boot_ms + left_ms : 0;
    return true;
}

static bool parse_id(const char *text, uint8_t id_out[SBX_PAYLOAD_ID_BYTES])
{
    if (strlen(text) != ID_TEXT_BYTES || text[strspn(text, "0123456789abcdef")] != '\0') {
        return false;
    }
    for (size_t i = 0; i < SBX_PAYLOAD_ID_BYTES; i++) {
        const char pair[3] = {text[2 * i], text[2 * i + 1], '\0'};
        id_out[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return true;
}

static void parse_line(char *line, const char *server_url, bool is_same_boot, const struct sbx_delivery_now *now,
                       bool *is_ours, struct sbx_delivery_memory *memory)
{
    struct sbx_hold hold = {.fails = 0};
    const char *kind = next_word(&line), *who = kind == NULL ? NULL : next_word(&line);
    if (who == NULL || !parse_hold(line, is_same_boot, now, &hold)) {
        return;
    }
    char address[17];
    snprintf(address, sizeof address, "%016" PRIx64, hash_of(server_url));
    if (strcmp(kind, "server") == 0) {
        *is_ours = strcmp(who, address) == 0;
        memory->server = *is_ours ? hold : memory->server;
    } else if (*is_ours && strcmp(kind, "payload") == 0 && memory->payload_count < SBX_HOLDS_MAX &&
               parse_id(who, hold.id)) {
        memory->payloads[memory->payload_count++] = hold;
    }
}

void sbx_delivery_memory_parse(const char *text, size_t bytes, const char *server_url,
                               const struct sbx_delivery_now *now, struct sbx_delivery_memory *memory_out)
{
    static const char first[] = "stallbox-delivery 1 ";
    bool is_first = true, is_same_boot = false, is_ours = false;
    memory_out->server = (struct sbx_hold){.fails = 0};
    memory_out->payload_count = 0;
    for (size_t at = 0; at < bytes;) {
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t length = end == NULL ? bytes - at : (size_t)(end - (text + at));
        char line[LINE_BYTES_MAX];
        if (end == NULL) {
            return; /* an unfinished line */
        }
        if (length < sizeof line) {
            memcpy(line, text + at, length);
            line[length] = '\0';
        } else {
            line[0] = '\0';
        }
        if (is_first) {
            if (strncmp(line, first, sizeof first - 1) != 0) {
                return; /* of a later version, or another file */
            }
            is_same_boot = now->boot_id[0] != '\0' && strcmp(line + sizeof first - 1, now->boot_id) == 0;
            is_first = false;
        } else {
            parse_line(line, server_url, is_same_boot, now, &is_ours, memory_out);
        }
        at += length + 1;
    }
}
