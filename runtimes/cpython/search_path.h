/* SPDX-License-Identifier: Apache-2.0 */
/* search_path.h - sys.path, the folders that the program's files lie in: as it was when its own code began to run, and as it is.
 *
 * Programs add folders late (gunicorn --chdir, uvicorn --app-dir), and what is imported from there must have the id that it has on
 * other machines. So the list is looked at each time a function is met for the first time. That may be in a handler, while another
 * thread changes it: its words are asked about before they are read, and a list that cannot be read adds nothing. */
#ifndef SEARCH_PATH_H
#define SEARCH_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code_names.h"
#include "cpython_layout.h"

enum {
    SEARCH_PATH_KEPT = 32, /* entries of the begin; programs take some out again */
    SEARCH_PATH_MAX = 128, /* entries that are looked at */
};

struct search_path {
    const struct cpython_layout *layout;
    uint64_t string_type; /* address of PyUnicode_Type */
    uint64_t list;        /* the list object, which we have a reference to; 0: none */
    uint32_t folder_bytes, kept_count;
    char folder[CODE_FILE_MAX]; /* the working folder */
    struct source_prefix kept[SEARCH_PATH_KEPT];
};

/* Note the working folder. On the agent's own thread, before others look at anything here: a program may be in a sandbox that forbids it to ask. */
void search_path_learn_folder(struct search_path *path);

/* How many entries the list has. This and the following are signal safe. */
size_t search_path_count(const struct search_path *path);

/* The address of entry `index`; 0: it cannot be read. */
uint64_t search_path_item(const struct search_path *path, size_t index);

/* It as a prefix: what is no absolute path lies below the working folder as it was, "" is that folder. false: it is no path, or too long. */
bool search_path_entry(const struct search_path *path, size_t index, struct source_prefix *prefix_out);

/* Keep what the list has now. With the interpreter's lock, once. */
void search_path_keep(struct search_path *path);

/* Keep the folder of the script that was started as well: the list has it without symbolic links. */
void search_path_keep_script(struct search_path *path, const char *file, size_t bytes);

/* How many bytes at the begin of `file` say where the sources lie on this machine. */
size_t search_path_cut(const struct search_path *path, const char *file, size_t bytes);

#endif
