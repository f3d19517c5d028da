/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_bundle.h - several files of one program in one: the program itself, what dwz moved out of it, and its split
 * debug information.
 *
 *  0   "SBXPARTS"   magic
 *  8   u32          1, the version
 *  12  u32          number of members
 *  16  members      { u32 kind, u32 zero, u64 offset, u64 bytes } each, in the order of their offsets
 *  ..  bytes        each member begins at a multiple of 8, after the one before and after the table
 *
 * Numbers are little-endian. One request has one file, and a process has some hundreds of open files. So a project of
 * thousands of .dwo files is sent as one file in this form. It contains no names. */
#ifndef SBX_SYMBOL_BUNDLE_H
#define SBX_SYMBOL_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sbx_bundle_kind {
    SBX_BUNDLE_PROGRAM = 1,   /* the program, its debug file, ...: it has the build-id */
    SBX_BUNDLE_ALTERNATE = 2, /* .gnu_debugaltlink */
    SBX_BUNDLE_PART = 3       /* .dwo or .dwp */
};
enum {
    SBX_BUNDLE_BEGIN_BYTES = 8,
    SBX_BUNDLE_MEMBERS_MAX = 1 << 17
};

struct sbx_bundle_member {
    uint32_t kind;
    uint64_t offset, bytes;
};
struct sbx_bundle {
    struct sbx_bundle_member *members; /* free */
    size_t count;
};

/* Whether a file that begins with these bytes is a bundle. */
bool sbx_bundle_is(const void *begin, size_t bytes);
/* Read the table of the bundle behind `fd`. Every member must lie within the file, and no two may overlap. Returns 0,
 * -EBADMSG, -ENOMEM or -errno. */
int sbx_bundle_read(int fd, struct sbx_bundle *bundle_out);

/* Writes a bundle into an empty file. A file is copied at once when it is added; the table is written last. */
struct sbx_bundle_writer;
/* `members_max`: the largest number of members, at most SBX_BUNDLE_MEMBERS_MAX. `fd` is borrowed. NULL if memory runs
 * out. */
struct sbx_bundle_writer *sbx_bundle_begin(int fd, size_t members_max);
/* Add the content of a regular file, unless that same file was added before. Returns 0, -E2BIG if there are too many
 * members, or -errno. */
int sbx_bundle_add(struct sbx_bundle_writer *writer, enum sbx_bundle_kind kind, int fd);
/* Number of members that were added. */
size_t sbx_bundle_count(const struct sbx_bundle_writer *writer);
/* Write the table, and destroy the writer (NULL is fine). Returns 0, or the first error. */
int sbx_bundle_end(struct sbx_bundle_writer *writer);

/* Copy a member, or any part of a file, to the begin of another file. Returns 0 or -errno. */
int sbx_bundle_copy(int from, uint64_t offset, uint64_t bytes, int to, uint64_t to_offset);

#endif
