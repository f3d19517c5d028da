/* SPDX-License-Identifier: Apache-2.0 */
/* glib_tasks.c - tasks in GLib's queues: the task that stalls was queued by another thread. */
#include <gio/gio.h>
#include <glib.h>

#include "stall.h"

/* ---- one hop to the loop ---- */

static STALL_FUNCTION gboolean index_photo(gpointer unused)
{
    STALL_COMPUTE_MS(stall_ms);
    stall_sink += (uint64_t)(unused != NULL);
    return G_SOURCE_REMOVE;
}

static STALL_FUNCTION void on_folder_opened(int n)
{
    g_idle_add(index_photo, NULL);
    stall_sink += (uint64_t)n;
}

static STALL_FUNCTION gboolean save_draft(gpointer unused)
{
    usleep((useconds_t)stall_ms * 1000);
    stall_sink += (uint64_t)(unused != NULL);
    return G_SOURCE_REMOVE;
}

static STALL_FUNCTION void arm_autosave(int n)
{
    g_timeout_add(40, save_draft, NULL);
    stall_sink += (uint64_t)n;
}

static STALL_FUNCTION gboolean show_result(gpointer unused)
{
    STALL_COMPUTE_MS(stall_ms);
    stall_sink += (uint64_t)(unused != NULL);
    return G_SOURCE_REMOVE;
}

static STALL_FUNCTION gpointer finish_download(gpointer unused)
{
    stall_pause_ms(30);
    g_main_context_invoke(NULL, show_result, NULL);
    STALL_STAY();
    return unused;
}

static STALL_FUNCTION void start_download(int n)
{
    g_thread_unref(g_thread_new("download", finish_download, NULL));
    stall_sink += (uint64_t)n;
}

static STALL_FUNCTION gboolean apply_theme(gpointer unused)
{
    STALL_COMPUTE_MS(stall_ms);
    stall_sink += (uint64_t)(unused != NULL);
    return G_SOURCE_REMOVE;
}

static STALL_FUNCTION void request_theme(int n)
{
    GSource *source = g_idle_source_new();
    g_source_set_callback(source, apply_theme, NULL, NULL);
    g_source_attach(source, NULL);
    g_source_unref(source);
    stall_sink += (uint64_t)n;
}

/* ---- the answer of what ran in a thread ---- */

static void load(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
    (void)source;
    (void)data;
    (void)cancellable;
    stall_pause_ms(20);
    g_task_return_boolean(task, TRUE);
}

static STALL_FUNCTION void on_loaded(GObject *source, GAsyncResult *result, gpointer unused)
{
    (void)source;
    (void)result;
    STALL_COMPUTE_MS(stall_ms);
    stall_sink += (uint64_t)(unused != NULL);
}

static STALL_FUNCTION void load_playlist(int n)
{
    GTask *task = g_task_new(NULL, NULL, on_loaded, NULL);
    g_task_run_in_thread(task, load);
    g_object_unref(task);
    stall_sink += (uint64_t)n;
}

/* ---- two hops: a pool's item adds to the loop ---- */

static GThreadPool *pool;

static STALL_FUNCTION gboolean paint_tile(gpointer unused)
{
    STALL_COMPUTE_MS(stall_ms);
    stall_sink += (uint64_t)(unused != NULL);
    return G_SOURCE_REMOVE;
}

static STALL_FUNCTION void decode_tile(gpointer item, gpointer unused)
{
    (void)unused;
    stall_pause_ms(10);
    g_idle_add(paint_tile, item);
    STALL_STAY();
}

static void prepare_tiles(void)
{
    pool = g_thread_pool_new(decode_tile, NULL, 1, TRUE, NULL);
}

static STALL_FUNCTION void scroll_view(int n)
{
    g_thread_pool_push(pool, GINT_TO_POINTER(n), NULL);
    stall_sink += (uint64_t)n;
}

/* ---- a result that is waited for ---- */

static GMutex lock;
static GCond is_done;
static int wanted_done;

enum {
    HUGE_ITEM = 1,
    WANTED_ITEM = 2
};

static STALL_FUNCTION void decode_huge(void)
{
    STALL_COMPUTE_MS(stall_ms + 200);
    STALL_STAY();
}

static STALL_FUNCTION void decode_one(gpointer item, gpointer unused)
{
    (void)unused;
    if (GPOINTER_TO_INT(item) == HUGE_ITEM) {
        decode_huge();
        return;
    }
    STALL_COMPUTE_MS(5);
    g_mutex_lock(&lock);
    wanted_done = 1;
    g_cond_signal(&is_done);
    g_mutex_unlock(&lock);
}

static void prepare_decoder(void)
{
    pool = g_thread_pool_new(decode_one, NULL, 1, TRUE, NULL);
}

static STALL_FUNCTION void prefetch_album(void)
{
    g_thread_pool_push(pool, GINT_TO_POINTER(HUGE_ITEM), NULL);
    STALL_STAY();
}

static STALL_FUNCTION void show_thumbnail(int n)
{
    prefetch_album();
    g_thread_pool_push(pool, GINT_TO_POINTER(WANTED_ITEM), NULL);
    g_mutex_lock(&lock);
    while (!wanted_done) {
        g_cond_wait(&is_done, &lock);
    }
    g_mutex_unlock(&lock);
    stall_sink += (uint64_t)n;
}

/* ---- a wait for another thread, after work was queued for the waiting thread's own loop ---- */

static GCond is_asked;
static int sync_asked, sync_done;

static STALL_FUNCTION void synchronise_folder(void)
{
    STALL_COMPUTE_MS(stall_ms);
    STALL_STAY();
}

static void *synchronise_when_asked(void *unused)
{
    g_mutex_lock(&lock);
    while (!sync_asked) {
        g_cond_wait(&is_asked, &lock);
    }
    g_mutex_unlock(&lock);
    synchronise_folder();
    g_mutex_lock(&lock);
    sync_done = 1;
    g_cond_signal(&is_done);
    g_mutex_unlock(&lock);
    return unused;
}

static void prepare_sync(void)
{
    stall_thread("sync", synchronise_when_asked, NULL, NULL);
}

static STALL_FUNCTION gboolean refresh_view(gpointer unused)
{
    (void)unused;
    stall_sink += 1;
    return G_SOURCE_REMOVE;
}

static STALL_FUNCTION void await_sync(void)
{
    g_mutex_lock(&lock);
    sync_asked = 1;
    g_cond_signal(&is_asked);
    while (!sync_done) {
        g_cond_wait(&is_done, &lock);
    }
    g_mutex_unlock(&lock);
}

static STALL_FUNCTION void sync_with_refresh(int n)
{
    g_idle_add(refresh_view, NULL);
    await_sync();
    stall_sink += (uint64_t)n;
}

static STALL_FUNCTION void sync_with_time_limit(int n)
{
    g_timeout_add(3000, refresh_view, NULL);
    await_sync();
    stall_sink += (uint64_t)n;
}

/* ---- a pool that has much to do, and does it ---- */

static void take_briefly(gpointer item, gpointer unused)
{
    (void)item;
    (void)unused;
    for (int i = 0; i < 2000; i++) {
        stall_sink += (uint64_t)i;
    }
}

static gboolean do_nothing(gpointer unused)
{
    (void)unused;
    return G_SOURCE_REMOVE;
}

static void prepare_busy_pool(void)
{
    pool = g_thread_pool_new(take_briefly, NULL, 2, TRUE, NULL);
}

static void fill_busy_pool(int n)
{
    for (int i = 1; i <= 200; i++) {
        g_thread_pool_push(pool, GINT_TO_POINTER(i), NULL);
        g_idle_add(do_nothing, GINT_TO_POINTER(i));
    }
    stall_sink += (uint64_t)n;
}

const struct stall stalls_glib_tasks[] = {
    {.name = "task_idle", .message = on_folder_opened},
    {.name = "task_timeout", .message = arm_autosave},
    {.name = "task_invoke", .message = start_download},
    {.name = "task_attach", .message = request_theme},
    {.name = "task_answer", .message = load_playlist},
    {.name = "task_two_hops", .prepare = prepare_tiles, .message = scroll_view},
    {.name = "task_queue", .prepare = prepare_decoder, .message = show_thumbnail},
    {.name = "wait_after_idle", .prepare = prepare_sync, .message = sync_with_refresh},
    {.name = "wait_after_timer", .prepare = prepare_sync, .message = sync_with_time_limit},
    {.name = "healthy_pool",
     .prepare = prepare_busy_pool,
     .message = fill_busy_pool,
     .every = true,
     .delay_ms = 20,
     .messages = 80},
    {.name = NULL},
};
