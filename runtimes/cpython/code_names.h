/* SPDX-License-Identifier: Apache-2.0 */
/* code_names.h - the name and the file of a code object as UTF-8, without the parts that differ between machines.
 *
 * The longest matching entry of sys.path is removed from a file's path (search_path.h). So a function has the same id
 * wherever its source files are. Nothing is allocated, because this runs in signal handlers. */
#ifndef CODE_NAMES_H
#define CODE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpython_layout.h"

enum {
    CODE_FILE_MAX = 512, /* bytes; longer ones are cut */
    CODE_NAME_MAX = 192,
};

/* Copies the characters of a string object as UTF-8, not terminated. Characters beyond `room` bytes are left out, and a
 * character is never cut. Returns the number of bytes; 0: it is no string, or cannot be read. `string_type`: address of
 * PyUnicode_Type. Signal safe. */
size_t code_name_text(const struct cpython_layout *layout, uint64_t string_type, uint64_t string, char *to,
                      size_t room);

/* Removes "//", "/./" and "a/../" from a path, in place. Such parts depend on how the program was started. Returns the
 * number of bytes left. A text that is no path ("<string>") stays as it is. Signal safe. */
size_t source_path_tidy(char *path, size_t bytes);

/* One entry of sys.path. For the standard library's entry, the last folder ("python3.11/") is kept in the file's path,
 * because readers recognise the library by it. */
struct source_prefix {
    uint16_t bytes;
    uint16_t cut;             /* bytes to remove from a file's path */
    char path[CODE_FILE_MAX]; /* with a slash at the end, not terminated */
};

/* Call this when `path` holds `bytes` bytes of an entry: it tidies them and adds the slash. Returns false if this is no
 * absolute path, or is too long. Signal safe. */
bool source_prefix_finish(struct source_prefix *prefix, size_t bytes);

/* The best entry found so far for one path. Begins as {0, 0}. */
struct source_cut {
    size_t longest; /* bytes of the path that the entry matches */
    size_t bytes;   /* bytes that depend on this machine, and are removed */
};

/* Takes `prefix` if it matches more than the best entry so far. Signal safe. */
void source_cut_try(struct source_cut *cut, const struct source_prefix *prefix, const char *path, size_t bytes);

/* Returns the number of bytes to remove in the end. A leading "./" is removed even if no entry matches. */
size_t source_cut_bytes(const struct source_cut *cut, const char *path, size_t bytes);

#endif
