/* SPDX-License-Identifier: Apache-2.0 */
/* host_uv.c - libuv's loop, and the cases that need libuv. */
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "stall.h"

static uv_timer_t timer;
static int (*the_step)(void);

static void on_timer(uv_timer_t *handle)
{
    int next_ms = the_step();
    if (next_ms < 0) {
        uv_stop(handle->loop);
    } else {
        /* A timer that is due at once would run again in the same pass, and the loop would never poll. */
        uv_timer_start(handle, on_timer, next_ms > 0 ? (uint64_t)next_ms : 1, 0);
    }
}

void host_loop(int (*step)(void))
{
    the_step = step;
    uv_timer_init(uv_default_loop(), &timer);
    uv_timer_start(&timer, on_timer, 15, 0);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

/* ---- a synchronous wait for the pool, whose four threads are busy ---- */

static uv_sem_t image_ready;
static uv_work_t jobs[5];

static STALL_FUNCTION void convert_image(uv_work_t *job)
{
    stall_pause_ms(1400);
    STALL_STAY();
    if (job == &jobs[0]) {
        uv_sem_post(&image_ready);
    }
}

static void no_more(uv_work_t *job, int status)
{
    (void)job;
    (void)status;
}

static STALL_FUNCTION void await_image(int n)
{
    uv_sem_init(&image_ready, 0);
    uv_queue_work(uv_default_loop(), &jobs[0], convert_image, no_more);
    uv_sem_wait(&image_ready);
    stall_sink += (uint64_t)n;
}

/* ---- a synchronous file call in the loop ---- */

static STALL_FUNCTION void save_document(int n)
{
    static char block[256 * 1024];
    char path[300];
    uv_fs_t request;
    snprintf(path, sizeof path, "%s/document", stall_folder());
    int file = uv_fs_open(NULL, &request, path, UV_FS_O_CREAT | UV_FS_O_RDWR | UV_FS_O_TRUNC, 0600, NULL);
    uv_buf_t buffer = uv_buf_init(block, sizeof block);
    for (int64_t until_ns = stall_now_ns() + stall_ms * INT64_C(1000000); stall_now_ns() < until_ns;) {
        uv_fs_write(NULL, &request, file, &buffer, 1, 0, NULL);
        uv_fs_fsync(NULL, &request, file, NULL);
    }
    uv_fs_close(NULL, &request, file, NULL);
    stall_sink += (uint64_t)n;
}

/* ---- a uv_rwlock ---- */

static int is_held;
static uv_rwlock_t table_lock;

static STALL_FUNCTION void migrate_table(void)
{
    uv_sleep(1400);
    STALL_STAY();
}

static STALL_FUNCTION void *migrate(void *unused)
{
    uv_rwlock_wrlock(&table_lock);
    __atomic_store_n(&is_held, 1, __ATOMIC_RELEASE);
    migrate_table();
    uv_rwlock_wrunlock(&table_lock);
    return unused;
}

static STALL_FUNCTION void read_table(int n)
{
    uv_rwlock_init(&table_lock);
    stall_thread("migrator", migrate, NULL, NULL);
    while (__atomic_load_n(&is_held, __ATOMIC_ACQUIRE) == 0) {
        stall_pause_ms(2);
    }
    uv_rwlock_rdlock(&table_lock);
    stall_sink += (uint64_t)n;
    uv_rwlock_rdunlock(&table_lock);
}

/* ---- the answer of what ran in the pool ---- */

static void read_cover(uv_work_t *job)
{
    (void)job;
    stall_pause_ms(20);
}

static STALL_FUNCTION void paint_cover(uv_work_t *job, int status)
{
    STALL_COMPUTE_MS(stall_ms);
    stall_sink += (uint64_t)(job != NULL) + (uint64_t)status;
}

static STALL_FUNCTION void load_cover(int n)
{
    uv_queue_work(uv_default_loop(), &jobs[1], read_cover, paint_cover);
    stall_sink += (uint64_t)n;
}

/* ---- what a timer, a send and a request for a file call ---- */

static uv_timer_t autosave;
static uv_async_t wakeup;
static uv_fs_t settings;

static STALL_FUNCTION void save_draft(uv_timer_t *handle)
{
    usleep((useconds_t)stall_ms * 1000);
    stall_sink += (uint64_t)(handle != NULL);
}

static STALL_FUNCTION void arm_autosave(int n)
{
    uv_timer_init(uv_default_loop(), &autosave);
    uv_timer_start(&autosave, save_draft, 20, 0);
    stall_sink += (uint64_t)n;
}

static STALL_FUNCTION void show_result(uv_async_t *handle)
{
    STALL_COMPUTE_MS(stall_ms);
    stall_sink += (uint64_t)(handle != NULL);
}

static STALL_FUNCTION void *finish_download(void *unused)
{
    stall_pause_ms(20);
    uv_async_send(&wakeup);
    return unused;
}

static STALL_FUNCTION void start_download(int n)
{
    uv_async_init(uv_default_loop(), &wakeup, show_result);
    stall_thread("downloader", finish_download, NULL, NULL);
    stall_sink += (uint64_t)n;
}

static STALL_FUNCTION void apply_settings(uv_fs_t *request)
{
    STALL_COMPUTE_MS(stall_ms);
    stall_sink += (uint64_t)(request != NULL);
}

static STALL_FUNCTION void load_settings(int n)
{
    uv_fs_stat(uv_default_loop(), &settings, "/", apply_settings);
    stall_sink += (uint64_t)n;
}

/* From the loop to the pool, and from there to the loop. */
static STALL_FUNCTION void paint_tile(uv_async_t *handle)
{
    STALL_COMPUTE_MS(stall_ms);
    stall_sink += (uint64_t)(handle != NULL);
}

static STALL_FUNCTION void decode_tile(uv_work_t *job)
{
    stall_pause_ms(20);
    uv_async_send(&wakeup);
    stall_sink += (uint64_t)(job != NULL);
}

static STALL_FUNCTION void scroll_view(int n)
{
    uv_async_init(uv_default_loop(), &wakeup, paint_tile);
    uv_queue_work(uv_default_loop(), &jobs[2], decode_tile, no_more);
    stall_sink += (uint64_t)n;
}

/* ---- a pool whose threads are all busy ---- */

enum {
    POOL_THREADS = 4 /* libuv's default */
};
static uv_work_t archive_jobs[POOL_THREADS], cover_job;
static uv_sem_t cover_read;

static STALL_FUNCTION void unpack_archive(uv_work_t *job)
{
    usleep((useconds_t)(stall_ms + 200) * 1000);
    stall_sink += (uint64_t)(job != NULL);
}

static STALL_FUNCTION void read_one_cover(uv_work_t *job)
{
    uv_sem_post(&cover_read);
    stall_sink += (uint64_t)(job != NULL);
}

static STALL_FUNCTION void import_albums(void)
{
    for (int i = 0; i < POOL_THREADS; i++) {
        uv_queue_work(uv_default_loop(), &archive_jobs[i], unpack_archive, no_more);
    }
    STALL_STAY();
}

static STALL_FUNCTION void await_cover(int n)
{
    uv_sem_init(&cover_read, 0);
    import_albums();
    uv_queue_work(uv_default_loop(), &cover_job, read_one_cover, no_more);
    uv_sem_wait(&cover_read);
    stall_sink += (uint64_t)n;
}

/* A case with much to do that is not blocked. */
enum {
    BRIEF_JOBS = 100
};
static uv_work_t brief_jobs[BRIEF_JOBS]; /* `data`: whether it is queued */

static void work_briefly(uv_work_t *job)
{
    for (int i = 0; i < 2000; i++) {
        stall_sink += (uint64_t)(job != NULL);
    }
}

static void end_brief_job(uv_work_t *job, int status)
{
    job->data = NULL;
    stall_sink += (uint64_t)status;
}

static void fill_pool(int n)
{
    for (int i = 0; i < BRIEF_JOBS; i++) {
        if (brief_jobs[i].data == NULL &&
            uv_queue_work(uv_default_loop(), &brief_jobs[i], work_briefly, end_brief_job) == 0) {
            brief_jobs[i].data = brief_jobs;
        }
    }
    stall_sink += (uint64_t)n;
}

const struct stall stalls_uv[] = {
    {.name = "task_timeout", .message = arm_autosave},
    {.name = "task_send", .message = start_download},
    {.name = "task_file", .message = load_settings},
    {.name = "task_two_hops", .message = scroll_view},
    {.name = "task_answer", .message = load_cover},
    {.name = "task_pool", .message = await_cover},
    {.name = "healthy_uv_pool", .message = fill_pool, .every = true, .delay_ms = 20, .messages = 80},
    {.name = "uv_sem", .message = await_image},
    {.name = "uv_fs_sync", .message = save_document},
    {.name = "uv_rwlock", .message = read_table},
    {.name = NULL},
};
