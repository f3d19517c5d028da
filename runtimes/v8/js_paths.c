/* SPDX-License-Identifier: Apache-2.0 */
/* js_paths.c - the folders of a program's scripts. */
#include "js_paths.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_package(const char *folder, size_t bytes)
{
    char path[JS_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%.*spackage.json", (int)bytes, folder);
    return access(path, R_OK) == 0;
}

void js_roots_add(struct js_roots *roots, const char *path)
{
    size_t bytes = strlen(path), own = 0;
    char folder[JS_PATH_BYTES];
    if (bytes == 0 || path[0] != '/' || bytes + 2 > sizeof folder || roots->count == JS_ROOTS_MAX) {
        return;
    }
    memcpy(folder, path, bytes + 1);
    if (folder[bytes - 1] != '/') {
        folder[bytes++] = '/';
    }
    for (own = bytes; own > 1 && !has_package(folder, own);) {
        do {
            own--;
        } while (own > 1 && folder[own - 1] != '/');
    }
    own = own > 1 ? own : bytes;
    if (own > 1) { /* "/" is the same on all machines */
        memcpy(roots->paths[roots->count], folder, own);
        roots->bytes[roots->count++] = own;
    }
}

/* Is the value of this node option in the next word? */
static bool has_value(const char *option)
{
    static const char *const options[] = {"-r", "--require",    "--import", "--loader", "--experimental-loader",
                                          "-C", "--conditions", "--title",  NULL};
    for (size_t i = 0; options[i] != NULL; i++) {
        if (strcmp(option, options[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns the script in the words of a command line; NULL: there is none. */
static const char *find_script(const char *words, size_t bytes)
{
    const char *end = words + bytes;
    for (const char *word = words + strlen(words) + 1; word < end; word += strlen(word) + 1) {
        if (word[0] != '-') {
            return word;
        }
        if (strcmp(word, "-e") == 0 || strcmp(word, "-p") == 0 || strcmp(word, "-") == 0 ||
            strcmp(word, "--eval") == 0 || strcmp(word, "--print") == 0) {
            return NULL;
        }
        if (has_value(word)) {
            word += strlen(word) + 1;
            if (word >= end) {
                return NULL;
            }
        }
    }
    return NULL;
}

void js_roots_find(struct js_roots *roots)
{
    static char words[4096], real[PATH_MAX]; /* static, because our thread's stack is small */
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file >= 0 ? read(file, words, sizeof words - 1) : 0;
    if (file >= 0) {
        close(file);
    }
    words[bytes > 0 ? bytes : 0] = '\0';
    const char *script = bytes > 0 ? find_script(words, (size_t)bytes) : NULL;
    if (script != NULL && realpath(script, real) != NULL) { /* node resolves the path in the same way */
        char *slash = strrchr(real, '/');
        if (slash != NULL) {
            slash[1] = '\0';
            js_roots_add(roots, real);
        }
    }
    if (getcwd(real, sizeof real) != NULL) {
        js_roots_add(roots, real);
    }
}

static bool is_at(const char *path, size_t bytes, const char *word, size_t word_bytes)
{
    for (size_t i = 0; i < word_bytes; i++) {
        if (i >= bytes || path[i] != word[i]) {
            return false;
        }
    }
    return true;
}

size_t js_path_prefix_bytes(const struct js_roots *roots, const char *path, size_t bytes)
{
    static const char scheme[] = "file://", modules[] = "/node_modules/";
    size_t skip = is_at(path, bytes, scheme, sizeof scheme - 1) ? sizeof scheme - 1 : 0, longest = 0;
    for (size_t i = 0; i < roots->count; i++) {
        if (roots->bytes[i] > longest && roots->bytes[i] < bytes - skip &&
            is_at(path + skip, bytes - skip, roots->paths[i], roots->bytes[i])) {
            longest = roots->bytes[i];
        }
    }
    for (size_t i = skip; longest == 0 && i < bytes; i++) {
        if (is_at(path + i, bytes - i, modules, sizeof modules - 1)) {
            return i + 1;
        }
    }
    return skip + longest;
}
