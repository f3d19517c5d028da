/* SPDX-License-Identifier: Apache-2.0 */
/* js_paths.h - names of scripts without what differs between machines. */
#ifndef JS_PATHS_H
#define JS_PATHS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    JS_PATH_BYTES = 512,
    JS_ROOTS_MAX = 2
};

/* Folders of the program's own sources, each with a slash at its end. */
struct js_roots {
    char paths[JS_ROOTS_MAX][JS_PATH_BYTES];
    size_t bytes[JS_ROOTS_MAX];
    size_t count;
};

/* Add the package that the folder `path` lies in: the next folder above it with a package.json; itself, where there is none. Asks the
 * file system. */
void js_roots_add(struct js_roots *roots, const char *path);

/* The folders of this process: that of the script it was told to run, and the one it was started in. */
void js_roots_find(struct js_roots *roots);

/* How many bytes of a script's name are no part of what it is called everywhere: the scheme of a URL, the program's own folder, or
 * the folder that node_modules lies in. Signal safe. */
size_t js_path_prefix_bytes(const struct js_roots *roots, const char *path, size_t bytes);

#endif
