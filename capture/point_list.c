/* SPDX-License-Identifier: Apache-2.0 */
/* point_list.c - the list of all capture points. Points of self-pipes come after those of the libraries whose functions
 * they use. */
#include "point.h"

const struct sbx_point_list *const sbx_point_lists[] = {
    &sbx_points_alloc,     &sbx_points_lock,      &sbx_points_poll,      &sbx_points_sleep,     &sbx_points_file,
    &sbx_points_socket,    &sbx_points_loader,    &sbx_points_map,       &sbx_points_open,      &sbx_points_sync,
    &sbx_points_file_lock, &sbx_points_stat,      &sbx_points_directory, &sbx_points_stdio,     &sbx_points_process,
    &sbx_points_clock,     &sbx_points_frame,     &sbx_points_rwlock,    &sbx_points_spin,      &sbx_points_wait,
    &sbx_points_futex,     &sbx_points_shield,    &sbx_points_sandbox,   &sbx_points_jump,      &sbx_points_privileges,
    &sbx_points_signal,    &sbx_points_thread,    &sbx_points_glib,      &sbx_points_glib_pool, &sbx_points_uv,
    &sbx_points_uv_fs,     &sbx_points_uv_handle, &sbx_points_qt,        &sbx_points_qt_pool,   &sbx_points_libevent,
    &sbx_points_gdbus,     &sbx_points_self_pipe, &sbx_points_uring,
};
const size_t sbx_point_list_count = SBX_COUNT_OF(sbx_point_lists);
