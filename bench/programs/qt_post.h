/* SPDX-License-Identifier: Apache-2.0 */
/* qt_post.h - an event of Qt's that is posted and delivered, and work for a pool of Qt's (bench_tasks.c). */
#ifndef SBX_QT_POST_H
#define SBX_QT_POST_H

#ifdef __cplusplus
extern "C" {
#endif

/* Once, on the main thread. */
void qt_post_begin(void);

/* Post one to an object of this thread, and have it delivered. */
void qt_post_and_deliver(void);

/* Start a function in a pool of one thread, and look until it has run. */
void qt_start_and_run(void);

#ifdef __cplusplus
}
#endif

#endif
