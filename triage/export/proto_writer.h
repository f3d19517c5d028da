/* SPDX-License-Identifier: Apache-2.0 */
/* proto_writer.h - writes protobuf fields into a growing buffer.
 *
 * The exported formats (Perfetto's TracePacket, pprof's Profile) are schemas of other projects, of which only a few
 * fields are needed here. Generated code for them would be larger than the fields. A failed allocation sets `failed`
 * and makes every later call do nothing, so it is enough to check at the end. One thread at a time. */
#ifndef SBX_PROTO_WRITER_H
#define SBX_PROTO_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_proto_writer {
    uint8_t *bytes; /* owned; may be NULL if nothing is written */
    size_t count;
    size_t capacity;
    bool failed; /* memory ran out: the content is not complete */
};

void sbx_proto_writer_init(struct sbx_proto_writer *writer);
void sbx_proto_writer_finish(struct sbx_proto_writer *writer);

/* Discard the content. Keeps the memory and the `failed` mark. */
void sbx_proto_writer_clear(struct sbx_proto_writer *writer);

/* uint64, uint32, bool, enum, and int64 when cast to uint64_t. */
void sbx_proto_put_varint(struct sbx_proto_writer *writer, uint32_t field, uint64_t value);
void sbx_proto_put_fixed64(struct sbx_proto_writer *writer, uint32_t field, uint64_t value);
void sbx_proto_put_double(struct sbx_proto_writer *writer, uint32_t field, double value);
void sbx_proto_put_bytes(struct sbx_proto_writer *writer, uint32_t field, const void *bytes, size_t count);

/* A string field. The text is cleaned (clean_text.h), because consumers refuse text that is not UTF-8. */
void sbx_proto_put_text(struct sbx_proto_writer *writer, uint32_t field, const char *text);

/* A varint without a field number: the elements of a packed field between message_begin and message_end. */
void sbx_proto_put_packed(struct sbx_proto_writer *writer, uint64_t value);

/* A nested message (or packed field): the fields put between the two calls are its content. `mark` is the result of
 * begin. Begins and ends nest. */
size_t sbx_proto_message_begin(struct sbx_proto_writer *writer, uint32_t field);
void sbx_proto_message_end(struct sbx_proto_writer *writer, size_t mark);

#endif
