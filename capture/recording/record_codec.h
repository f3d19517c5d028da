/* SPDX-License-Identifier: Apache-2.0 */
/* record_codec.h - one record as delta-coded bytes, and back.
 *
 *   byte 0      kind
 *   byte 1, 2   field mask, little endian: which of the following are present, in this order
 *   varints     (LEB128, 7 bits a byte; "zigzag" where a difference may be negative)
 *       bit 0   end_ns           zigzag delta against the state's last_ns; always present
 *       bit 1   end_ns - begin_ns
 *       bit 2   stack            plain
 *       bit 3   cpu_ns           zigzag delta against the last cpu_ns
 *       bit 4   alloc_count      zigzag delta
 *       bit 5   alloc_bytes      zigzag delta
 *       bit 6   message          zigzag delta
 *       bit 7   op
 *       bit 8   object
 *       bit 9   amount
 *       bit 10  peer
 *       bit 11  flags | fd_class << 8
 *       bit 12  thread           only when it is not the chunk's own thread
 *       bit 13  repeats
 *       bit 14  wait
 *       bit 15  minor_faults, major_faults, voluntary_switches, involuntary_switches (SBX_FLAG_USAGE)
 * A field that is absent is zero, except: cpu_ns absent is "not read" (0); alloc_count, alloc_bytes and message absent
 * are unchanged; thread absent is the chunk's. Both directions keep a state, started from the chunk's base values. */
#ifndef SBX_RECORD_CODEC_H
#define SBX_RECORD_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"

enum { SBX_RECORD_BYTES_MAX = 3 + 19 * 10 };

struct sbx_codec_state {
    uint64_t last_ns, last_cpu_ns, last_alloc_count, last_alloc_bytes, last_message;
    uint32_t thread; /* the chunk's own */
};

/* Encode into out[0..SBX_RECORD_BYTES_MAX); returns the bytes used and moves the state on. Never fails. */
SBX_SIGNAL_SAFE size_t sbx_record_encode(struct sbx_codec_state *state, const struct sbx_record *record, uint8_t *out);

/* Decode one record from bytes[0..available). Returns the bytes used, or 0 when they are no record (unknown kind or mask
 * bit, a varint over 64 bits, end of bytes): the rest of the chunk is then unreadable. Bounded; reads nothing beyond. */
size_t sbx_record_decode(struct sbx_codec_state *state, const uint8_t *bytes, size_t available, struct sbx_record *record_out);

#endif
