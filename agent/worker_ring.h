/* SPDX-License-Identifier: Apache-2.0 */
/* worker_ring.h - the ring of a forked worker: short until there is more to record.
 *
 * Most of the cost of a start is memory that the kernel fills with zeroes, and most of this memory is the ring. Many
 * workers end soon, and most of the others rest. So a worker's ring begins with the chunks that
 * sbx_recording_create_for_worker() has reserved, and gets its full length when half of them were used. */
#ifndef SBX_WORKER_RING_H
#define SBX_WORKER_RING_H

/* Lengthen the ring if it is time to. Watch thread, in a tick. Without memory the ring stays as it is. */
void sbx_worker_ring_look(void);

#endif
