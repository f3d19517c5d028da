/* SPDX-License-Identifier: Apache-2.0 */
/* worker_ring.h - the ring of a forked worker: short until there is more to record.
 *
 * Most of what a start takes is memory that the kernel fills with zeroes, and most of that is the ring's. Many workers end soon, and most of the others
 * rest. So theirs begins with the chunks that sbx_recording_create_for_worker() has reserved, and has its full length once half of them were used. */
#ifndef SBX_WORKER_RING_H
#define SBX_WORKER_RING_H

/* Lengthen it where it is time to. Watch thread, in a tick. Where there is no memory it stays as it is. */
void sbx_worker_ring_look(void);

#endif
