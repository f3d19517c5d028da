/* SPDX-License-Identifier: Apache-2.0 */
/* one_scene.h - the single scene of a test program: cmocka's set-up and tear-down, a new scene for each test. */
#ifndef SBX_TEST_ONE_SCENE_H
#define SBX_TEST_ONE_SCENE_H

#include "stall_scene.h"

extern struct sbx_stall_scene *scene; /* of the current test */

/* A scene of one thread whose message took a second. A test program that needs another one makes it itself. */
int begin_scene(void **state);
int end_scene(void **state);

#endif
