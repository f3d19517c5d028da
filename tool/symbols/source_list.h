/* SPDX-License-Identifier: Apache-2.0 */
/* source_list.h - the sources for `stallbox symbols names`, each with the name that its runtime uses. */
#ifndef SBX_SOURCE_LIST_H
#define SBX_SOURCE_LIST_H

#include <stddef.h>

#include "names_worker.h"

struct sbx_source {
    enum sbx_names_runtime runtime;
    char *path; /* owned, as all here */
    char *file; /* the part of the path that is the same on all machines; points into `path`, or is separate */
    char *text; /* NULL until read */
    size_t bytes;
    char *map; /* of a script: its source map; NULL: none */
    size_t map_bytes;
};

struct sbx_source_list {
    struct sbx_source *sources;
    size_t count, room;
};

/* Add a file, or all files below a folder, sorted by name. Hidden files, files that are no sources, and files behind a
 * symbolic link to a folder are skipped. Returns 0, -ENOEXEC for a file that is no source, or -errno. */
int sbx_source_list_add(struct sbx_source_list *list, const char *path);
void sbx_source_list_finish(struct sbx_source_list *list);

/* Read the bytes of a source of 256 MiB at most; of a script with FILE.map beside it, or one in its last line, that too. Returns 0 or -errno. */
int sbx_source_read(struct sbx_source *source);
/* The same of any file: given, to free(). */
int sbx_source_read_file(const char *path, char **text_out, size_t *bytes_out);
void sbx_source_forget(struct sbx_source *source); /* its bytes */

/* The length of the part of `path` that is different on each machine, for a Python file whose program has its own
 * folder in the first `folder` bytes: that folder, or the part before a folder of packages or of the standard
 * library. */
size_t sbx_source_python_prefix(const char *path, size_t folder);

#endif
