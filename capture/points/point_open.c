/* SPDX-License-Identifier: Apache-2.0 */
/* point_open.c - the open and close families.
 *
 * open() reads its mode only when it may create something. The hooks are not variadic functions: they pass on the
 * register that may contain a mode, whatever its value, so the original finds what it would have found. They call the
 * original through its variadic type, because the calling convention passes the number of vector registers to such a
 * function. */
#include "point.h"

#include <fcntl.h>
#include <unistd.h>

#include "client_message.h"
#include "wide_names.h"

#define OPENS(name, original_parameters, parameters, arguments)                        \
    static int(*real_##name) original_parameters;                                      \
    static int hook_##name parameters                                                  \
    {                                                                                  \
        struct sbx_blocking call;                                                      \
        SBX_SAVE_FRAME_POINTER();                                                      \
        sbx_blocking_begin(&call, SBX_GROUP_OPEN, SBX_RECORD_FILE, SBX_OP_OPEN, 0, 0); \
        int result = real_##name arguments;                                            \
        sbx_blocking_end(&call, 0, result < 0, result);                                \
        return result;                                                                 \
    }

OPENS(open, (const char *, int, ...), (const char *path, int flags, mode_t mode), (path, flags, mode))
OPENS(open64, (const char *, int, ...), (const char *path, int flags, mode_t mode), (path, flags, mode))
OPENS(openat, (int, const char *, int, ...), (int folder, const char *path, int flags, mode_t mode),
      (folder, path, flags, mode))
OPENS(openat64, (int, const char *, int, ...), (int folder, const char *path, int flags, mode_t mode),
      (folder, path, flags, mode))
/* Called by fortified programs that give no mode. */
OPENS(open_2, (const char *, int), (const char *path, int flags), (path, flags))
OPENS(open64_2, (const char *, int), (const char *path, int flags), (path, flags))
OPENS(openat_2, (int, const char *, int), (int folder, const char *path, int flags), (folder, path, flags))
OPENS(openat64_2, (int, const char *, int), (int folder, const char *path, int flags), (folder, path, flags))
OPENS(creat, (const char *, mode_t), (const char *path, mode_t mode), (path, mode))
OPENS(creat64, (const char *, mode_t), (const char *path, mode_t mode), (path, mode))

/* The descriptor does not exist any more when the record is made, so its class is not asked. Another thread may get its
 * number before close() returns, so what is known of it is forgotten first. */
static int (*real_close)(int);
static int hook_close(int fd)
{
    struct sbx_blocking call;
    SBX_SAVE_FRAME_POINTER();
    sbx_blocking_begin(&call, SBX_GROUP_OPEN, SBX_RECORD_FILE, SBX_OP_CLOSE, (uint64_t)fd + 1, 0);
    if (SBX_UNLIKELY(sbx_is_client(fd))) {
        sbx_client_answer(&call);
        sbx_client_went(fd);
    }
    sbx_self_pipe_closes(fd);
    int result = real_close(fd);
    sbx_blocking_end(&call, 0, result < 0, -1);
    return result;
}

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_OPEN)
static const struct sbx_point points[] = {
    POINT(open),
    POINT(open64),
    POINT(openat),
    POINT(openat64),
    SBX_POINT("__open_2", hook_open_2, real_open_2, SBX_GROUP_OPEN),
    SBX_POINT("__open64_2", hook_open64_2, real_open64_2, SBX_GROUP_OPEN),
    SBX_POINT("__openat_2", hook_openat_2, real_openat_2, SBX_GROUP_OPEN),
    SBX_POINT("__openat64_2", hook_openat64_2, real_openat64_2, SBX_GROUP_OPEN),
    POINT(creat),
    POINT(creat64),
    POINT(close),
};
const struct sbx_point_list sbx_points_open = SBX_POINT_LIST(points);
