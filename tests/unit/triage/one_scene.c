/* SPDX-License-Identifier: Apache-2.0 */
/* one_scene.c - a scene as a cmocka fixture. */
#include "one_scene.h"

struct sbx_stall_scene *scene;

int begin_scene(void **state)
{
    (void)state;
    scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    return 0;
}

int end_scene(void **state)
{
    (void)state;
    sbx_scene_destroy(scene);
    return 0;
}
