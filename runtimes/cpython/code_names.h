/* SPDX-License-Identifier: Apache-2.0 */
/* code_names.h - what a code object is called, and which file it is of: as UTF-8, without what differs between machines.
 *
 * Of a file's path the longest entry of sys.path is taken off (search_path.h). So a function has one id wherever its sources
 * lie. Nothing is allocated: this runs in handlers. */
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

/* The characters of a string object as UTF-8, not terminated; bytes beyond `room` are left out, never half a character. 0: it
 * is no string, or cannot be read. `string_type`: address of PyUnicode_Type. Signal safe. */
size_t code_name_text(const struct cpython_layout *layout, uint64_t string_type, uint64_t string, char *to,
                      size_t room);

/* Without "//", "/./" and "a/../", which how a program was started leaves in its paths; in place. Returns how many bytes are left. What is no path
 * ("<string>") stays as it is. Signal safe. */
size_t source_path_tidy(char *path, size_t bytes);

/* An entry of sys.path. Of that of the standard library the last folder stays, "python3.11/": readers tell it by that. */
struct source_prefix {
    uint16_t bytes;
    uint16_t cut;             /* how many of them are taken off */
    char path[CODE_FILE_MAX]; /* with its slash at the end, not terminated */
};

/* `path` has so many bytes of an entry: tidy them, and put the slash behind. false: it is no absolute path, or too long. Signal safe. */
bool source_prefix_finish(struct source_prefix *prefix, size_t bytes);

/* The best entry for one path so far; begins as {0, 0}. */
struct source_cut {
    size_t longest; /* how much of the path it is */
    size_t bytes;   /* and how many bytes say where the sources lie on this machine */
};

/* Does `prefix` fit better? Signal safe. */
void source_cut_try(struct source_cut *cut, const struct source_prefix *prefix, const char *path, size_t bytes);

/* How many bytes are taken off in the end: a "./" goes in any case. */
size_t source_cut_bytes(const struct source_cut *cut, const char *path, size_t bytes);

#endif
