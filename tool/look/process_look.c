/* SPDX-License-Identifier: Apache-2.0 */
/* process_look.c - reads all threads one after another, then finds which waits for which. */
#include "process_look.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

enum {
    FUNCTION_FRAMES = 6 /* between the system call and the function that the program calls */
};

int sbx_process_view_open(struct sbx_process_view *view_out, pid_t pid, struct sbx_rows_cache *cache,
                          const char *const *symbol_dirs, size_t symbol_dir_count)
{
    *view_out = (struct sbx_process_view){.pid = pid, .is_in_other_namespace = sbx_process_is_in_other_namespace(pid)};
    int result = sbx_process_image_read(pid, &view_out->image);
    if (result != 0) {
        return result;
    }
    result = sbx_process_modules_read(&view_out->modules, pid, cache, symbol_dirs, symbol_dir_count);
    if (result != 0) {
        return result == -ENOENT ? -ESRCH : result;
    }
    sbx_processor_clocks_init(&view_out->clocks);
    view_out->names = sbx_frame_names_create();
    view_out->reader = sbx_stack_reader_create();
    if (view_out->names == NULL || view_out->reader == NULL) {
        sbx_process_view_close(view_out);
        return -ENOMEM;
    }
    return 0;
}

void sbx_process_view_close(struct sbx_process_view *view)
{
    sbx_frame_names_destroy(view->names);
    sbx_stack_reader_destroy(view->reader);
    sbx_process_modules_release(&view->modules);
    memset(view, 0, sizeof *view);
}

/* ---- the threads ---- */

static int compare_threads(const void *left, const void *right)
{
    const struct sbx_look_thread *a = left, *b = right;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

/* Sorted by number. The main thread has the number of the process, and is put first. */
static int list_threads(pid_t pid, struct sbx_process_look *look)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return errno == ENOENT ? -ESRCH : -errno;
    }
    size_t room = 0;
    int result = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid <= 0) {
            continue;
        }
        if (look->thread_count == room) {
            room = room == 0 ? 64 : room * 2;
            struct sbx_look_thread *larger = realloc(look->threads, room * sizeof *larger);
            if (larger == NULL) {
                result = -ENOMEM;
                break;
            }
            look->threads = larger;
        }
        look->threads[look->thread_count++] =
            (struct sbx_look_thread){.tid = tid, .waits_for = SBX_LOOK_NOBODY, .asleep_ns = -1};
    }
    closedir(folder);
    if (result == 0 && look->thread_count == 0) {
        result = -ESRCH;
    }
    if (result == 0) {
        qsort(look->threads, look->thread_count, sizeof *look->threads, compare_threads);
        for (size_t i = 0; i < look->thread_count; i++) {
            if (look->threads[i].tid == pid) {
                struct sbx_look_thread main_thread = look->threads[i];
                memmove(&look->threads[1], &look->threads[0], i * sizeof main_thread);
                look->threads[0] = main_thread;
            }
        }
    }
    return result;
}

/* Read one thread. -ESRCH: it has ended. */
static int read_thread(struct sbx_process_view *view, struct sbx_look_thread *thread)
{
    thread->stack = malloc(sizeof *thread->stack);
    if (thread->stack == NULL) {
        return -ENOMEM;
    }
    int result = sbx_thread_status_read(view->pid, thread->tid, view->is_in_other_namespace, &thread->status);
    if (result == 0 && (thread->status.state == 'Z' || thread->status.state == 'X')) {
        result = -ESRCH; /* only its exit status is left */
    }
    if (result == 0) {
        result = sbx_stack_reader_read(view->reader, &view->modules, thread->tid, &thread->position, thread->stack);
    }
    if (result == 0 && thread->position.is_asleep && thread->stack->condition != SBX_STACK_MOVED) {
        thread->asleep_ns = sbx_thread_asleep_ns(&view->clocks, view->pid, thread->tid, thread->status.processor);
    }
    return result;
}

const char *sbx_process_look_function(struct sbx_process_view *view, const struct sbx_thread_stack *stack)
{
    static const char *const kinds[] = {"pthread_", "sem_", "mtx_", "cnd_", "thrd_"};
    for (size_t i = 0; i < stack->count && i < FUNCTION_FRAMES; i++) {
        const struct sbx_frame_name *names;
        size_t count = sbx_frame_names_find(view->names, &view->modules, &stack->frames[i], &names);
        for (size_t n = 0; n < count; n++) {
            /* In glibc's debug files pthread_mutex_lock has the name ___pthread_mutex_lock. */
            const char *function = names[n].function != NULL ? names[n].function + strspn(names[n].function, "_") : "";
            for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
                if (strncmp(function, kinds[kind], strlen(kinds[kind])) == 0) {
                    return function;
                }
            }
        }
    }
    return NULL;
}

/* ---- how they hang together ---- */

static int find_waits(struct sbx_process_view *view, struct sbx_process_look *look)
{
    size_t count = look->thread_count;
    pid_t *tids = calloc(count, sizeof *tids);
    uint32_t *inner_tids = calloc(count, sizeof *inner_tids);
    if (tids == NULL || inner_tids == NULL) {
        free(tids);
        free(inner_tids);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        tids[i] = look->threads[i].tid;
        inner_tids[i] = look->threads[i].status.inner_tid;
    }
    const struct sbx_thread_numbers numbers = {look->pid, count, tids, inner_tids};
    for (size_t i = 0; i < count; i++) {
        struct sbx_look_thread *thread = &look->threads[i];
        if (!thread->position.is_asleep) {
            continue;
        }
        if (thread->status.state == 'T' || thread->status.state == 't') { /* the kernel does not tell its call */
            thread->wait.call = "";
            snprintf(thread->wait.text, sizeof thread->wait.text, "until something continues it");
            continue;
        }
        sbx_thread_wait_find(&numbers, i, &thread->position, sbx_process_look_function(view, thread->stack),
                             &thread->wait);
        for (size_t holder = 0; holder < count && thread->wait.holder_pid == look->pid; holder++) {
            if (tids[holder] == thread->wait.holder) {
                thread->waits_for = (int)holder;
            }
        }
    }
    free(tids);
    free(inner_tids);
    return 0;
}

/* Each thread waits for one other thread at most. So from any thread the path ends, or forms a circle. */
static void find_circles(struct sbx_process_look *look)
{
    for (size_t start = 0; start < look->thread_count; start++) {
        int at = look->threads[start].waits_for;
        for (size_t steps = 0; at != SBX_LOOK_NOBODY && at != (int)start && steps < look->thread_count; steps++) {
            at = look->threads[at].waits_for;
        }
        if (at != (int)start || look->threads[start].circle != 0) {
            continue;
        }
        look->circle_count++;
        do {
            look->threads[at].circle = (int)look->circle_count;
            at = look->threads[at].waits_for;
        } while (at != (int)start);
    }
}

/* Is it still the same process with the same program? After exec all known modules are invalid. */
static int look_at_image(struct sbx_process_view *view, struct sbx_process_look *look)
{
    struct sbx_process_image image;
    int result = sbx_process_image_read(view->pid, &image);
    if (result != 0 || image.start_ticks != view->image.start_ticks) {
        return -ESRCH;
    }
    view->modules.may_refresh = true;
    bool has_memory = image.code_begin != 0 || image.stack_begin != 0; /* only the main thread may have ended */
    if (!has_memory || memcmp(&image, &view->image, sizeof image) == 0) {
        return 0;
    }
    view->image = image;
    look->has_begun_anew = true;
    result = sbx_process_modules_refresh(&view->modules);
    view->modules.may_refresh = true; /* the loader may still be working */
    return result < 0 ? result : 0;
}

int sbx_process_look_take(struct sbx_process_view *view, struct sbx_process_look *look_out)
{
    *look_out = (struct sbx_process_look){.pid = view->pid, .realtime_ns = (int64_t)sbx_read_clock_ns(CLOCK_REALTIME)};
    uint64_t begin_ns = sbx_now_ns();
    int result = look_at_image(view, look_out), refused = 0;
    result = result == 0 ? list_threads(view->pid, look_out) : result;
    size_t kept = 0;
    for (size_t i = 0; result == 0 && i < look_out->thread_count; i++) {
        struct sbx_look_thread thread = look_out->threads[i];
        int read = read_thread(view, &thread);
        if (read == 0) {
            look_out->threads[kept++] = thread;
        } else {
            free(thread.stack);
            look_out->unread_count++;
            refused = read != -ESRCH ? read : refused;
        }
    }
    look_out->thread_count = result == 0 ? kept : 0;
    if (result == 0 && kept == 0) {
        result = refused != 0 ? refused : -ESRCH;
    }
    if (result == 0) {
        snprintf(look_out->name, sizeof look_out->name, "%s", look_out->threads[0].status.name);
        result = find_waits(view, look_out);
    }
    if (result != 0) {
        sbx_process_look_release(look_out);
        return result;
    }
    find_circles(look_out);
    look_out->took_ns = (int64_t)(sbx_now_ns() - begin_ns);
    return 0;
}

void sbx_process_look_release(struct sbx_process_look *look)
{
    for (size_t i = 0; i < look->thread_count; i++) {
        free(look->threads[i].stack);
    }
    free(look->threads);
    memset(look, 0, sizeof *look);
}
