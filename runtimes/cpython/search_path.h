/* SPDX-License-Identifier: Apache-2.0 */
/* search_path.h - sys.path, the folders of the program's files: as it was when the program's own code began to run, and
 * as it is now.
 *
 * Programs add folders late (gunicorn --chdir, uvicorn --app-dir). Modules that are imported from these folders must
 * have the same ids as on other machines. So the list is read each time a function is met for the first time. This may
 * be in a signal handler while another thread changes the list. So its words are tested before they are read, and a
 * list that cannot be read adds nothing. */
#ifndef SEARCH_PATH_H
#define SEARCH_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code_names.h"
#include "cpython_layout.h"

enum {
    SEARCH_PATH_KEPT = 32, /* entries kept from the start, because programs remove some later */
    SEARCH_PATH_MAX = 128, /* entries of the current list that are read */
};

struct search_path {
    const struct cpython_layout *layout;
    uint64_t string_type; /* address of PyUnicode_Type */
    uint64_t list;        /* the list object, to which we hold a reference; 0: none */
    uint32_t folder_bytes, kept_count;
    char folder[CODE_FILE_MAX]; /* the working directory */
    struct source_prefix kept[SEARCH_PATH_KEPT];
};

/* Store the working directory. Called on the agent's own thread before other threads use this, because a program's
 * sandbox may later forbid the system call. */
void search_path_learn_folder(struct search_path *path);

/* Returns the number of entries of the list. This and the following functions are signal safe. */
size_t search_path_count(const struct search_path *path);

/* Returns the address of entry `index`; 0: it cannot be read. */
uint64_t search_path_item(const struct search_path *path, size_t index);

/* Gets an entry as a prefix. A path that is not absolute is below the stored working directory, and "" is that
 * directory. Returns false if the entry is no path, or is too long. */
bool search_path_entry(const struct search_path *path, size_t index, struct source_prefix *prefix_out);

/* Store the current entries. Called once, with the interpreter lock held. */
void search_path_keep(struct search_path *path);

/* Store the folder of the started script as well, because in the list its symbolic links are resolved. */
void search_path_keep_script(struct search_path *path, const char *file, size_t bytes);

/* Returns how many bytes at the start of `file` depend on this machine. */
size_t search_path_cut(const struct search_path *path, const char *file, size_t bytes);

#endif
