/* SPDX-License-Identifier: Apache-2.0 */
/* code_names.h - what a code object is called, and which file it is of: as UTF-8, without what differs between machines.
 *
 * Of a file's path the longest entry of sys.path is taken off, as it was when the program's own code began to run. So a function
 * has one id wherever its sources lie. Nothing is allocated: this runs in handlers. */
#ifndef CODE_NAMES_H
#define CODE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpython_layout.h"

enum {
    CODE_FILE_MAX = 512, /* bytes; longer ones are cut */
    CODE_NAME_MAX = 192,
    SOURCE_PREFIXES_MAX = 32,
};

/* The characters of a string object as UTF-8, not terminated; bytes beyond `room` are left out, never half a character. 0: it
 * is no string, or cannot be read. `string_type`: address of PyUnicode_Type. Signal safe. */
size_t code_name_text(const struct cpython_layout *layout, uint64_t string_type, uint64_t string, char *to,
                      size_t room);

/* Entries of sys.path. Of that of the standard library the last folder stays, "python3.11/": readers tell it by that. */
struct source_prefixes {
    uint32_t count;
    uint16_t bytes[SOURCE_PREFIXES_MAX];
    uint16_t cuts[SOURCE_PREFIXES_MAX];             /* how many of them are taken off */
    char paths[SOURCE_PREFIXES_MAX][CODE_FILE_MAX]; /* each with its slash at the end */
};

/* Add one; what has no room or is no absolute path is left out. */
void source_prefixes_add(struct source_prefixes *prefixes, const char *path, size_t bytes);

/* How many bytes at the begin of `path` say where the sources lie on this machine. Signal safe. */
size_t source_prefix_bytes(const struct source_prefixes *prefixes, const char *path, size_t bytes);

#endif
