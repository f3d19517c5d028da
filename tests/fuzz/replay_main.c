/* SPDX-License-Identifier: Apache-2.0 */
/* replay_main.c - runs a fuzz target once for every file of its corpus, without libFuzzer.
 *
 * This makes each input that ever failed a regression test in every build, sanitized or not. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    uint8_t *data = NULL;
    size_t bytes = 0;
    for (;;) {
        uint8_t *grown = realloc(data, bytes + 65536);
        if (grown == NULL) {
            free(data);
            fclose(file);
            return 1;
        }
        data = grown;
        size_t got = fread(data + bytes, 1, 65536, file);
        bytes += got;
        if (got == 0) {
            break;
        }
    }
    fclose(file);
    uint8_t *exact = malloc(bytes == 0 ? 1 : bytes); /* exact size, so that a sanitizer sees a read past the end */
    if (exact == NULL) {
        free(data);
        return 1;
    }
    memcpy(exact, data, bytes);
    free(data);
    LLVMFuzzerTestOneInput(exact, bytes);
    free(exact);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
        return 2;
    }
    DIR *folder = opendir(argv[1]);
    if (folder == NULL) {
        perror(argv[1]);
        return 1;
    }
    int failed = 0;
    unsigned count = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        failed |= replay_file(path);
        count++;
    }
    closedir(folder);
    printf("%u inputs replayed\n", count);
    return failed != 0 || count == 0; /* an empty corpus would be a test that cannot fail */
}
