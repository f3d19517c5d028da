/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - the thread that ticks while the application works, and rests while the application rests. It never takes a
 * lock, never waits for the loader, never allocates. */
#ifndef SBX_WATCH_H
#define SBX_WATCH_H

/* The body of the thread. */
void *sbx_watch_main(void *unused);

#endif
