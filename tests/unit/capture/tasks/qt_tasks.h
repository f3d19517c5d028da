/* SPDX-License-Identifier: Apache-2.0 */
/* qt_tasks.h - a program's use of Qt's queues: bodies of recorded children, and the places where they queue tasks. */
#ifndef SBX_TEST_QT_TASKS_H
#define SBX_TEST_QT_TASKS_H

enum {
    QT_FLOOD = 1000 /* events at once: many more than are followed */
};

#ifdef __cplusplus
extern "C" {
#endif

void child_uses_one_queue(void);
void child_uses_two_queues(void);
void child_takes_back(void);
void child_floods(void);
void child_deletes_what_has_timers(void);
void child_throws(void);
void child_nests(void);

/* Each function is less than 512 bytes of code. */
void qt_post_here(void *receiver);
void qt_invoke_here(void *receiver);
void qt_emit_here(void *sender);
void qt_start_here(void *receiver);
void qt_shoot_here(void *receiver);

/* The first function in QEvent's vtable. */
const void *qt_vtable_word(void);

#ifdef __cplusplus
}
#endif

#endif
