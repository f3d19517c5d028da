/* SPDX-License-Identifier: Apache-2.0 */
/* provider_names.c - takes names out of the ring and appends them to files.
 *
 * What the file already contains is read once in each process, so that a program that is started a thousand times does
 * not write its functions' names a thousand times. The memory is mapped and not allocated, because the host's allocator
 * may be what stalls. */
#include "provider_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "name_ring.h"
#include "own_folder.h"
#include "pages.h"
#include "providers.h"
#include "recording_file.h"
#include "the_capture.h"

enum {
    KNOWN_MAX = 1 << 16, /* remembered functions of all providers; power of two */
    LINES_BYTES = 1 << 16,
    LINE_MAX_BYTES = 16 + 1 + 10 + 1 + SBX_NAME_SOURCE_MAX + 1 + SBX_NAME_FUNCTION_MAX + 1,
    ID_DIGITS = 16
};

static struct names {
    struct {
        bool is_read; /* the content of its file is known */
        bool is_full; /* nothing more is written to it */
    } files[SBX_PROVIDERS_MAX];
    uint32_t known_count;
    uint64_t known[KNOWN_MAX];
    char lines[LINES_BYTES];
} * names;

/* Is the function new? From now on it is known. When the table is full, every function is new. */
static bool is_news(uint32_t provider, uint64_t function)
{
    uint64_t key = function * UINT64_C(0x9e3779b97f4a7c15) + provider + 1;
    key += key == 0;
    for (uint64_t at = key >> 48;; at++) {
        uint64_t *slot = &names->known[at % KNOWN_MAX];
        if (*slot == key) {
            return false;
        }
        if (*slot == 0) {
            if (names->known_count < KNOWN_MAX / 4 * 3) {
                names->known_count++;
                *slot = key;
            }
            return true;
        }
    }
}

/* Reads sixteen hex digits. False: the text is not that. */
static bool read_id(const char *text, uint64_t *id_out)
{
    uint64_t id = 0;
    for (int i = 0; i < ID_DIGITS; i++) {
        char c = text[i];
        if ((c < '0' || c > '9') && (c < 'a' || c > 'f')) {
            return false;
        }
        id = id << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *id_out = id;
    return true;
}

/* Learn the content of the file: the ids at the beginning of its lines. */
static void learn(int file, uint32_t provider)
{
    char digits[ID_DIGITS];
    unsigned column = 0;
    off_t at = 0;
    for (;;) {
        ssize_t got = pread(file, names->lines, LINES_BYTES, at);
        if (got <= 0) {
            return;
        }
        for (ssize_t i = 0; i < got; i++) {
            char c = names->lines[i];
            if (c == '\n') {
                column = 0;
                continue;
            }
            if (column < ID_DIGITS) {
                digits[column] = c;
            }
            uint64_t id;
            if (++column == ID_DIGITS && read_id(digits, &id)) {
                (void)is_news(provider, id);
            }
        }
        at += got;
    }
}

/* Tabs separate columns and line ends separate lines, so they must not occur in a name, which is untrusted text. */
static size_t put_text(char *to, const char *text, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        to[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
    }
    return bytes;
}

static size_t put_line(char *to, const struct sbx_told_name *name)
{
    size_t bytes = (size_t)snprintf(to, 32, "%016llx\t%u\t", (unsigned long long)name->function, name->line);
    bytes += put_text(to + bytes, name->source, name->source_bytes);
    to[bytes++] = '\t';
    bytes += put_text(to + bytes, name->name, name->name_bytes);
    to[bytes++] = '\n';
    return bytes;
}

static void write_whole(int file, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t put = write(file, text, bytes);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return;
        }
        text += put;
        bytes -= (size_t)put;
    }
}

/* The provider's file, opened for appending; negative: there is no file to write to. */
static int open_file(int folder, uint32_t provider)
{
    char path[64];
    if (names->files[provider].is_full) {
        return -1;
    }
    snprintf(path, sizeof path, "provider-%s.map", sbx_the_providers[provider].entry.name);
    int file = openat(folder, path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size >= SBX_NAMES_FILE_MAX) {
        names->files[provider].is_full = true;
        if (file >= 0) {
            close(file);
        }
        return -1;
    }
    if (!names->files[provider].is_read) {
        names->files[provider].is_read = true;
        learn(file, provider);
    }
    if (status.st_size == 0) {
        int bytes =
            snprintf(path, sizeof path, "stallbox-provider-map 1\t%s\n", sbx_the_providers[provider].entry.name);
        write_whole(file, path, (size_t)bytes);
    }
    return file;
}

/* Names of several providers come mixed; consecutive names of one provider are written in one piece. */
static void write_all(int folder, struct sbx_told_name *name)
{
    size_t bytes = 0;
    uint32_t provider = name->provider;
    int file = open_file(folder, provider);
    bool has_name = true;
    while (has_name) {
        if (name->provider != provider || bytes > LINES_BYTES - LINE_MAX_BYTES) {
            if (file >= 0) {
                write_whole(file, names->lines, bytes);
                close(file);
            }
            bytes = 0;
            provider = name->provider;
            file = open_file(folder, provider);
        }
        if (file >= 0 && is_news(provider, name->function)) {
            bytes += put_line(names->lines + bytes, name);
        }
        has_name = sbx_name_ring_take(name);
    }
    if (file >= 0) {
        write_whole(file, names->lines, bytes);
        close(file);
    }
}

void sbx_provider_names_write(void)
{
    struct sbx_told_name name;
    if (sbx_load_relaxed(&sbx_the_capture.provider_count) == 0 || !sbx_name_ring_take(&name)) { /* relaxed: a hint */
        return;
    }
    if (names == NULL) {
        names = sbx_pages_map_wiped_on_fork(sizeof *names);
    }
    int folder =
        names != NULL && sbx_root_is_unchanged() ? sbx_own_folder_make(sbx_the_capture.header->spool_path) : -1;
    if (folder < 0) {
        while (sbx_name_ring_take(&name)) { /* drop them: no file can be written */
        }
        return;
    }
    write_all(folder, &name);
    close(folder);
}
