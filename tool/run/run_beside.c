/* SPDX-License-Identifier: Apache-2.0 */
/* run_beside.c - a pipe that carries the strings of an environment. */
#include "run_beside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int sbx_beside_part(struct sbx_beside *beside)
{
    int ends[2];
    *beside = (struct sbx_beside){.end = -1};
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -errno;
    }
    beside->child = fork();
    if (beside->child < 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        return -error;
    }
    bool is_child = beside->child == 0;
    beside->end = ends[is_child ? 1 : 0];
    close(ends[is_child ? 0 : 1]);
    return 0;
}

static int write_all(int end, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t wrote = write(end, bytes, count);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote <= 0) {
            return wrote < 0 ? -errno : -EIO;
        }
        bytes += wrote;
        count -= (size_t)wrote;
    }
    return 0;
}

/* Each string with its zero, and one more zero after the last. */
int sbx_beside_tell(const struct sbx_beside *beside, char *const *environment)
{
    int result = 0;
    for (size_t i = 0; environment[i] != NULL && result == 0; i++) {
        /* An empty string would mean the end; no program finds a variable in it anyway. */
        result =
            environment[i][0] != '\0' ? write_all(beside->end, environment[i], strlen(environment[i]) + 1) : result;
    }
    return result == 0 ? write_all(beside->end, "", 1) : result;
}

/* Read until the end. NULL: no memory. */
static char *read_all(int end, size_t *bytes_out)
{
    size_t room = 64 << 10, used = 0;
    char *text = malloc(room);
    for (ssize_t got = 1; text != NULL && got != 0;) {
        if (used == room) {
            char *grown = realloc(text, 2 * room);
            if (grown == NULL) {
                break;
            }
            text = grown;
            room *= 2;
        }
        got = read(end, text + used, room - used);
        if (got < 0 && errno != EINTR) {
            break;
        }
        used += got > 0 ? (size_t)got : 0;
    }
    *bytes_out = used;
    return text;
}

/* Make an environment of the strings; NULL: they are not complete, or there is no memory. */
static char **list_strings(char *text, size_t bytes)
{
    size_t count = 0, at = 0;
    while (at < bytes && text[at] != '\0' && memchr(text + at, '\0', bytes - at) != NULL) {
        at += strlen(text + at) + 1;
        count++;
    }
    bool is_whole = at + 1 == bytes && text[at] == '\0';
    char **strings = is_whole ? calloc(count + 1, sizeof *strings) : NULL;
    at = 0;
    for (size_t i = 0; strings != NULL && i < count; i++) {
        strings[i] = text + at;
        at += strlen(text + at) + 1;
    }
    return strings;
}

int sbx_beside_wait(struct sbx_beside *beside)
{
    size_t bytes = 0;
    int status = 0;
    beside->text = read_all(beside->end, &bytes);
    close(beside->end);
    while (waitpid(beside->child, &status, 0) < 0 && errno == EINTR) {
    }
    bool is_done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    beside->environment = beside->text != NULL && is_done ? list_strings(beside->text, bytes) : NULL;
    return status;
}
