/* SPDX-License-Identifier: Apache-2.0 */
/* proc_file.c - open, read to the end, close. */
#include "proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    PATH_BYTES = 96,
    FIRST_BYTES = 1 << 16,
    WHOLE_MAX = 64 << 20 /* the maps of a process with 600,000 mappings */
};

static int open_formatted(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));
static int open_formatted(const char *format, va_list arguments)
{
    char path[PATH_BYTES];
    vsnprintf(path, sizeof path, format, arguments);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return file < 0 ? -errno : file;
}

/* To the end of the file or of the room. */
static ssize_t read_to_end(int file, char *to, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = read(file, to + done, bytes - done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -errno;
        }
        if (got == 0) {
            break;
        }
        done += (size_t)got;
    }
    return (ssize_t)done;
}

ssize_t sbx_proc_file_read(char *to, size_t bytes, const char *path_format, ...)
{
    va_list arguments;
    va_start(arguments, path_format);
    int file = open_formatted(path_format, arguments);
    va_end(arguments);
    to[0] = '\0';
    if (file < 0) {
        return file;
    }
    ssize_t length = read_to_end(file, to, bytes - 1);
    close(file);
    to[length > 0 ? length : 0] = '\0';
    return length;
}

int sbx_proc_file_read_whole(char **text_out, const char *path_format, ...)
{
    va_list arguments;
    va_start(arguments, path_format);
    int file = open_formatted(path_format, arguments);
    va_end(arguments);
    *text_out = NULL;
    if (file < 0) {
        return file;
    }
    char *text = NULL;
    size_t length = 0, room = FIRST_BYTES;
    ssize_t got = 0;
    do {
        char *larger = room <= WHOLE_MAX ? realloc(text, room) : NULL;
        if (larger == NULL) {
            got = -ENOMEM;
            break;
        }
        text = larger;
        got = read_to_end(file, text + length, room - 1 - length);
        length += got > 0 ? (size_t)got : 0;
        room *= 2;
    } while (got > 0 && length == room / 2 - 1);
    close(file);
    if (got < 0) {
        free(text);
        return (int)got;
    }
    text[length] = '\0';
    *text_out = text;
    return 0;
}
