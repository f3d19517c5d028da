/* SPDX-License-Identifier: Apache-2.0 */
/* proc_file.c - open, read to the end, close. */
#include "proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file_bytes.h"

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
    ssize_t length = sbx_file_bytes(file, 0, to, bytes - 1);
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
        got = sbx_file_bytes(file, (off_t)length, text + length, room - 1 - length);
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

bool sbx_proc_name(pid_t pid, char name_out[SBX_PROC_NAME])
{
    ssize_t length = sbx_proc_file_read(name_out, SBX_PROC_NAME, "/proc/%d/comm", (int)pid);
    name_out[length > 0 ? strcspn(name_out, "\n") : 0] = '\0';
    return name_out[0] != '\0';
}
