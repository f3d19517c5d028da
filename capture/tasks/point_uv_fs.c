/* SPDX-License-Identifier: Apache-2.0 */
/* point_uv_fs.c - libuv's requests for files: which thread made the request whose callback runs on the loop.
 *
 * The callback is the last argument. It stays in the request until libuv has called it once, also when the request was
 * cancelled. It is replaced like that of work for the pool (point_uv.c). Without a callback the call is made at once,
 * and no work passes to another thread. The time that the file took is part of the time that the task lay. Three
 * functions are missing here: they take times as doubles, which this code may not touch
 * (capture/points/CMakeLists.txt). */
#include "point.h"
#include "task.h"
#include "uv_calls.h"

#include <errno.h>

typedef void file_function(void *request);

/* The first fields of a uv_fs_t. Their layout is part of libuv 1's binary interface (uv.h). */
struct file_request {
    void *data;
    int type;
    void *reserved[6];
    int what;
    void *loop;
    file_function *callback;
    long result;
};

static void run_callback(void *request)
{
    struct sbx_uv_call *call = sbx_uv_call_find(request);
    struct file_request *fields = request;
    if (call == NULL) {
        return; /* cannot happen: a request has its entry until it is over */
    }
    file_function *callback = call->callback;
    uint64_t task = call->task;
    fields->callback = fields->callback == run_callback ? callback : fields->callback;
    sbx_uv_call_let_go(call); /* the code below may use the request again */
    if (fields->result == -ECANCELED) {
        sbx_task_cancelled(task);
        task = 0;
    }
    sbx_task_begin(task);
    callback(request);
    sbx_task_end(task);
}

/* The function to give to libuv in place of the program's callback. */
SBX_NOINLINE static file_function *follow(void *request, file_function *callback)
{
    struct sbx_uv_call *call = sbx_capture_is_open() && request != NULL ? sbx_uv_call_take(request) : NULL;
    if (call == NULL) {
        return callback;
    }
    call->callback = callback;
    call->task = sbx_task_queued(SBX_GROUP_UV, SBX_OP_UV_FS, 0, 0, 0); /* a file request lies in no queue */
    sbx_uv_call_put(call, request);
    return run_callback;
}

/* The request was refused, so nothing will be called. */
SBX_NOINLINE static void forget(void *request)
{
    struct sbx_uv_call *call = sbx_uv_call_find(request);
    if (call != NULL) {
        sbx_task_cancelled(call->task);
        sbx_uv_call_let_go(call);
    }
}

#define FS_HOOK(name, parameters, arguments)                                        \
    static int(*real_uv_fs_##name) parameters;                                      \
    static int hook_uv_fs_##name parameters                                         \
    {                                                                               \
        file_function *given = callback != NULL ? follow(request, callback) : NULL; \
        int result = real_uv_fs_##name arguments;                                   \
        if (SBX_UNLIKELY(result < 0) && given == run_callback) {                    \
            forget(request);                                                        \
        }                                                                           \
        return result;                                                              \
    }

FS_HOOK(close, (void *loop, void *request, int file, file_function *callback), (loop, request, file, given))
FS_HOOK(open, (void *loop, void *request, const char *path, int flags, int mode, file_function *callback),
        (loop, request, path, flags, mode, given))
FS_HOOK(read,
        (void *loop, void *request, int file, const void *buffers, unsigned count, int64_t offset,
         file_function *callback),
        (loop, request, file, buffers, count, offset, given))
FS_HOOK(unlink, (void *loop, void *request, const char *path, file_function *callback), (loop, request, path, given))
FS_HOOK(write,
        (void *loop, void *request, int file, const void *buffers, unsigned count, int64_t offset,
         file_function *callback),
        (loop, request, file, buffers, count, offset, given))
FS_HOOK(copyfile,
        (void *loop, void *request, const char *path, const char *new_path, int flags, file_function *callback),
        (loop, request, path, new_path, flags, given))
FS_HOOK(mkdir, (void *loop, void *request, const char *path, int mode, file_function *callback),
        (loop, request, path, mode, given))
FS_HOOK(mkdtemp, (void *loop, void *request, const char *path, file_function *callback), (loop, request, path, given))
FS_HOOK(mkstemp, (void *loop, void *request, const char *path, file_function *callback), (loop, request, path, given))
FS_HOOK(rmdir, (void *loop, void *request, const char *path, file_function *callback), (loop, request, path, given))
FS_HOOK(scandir, (void *loop, void *request, const char *path, int flags, file_function *callback),
        (loop, request, path, flags, given))
FS_HOOK(opendir, (void *loop, void *request, const char *path, file_function *callback), (loop, request, path, given))
FS_HOOK(readdir, (void *loop, void *request, void *directory, file_function *callback),
        (loop, request, directory, given))
FS_HOOK(closedir, (void *loop, void *request, void *directory, file_function *callback),
        (loop, request, directory, given))
FS_HOOK(stat, (void *loop, void *request, const char *path, file_function *callback), (loop, request, path, given))
FS_HOOK(fstat, (void *loop, void *request, int file, file_function *callback), (loop, request, file, given))
FS_HOOK(lstat, (void *loop, void *request, const char *path, file_function *callback), (loop, request, path, given))
FS_HOOK(rename, (void *loop, void *request, const char *path, const char *new_path, file_function *callback),
        (loop, request, path, new_path, given))
FS_HOOK(fsync, (void *loop, void *request, int file, file_function *callback), (loop, request, file, given))
FS_HOOK(fdatasync, (void *loop, void *request, int file, file_function *callback), (loop, request, file, given))
FS_HOOK(ftruncate, (void *loop, void *request, int file, int64_t offset, file_function *callback),
        (loop, request, file, offset, given))
FS_HOOK(sendfile,
        (void *loop, void *request, int out_file, int in_file, int64_t offset, size_t bytes, file_function *callback),
        (loop, request, out_file, in_file, offset, bytes, given))
FS_HOOK(access, (void *loop, void *request, const char *path, int mode, file_function *callback),
        (loop, request, path, mode, given))
FS_HOOK(chmod, (void *loop, void *request, const char *path, int mode, file_function *callback),
        (loop, request, path, mode, given))
FS_HOOK(fchmod, (void *loop, void *request, int file, int mode, file_function *callback),
        (loop, request, file, mode, given))
FS_HOOK(chown, (void *loop, void *request, const char *path, unsigned user, unsigned group, file_function *callback),
        (loop, request, path, user, group, given))
FS_HOOK(fchown, (void *loop, void *request, int file, unsigned user, unsigned group, file_function *callback),
        (loop, request, file, user, group, given))
FS_HOOK(lchown, (void *loop, void *request, const char *path, unsigned user, unsigned group, file_function *callback),
        (loop, request, path, user, group, given))
FS_HOOK(link, (void *loop, void *request, const char *path, const char *new_path, file_function *callback),
        (loop, request, path, new_path, given))
FS_HOOK(symlink,
        (void *loop, void *request, const char *path, const char *new_path, int flags, file_function *callback),
        (loop, request, path, new_path, flags, given))
FS_HOOK(readlink, (void *loop, void *request, const char *path, file_function *callback), (loop, request, path, given))
FS_HOOK(realpath, (void *loop, void *request, const char *path, file_function *callback), (loop, request, path, given))
FS_HOOK(statfs, (void *loop, void *request, const char *path, file_function *callback), (loop, request, path, given))

#define POINT(name) SBX_POINT("uv_fs_" #name, hook_uv_fs_##name, real_uv_fs_##name, SBX_GROUP_UV)
static const struct sbx_point points[] = {
    POINT(close),    POINT(open),      POINT(read),      POINT(unlink),   POINT(write),   POINT(copyfile),
    POINT(mkdir),    POINT(mkdtemp),   POINT(mkstemp),   POINT(rmdir),    POINT(scandir), POINT(opendir),
    POINT(readdir),  POINT(closedir),  POINT(stat),      POINT(fstat),    POINT(lstat),   POINT(rename),
    POINT(fsync),    POINT(fdatasync), POINT(ftruncate), POINT(sendfile), POINT(access),  POINT(chmod),
    POINT(fchmod),   POINT(chown),     POINT(fchown),    POINT(lchown),   POINT(link),    POINT(symlink),
    POINT(readlink), POINT(realpath),  POINT(statfs),
};
const struct sbx_point_list sbx_points_uv_fs = SBX_POINT_LIST(points);
