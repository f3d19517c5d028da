/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_reader.h - decodes the ring's chunks into records of known threads. Private to the reader. */
#ifndef SBX_CHUNK_READER_H
#define SBX_CHUNK_READER_H

#include <stddef.h>
#include <stdint.h>

#include "snapshot.h"

/* Decode the `chunk_count` chunks at `chunks` (any alignment), and the runs that the thread entries still hold, into
 * snapshot->records, sorted by end. `thread` of a record is an index into snapshot->threads. That array already
 * contains header.thread_count entries, and gets one more for each former thread of an entry that still has records.
 * Callstack ids are as recorded. Small steps back in a thread's CPU time, which come from inexact clocks, are removed.
 * Bytes that are no record are counted in snapshot->drops. Returns 0 or -ENOMEM. */
SBX_MUST_CHECK int sbx_chunks_read(struct sbx_snapshot *snapshot, const uint8_t *chunks, uint32_t chunk_count);

/* Sort the records by end; records of the same end keep their order. Returns 0 or -ENOMEM. */
SBX_MUST_CHECK int sbx_records_sort(struct sbx_snapshot *snapshot);

#endif
