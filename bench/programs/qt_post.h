/* SPDX-License-Identifier: Apache-2.0 */
/* qt_post.h - posts and delivers a Qt event, and runs work in a Qt thread pool (bench_tasks.c). */
#ifndef SBX_QT_POST_H
#define SBX_QT_POST_H

#ifdef __cplusplus
extern "C" {
#endif

/* Call this once, on the main thread. */
void qt_post_begin(void);

/* Post an event to an object of this thread, and deliver it. */
void qt_post_and_deliver(void);

/* Start a function in a pool of one thread, and poll until it has run. */
void qt_start_and_run(void);

#ifdef __cplusplus
}
#endif

#endif
