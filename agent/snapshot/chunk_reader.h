/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_reader.h - the ring's chunks, decoded into records of known threads. Private to the reader. */
#ifndef SBX_CHUNK_READER_H
#define SBX_CHUNK_READER_H

#include <stddef.h>
#include <stdint.h>

#include "snapshot.h"

/* Decode the `chunk_count` chunks at `chunks` (any alignment), and the runs that the thread entries still hold, into
 * snapshot->records, sorted, with `thread` an index into snapshot->threads, which holds header.thread_count entries
 * already and gets one more for each former life of an entry that still has records. Callstack ids are as recorded. CPU
 * times of a thread do not go back by as little as clocks are off. What is no record is counted in snapshot->drops.
 * Returns 0 or -ENOMEM. */
SBX_MUST_CHECK int sbx_chunks_read(struct sbx_snapshot *snapshot, const uint8_t *chunks, uint32_t chunk_count);

/* Sort the records by end, those of one end as they stand. Returns 0 or -ENOMEM. */
SBX_MUST_CHECK int sbx_records_sort(struct sbx_snapshot *snapshot);

#endif
