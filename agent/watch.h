/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - the thread that ticks while the application works and rests while it rests. It never takes a lock, never waits for the
 * loader, never allocates. */
#ifndef SBX_WATCH_H
#define SBX_WATCH_H

/* Its body. */
void *sbx_watch_main(void *unused);

#endif
