/* SPDX-License-Identifier: Apache-2.0 */
/* notify_socket.c - remembers the address of the service manager's socket, and searches the text that is sent to it. */
#include "notify_socket.h"

#include <string.h>

enum {
    TEXT_MAX = 4096
};

struct sbx_notify_socket sbx_the_notify_socket = {.descriptor = -1};

void sbx_notify_socket_start(const char *name, void (*told)(enum sbx_notify_word word, uint64_t value))
{
    struct sbx_notify_socket *notify = &sbx_the_notify_socket;
    size_t bytes = strlen(name);
    if ((name[0] != '/' && name[0] != '@') || bytes < 2 || bytes >= sizeof notify->address.sun_path) {
        return;
    }
    notify->address.sun_family = AF_UNIX;
    memcpy(notify->address.sun_path, name, bytes);
    notify->address.sun_path[0] = name[0] == '@' ? '\0' : name[0];
    notify->path_bytes = (uint32_t)bytes;
    notify->told = told;
}

SBX_HOOK_SAFE int sbx_notify_socket_is(const void *address, size_t bytes)
{
    const struct sbx_notify_socket *notify = &sbx_the_notify_socket;
    const size_t before = offsetof(struct sockaddr_un, sun_path);
    const uint8_t *at = address;
    if (address == NULL || (bytes != before + notify->path_bytes && bytes != before + notify->path_bytes + 1)) {
        return 0;
    }
    const uint8_t *ours = (const uint8_t *)&notify->address;
    for (size_t i = 0; i < before + notify->path_bytes; i++) {
        if (at[i] != ours[i]) {
            return 0;
        }
    }
    return 1;
}

/* If the text at `at` begins with `word`, returns the text behind it, else NULL. */
SBX_HOOK_SAFE static const char *behind(const char *at, const char *end, const char *word)
{
    for (; *word != '\0'; word++, at++) {
        if (at == end || *at != *word) {
            return NULL;
        }
    }
    return at;
}

SBX_HOOK_SAFE static int is_line_end(const char *at, const char *end)
{
    return at == end || *at == '\n' || *at == '\0';
}

SBX_HOOK_SAFE static void read_line(const char *at, const char *end)
{
    const char *rest = behind(at, end, "WATCHDOG=1");
    if (rest != NULL && is_line_end(rest, end)) {
        sbx_the_notify_socket.told(SBX_NOTIFY_PING, 0);
        return;
    }
    rest = behind(at, end, "STOPPING=1");
    if (rest != NULL && is_line_end(rest, end)) {
        sbx_the_notify_socket.told(SBX_NOTIFY_STOPPING, 0);
        return;
    }
    rest = behind(at, end, "WATCHDOG_USEC=");
    uint64_t value = 0;
    for (; rest != NULL && rest < end && *rest >= '0' && *rest <= '9' && value < UINT64_MAX / 16; rest++) {
        value = 10 * value + (uint64_t)(*rest - '0');
    }
    if (rest != NULL && value != 0 && is_line_end(rest, end)) {
        sbx_the_notify_socket.told(SBX_NOTIFY_TIMEOUT, value);
    }
}

SBX_HOOK_SAFE void sbx_notify_socket_read(const char *text, size_t bytes)
{
    const char *end = text + (bytes < TEXT_MAX ? bytes : TEXT_MAX);
    for (const char *at = text; text != NULL && at < end;) {
        read_line(at, end);
        while (at < end && *at != '\n') {
            at++;
        }
        at += at < end;
    }
}
