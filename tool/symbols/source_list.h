/* SPDX-License-Identifier: Apache-2.0 */
/* source_list.h - the sources that `stallbox symbols names` was given, each with what its runtime calls it. */
#ifndef SBX_SOURCE_LIST_H
#define SBX_SOURCE_LIST_H

#include <stddef.h>

#include "names_worker.h"

struct sbx_source {
    enum sbx_names_runtime runtime;
    char *path; /* owned, as all here */
    char *file; /* within `path` or by itself: what of it is the same on all machines */
    char *text; /* NULL until read */
    size_t bytes;
    char *map; /* of a script: its source map; NULL: none */
    size_t map_bytes;
};

struct sbx_source_list {
    struct sbx_source *sources;
    size_t count, room;
};

/* Add a file, or the files of a folder and of those below it, in the order of their names. What is hidden, is no source, or lies behind a
 * symbolic link to a folder is passed over. Returns 0, -ENOEXEC for a file that is no source, or -errno. */
int sbx_source_list_add(struct sbx_source_list *list, const char *path);
void sbx_source_list_finish(struct sbx_source_list *list);

/* Read the bytes of a source of 256 MiB at most; of a script with FILE.map beside it, or one in its last line, that too. Returns 0 or -errno. */
int sbx_source_read(struct sbx_source *source);
/* The same of any file: given, to free(). */
int sbx_source_read_file(const char *path, char **text_out, size_t *bytes_out);
void sbx_source_forget(struct sbx_source *source); /* its bytes */

/* How many bytes at the begin of `path` say where a Python file lies on this machine, when the program's own folder is its first `folder`
 * bytes: that folder, or what is in front of a folder of packages or of the standard library. */
size_t sbx_source_python_prefix(const char *path, size_t folder);

#endif
