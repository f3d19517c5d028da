/* SPDX-License-Identifier: Apache-2.0 */
/* page_functions.c - a library with the functions that are on the stacks of page_sample.c and fleet_sample.c. They are
 * never called. */
#define FUNCTION(name)                                                \
    __attribute__((visibility("default"), noinline)) int name(int a); \
    __attribute__((visibility("default"), noinline)) int name(int a)  \
    {                                                                 \
        __asm__ volatile("" : "+r"(a));                               \
        return a + 1;                                                 \
    }

FUNCTION(start_program)
FUNCTION(run_loop)
FUNCTION(dispatch_task)
FUNCTION(on_photo_ready)
FUNCTION(decode_photo)
FUNCTION(parse_header)
FUNCTION(inflate_rows)
FUNCTION(blur_rows)
FUNCTION(take_cache_lock)
FUNCTION(pool_thread)
FUNCTION(load_folder)
FUNCTION(write_cache)
FUNCTION(disk_thread)
FUNCTION(watch_disk)
FUNCTION(handle_timer)
FUNCTION(on_click)
FUNCTION(open_album)
FUNCTION(read_index)
FUNCTION(sync_album)
FUNCTION(save_album)
FUNCTION(write_index)
FUNCTION(upload_photo)
FUNCTION(uploader_thread)
FUNCTION(flush_log)
FUNCTION(apply_filter)
FUNCTION(sharpen_rows)
FUNCTION(sort_by_date)
FUNCTION(compare_dates)
FUNCTION(collect_memory)
