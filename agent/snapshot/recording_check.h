/* SPDX-License-Identifier: Apache-2.0 */
/* recording_check.h - can these bytes be read as a recording at all?
 *
 * Pure and without libc, because both the tools and the copy inside the application use it. */
#ifndef SBX_RECORDING_CHECK_H
#define SBX_RECORDING_CHECK_H

#include <stdint.h>

#include "marks.h"
#include "recording_format.h"

enum {
    SBX_NODES_LIMIT = 1 << 24,  /* both halves: a node index has 24 bits and the overflow id must stay outside */
    SBX_FRAMES_LIMIT = 1 << 24, /* both halves: a frame id has 24 bits */
    SBX_CHUNKS_LIMIT = 1 << 16, /* 256 MiB of ring: bounds what a reader allocates */
};

/* Check magic, version and layout, and that every section lies inside a file of `bytes` bytes and has elements of the
 * known size. Returns NULL when all holds, else a sentence fragment ("is not a recording"); *error_out is then -EINVAL,
 * or -EPROTO for a recording of another version. Trusts nothing; reads only *header, a complete header. */
SBX_MUST_CHECK const char *sbx_recording_check(const struct sbx_recording_header *header, uint64_t bytes,
                                               int *error_out);

#endif
