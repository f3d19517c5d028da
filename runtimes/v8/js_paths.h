/* SPDX-License-Identifier: Apache-2.0 */
/* js_paths.h - names of scripts without the parts that differ between machines. */
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

/* Add the package that contains the folder `path`: the nearest folder upwards with a package.json, or the folder itself
 * if there is none. Reads the file system. */
void js_roots_add(struct js_roots *roots, const char *path);

/* Finds the folders of this process: that of its script, and its working directory. */
void js_roots_find(struct js_roots *roots);

/* Returns how many bytes at the start of a script's name depend on the machine: a URL's scheme, the program's own
 * folder, or the folder that contains node_modules. Signal safe. */
size_t js_path_prefix_bytes(const struct js_roots *roots, const char *path, size_t bytes);

#endif
