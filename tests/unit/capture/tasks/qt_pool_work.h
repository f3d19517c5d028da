/* SPDX-License-Identifier: Apache-2.0 */
/* qt_pool_work.h - a program's use of Qt's thread pools: bodies of recorded children, and the places where they start
 * work. */
#ifndef SBX_TEST_QT_POOL_WORK_H
#define SBX_TEST_QT_POOL_WORK_H

enum {
    QT_POOL_FLOOD = 3000 /* at once: many more than are followed */
};

#ifdef __cplusplus
extern "C" {
#endif

void child_starts_each_sort(void);
void child_takes_work_back(void);
void child_compares(void);
void child_throws_out_of_work(void);
void child_waits_inside_of_work(void);
void child_floods_a_pool(void);
void child_has_many_classes(void);
void child_starts_and_waits(void);

/* Functions of the test that they call. */
void switch_group(int is_in);

/* Each function is less than 512 bytes of code. */
void qt_start_runnable_here(void *pool);
void qt_start_function_here(void *pool);
void qt_run_concurrently_here(void *pool);

#ifdef __cplusplus
}
#endif

#endif
