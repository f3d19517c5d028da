/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_bundle.h - several files of one program as one: itself, what dwz moved out of it, and what was split off it.
 *
 *   0   "SBXPARTS"   magic
 *   8   u32          1, the version
 *   12  u32          how many members
 *   16  members      { u32 kind, u32 zero, u64 offset, u64 bytes } each, in the order of their offsets
 *   ..  bytes        each member begins at a multiple of 8, behind the one before and behind the table
 *
 * Numbers are little-endian. One request has one file, and a process some hundreds of open ones: a project of thousands of
 * .dwo files is one file in this form. Nothing in it is a name. */
#ifndef SBX_SYMBOL_BUNDLE_H
#define SBX_SYMBOL_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sbx_bundle_kind {
    SBX_BUNDLE_PROGRAM = 1,   /* or its debug file, ...: what has the build-id */
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

/* Whether a file that begins so is one. */
bool sbx_bundle_is(const void *begin, size_t bytes);
/* Read the table of the bundle behind `fd`; every member lies within the file, and none over another. Returns 0, -EBADMSG,
 * -ENOMEM or -errno. */
int sbx_bundle_read(int fd, struct sbx_bundle *bundle_out);

/* Write one into an empty file. What is added is copied at once; the table comes last. */
struct sbx_bundle_writer;
/* `members_max`: of which there will be at most, SBX_BUNDLE_MEMBERS_MAX at most. `fd` is borrowed. NULL without memory. */
struct sbx_bundle_writer *sbx_bundle_begin(int fd, size_t members_max);
/* Add what is in a regular file, unless that very file is there. Returns 0, -E2BIG with too many members, or -errno. */
int sbx_bundle_add(struct sbx_bundle_writer *writer, enum sbx_bundle_kind kind, int fd);
/* How many members were added. */
size_t sbx_bundle_count(const struct sbx_bundle_writer *writer);
/* Write the table, and destroy the writer (NULL is fine). Returns 0, or the first thing that failed. */
int sbx_bundle_end(struct sbx_bundle_writer *writer);

/* Copy a member, or any part of a file, to the begin of another. Returns 0 or -errno. */
int sbx_bundle_copy(int from, uint64_t offset, uint64_t bytes, int to, uint64_t to_offset);

#endif
