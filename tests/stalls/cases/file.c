/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - files: written durably, listed, read in small pieces. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stall.h"

#define LASTS_NS (stall_ms * INT64_C(1000000))

static int open_file(const char *name, int flags)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", stall_folder(), name);
    return open(path, O_CREAT | O_RDWR | O_CLOEXEC | flags, 0600);
}

static STALL_FUNCTION void save_game(int n)
{
    enum {
        BYTES = 4 << 20
    };
    char *state = calloc(1, BYTES);
    int file = open_file("game", O_TRUNC);
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; state != NULL && stall_now_ns() < until_ns;) {
        memset(state, n++, 4096);
        if (pwrite(file, state, BYTES, 0) < 0) {
            abort();
        }
        fsync(file);
    }
    close(file);
    free(state);
}

static STALL_FUNCTION void append_journal(int n)
{
    char entry[512];
    int file = open_file("journal", O_TRUNC | O_SYNC);
    memset(entry, n, sizeof entry);
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        if (write(file, entry, sizeof entry) < 0) {
            abort();
        }
    }
    close(file);
}

static void make_photos(void)
{
    char path[300];
    snprintf(path, sizeof path, "%s/photos", stall_folder());
    mkdir(path, 0700);
    for (int i = 0; i < 400; i++) {
        snprintf(path, sizeof path, "%s/photos/%d", stall_folder(), i);
        close(open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    }
}

static STALL_FUNCTION void scan_photos(int n)
{
    char path[300];
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        snprintf(path, sizeof path, "%s/photos", stall_folder());
        DIR *folder = opendir(path);
        for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
            struct stat about;
            snprintf(path, sizeof path, "%s/photos/%.40s", stall_folder(), entry->d_name);
            if (stat(path, &about) == 0) {
                stall_sink += (uint64_t)about.st_size + (uint64_t)n;
            }
        }
        closedir(folder);
    }
}

static void make_table(void)
{
    static char block[1 << 20];
    int file = open_file("bytes", O_TRUNC);
    if (write(file, block, sizeof block) < 0) {
        abort();
    }
    close(file);
}

static STALL_FUNCTION void parse_table(int n)
{
    int file = open_file("bytes", 0);
    char byte[8];
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        for (int i = 0; i < 1000; i++) {
            if (read(file, byte, sizeof byte) <= 0) {
                lseek(file, 0, SEEK_SET);
            }
            stall_sink += (uint64_t)byte[0] + (uint64_t)n;
        }
    }
    close(file);
}

static STALL_FUNCTION void export_rows(int n)
{
    char path[300];
    snprintf(path, sizeof path, "%s/export", stall_folder());
    FILE *file = fopen(path, "we");
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; file != NULL && stall_now_ns() < until_ns;) {
        for (int i = 0; i < 200; i++) {
            fputs("0123456789 0123456789 0123456789\n", file);
        }
        fflush(file);
        fsync(fileno(file));
        stall_sink += (uint64_t)n;
    }
    fclose(file);
}

const struct stall stalls_file[] = {
    {.name = "io_write_fsync", .message = save_game},
    {.name = "io_o_sync", .message = append_journal},
    {.name = "io_directory", .prepare = make_photos, .message = scan_photos},
    {.name = "io_small_reads", .prepare = make_table, .message = parse_table},
    {.name = "io_stdio", .message = export_rows},
    {.name = NULL},
};
