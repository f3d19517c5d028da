/* SPDX-License-Identifier: Apache-2.0 */
/* module_rows.c - unwind rows of the process's modules: which module is next, and where its rows come from. */
#include "module_rows.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "process_state.h"
#include "the_capture.h"
#include "eh_frame_copy.h"
#include "module_map.h"
#include "rows_cache.h"
#include "sealed_pages.h"

enum {
    COPY_ATTEMPTS = 3, /* while a program unloads all the time, before the copy is made inside the loader */
    SAVE_BATCH = 16    /* files written in one call */
};

static struct sbx_rows_cache rows_cache;
SBX_OF_ONE_PROCESS(rows_cache);
static bool has_trimmed;

void sbx_module_rows_open_cache(const char *folder)
{
    (void)sbx_rows_cache_open(&rows_cache, folder); /* on failure there is no cache, and the modules' flags show it */
    for (uint32_t i = 0; i < sbx_the_capture.header->module_count; i++) {
        if (sbx_modules[i].rows_state == SBX_ROWS_MISSING) {
            sbx_modules[i].rows_state = SBX_ROWS_WANTED;
        }
    }
}

/* sbx_module_read without a lock: if the module was unloaded, the kernel returns an error. */
static int read_through_kernel(void *context, uint64_t address, void *to, size_t bytes)
{
    const struct sbx_module_entry *entry = context;
    uint64_t from = entry->bias + address;
    while (bytes > 0) {
        size_t part = bytes < (size_t)1 << 30 ? bytes : (size_t)1 << 30; /* one call copies at most 2 GiB */
        struct iovec local = {to, part}, remote = {(void *)(uintptr_t)from, part};
        long got = syscall(SYS_process_vm_readv, (long)getpid(), &local, 1UL, &remote, 1UL, 0UL);
        if (got <= 0) {
            return got == 0 ? -EFAULT : -errno;
        }
        to = (uint8_t *)to + got;
        from += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return 0;
}

/* sbx_module_read inside the loader, where the module cannot be unloaded. */
static int read_in_place(void *context, uint64_t address, void *to, size_t bytes)
{
    const struct sbx_module_entry *entry = context;
    memcpy(to, (const void *)(uintptr_t)(entry->bias + address), bytes);
    return 0;
}

struct copying {
    struct sbx_eh_frame_copy copy;
    int result;
};

static void copy_in_place(uint32_t index, void *context)
{
    struct copying *copying = context;
    copying->result = sbx_eh_frame_copy_take(&copying->copy, &sbx_modules[index].place, read_in_place,
                                             &sbx_the_capture.modules[index]);
}

/* Copy a module's unwind data. -ESRCH: the module was unloaded meanwhile. */
static int copy_eh_frame(uint32_t index, struct sbx_eh_frame_copy *copy_out)
{
    const struct sbx_module *module = &sbx_modules[index];
    for (unsigned attempt = 0; attempt < COPY_ATTEMPTS; attempt++) {
        int result =
            sbx_eh_frame_copy_take(copy_out, &module->place, read_through_kernel, &sbx_the_capture.modules[index]);
        if (result == -EPERM || result == -ENOSYS || result == -EACCES) {
            break; /* forbidden, usually by seccomp */
        }
        if (sbx_module_map_is_current()) {
            return result;
        }
        sbx_eh_frame_copy_release(copy_out);
        sbx_module_map_look_again();
        if (!module->alive) {
            return -ESRCH;
        }
    }
    struct copying copying = {.result = -ESRCH};
    (void)sbx_module_map_visit(index, copy_in_place, &copying); /* not there: -ESRCH */
    *copy_out = copying.copy;
    return copying.result;
}

static struct sbx_rows_key key_of(uint32_t index)
{
    const struct sbx_module_entry *entry = &sbx_the_capture.modules[index];
    const struct sbx_eh_frame_place *place = &sbx_modules[index].place;
    static_assert((int)SBX_ROWS_KEY_BYTES == (int)SBX_BUILD_ID_MAX, "the whole of what the recording knows");
    struct sbx_rows_key key = {.build_id_bytes = entry->build_id_bytes,
                               .text_begin = place->text_begin,
                               .text_end = place->text_end,
                               .eh_frame_hdr_address = place->eh_frame_hdr_address,
                               .eh_frame_hdr_bytes = place->eh_frame_hdr_bytes};
    memcpy(key.build_id, entry->build_id, sizeof key.build_id);
    return key;
}

static void compile_rows(uint32_t index)
{
    struct sbx_eh_frame_copy copy;
    struct sbx_module *module = &sbx_modules[index];
    uint32_t skipped = 0;
    int result = module->place.eh_frame_hdr_bytes == 0 ? -ENOENT : copy_eh_frame(index, &copy);
    if (result == -ESRCH) {
        if (module->alive) {
            module->rows_state = SBX_ROWS_NONE; /* the loader has it no more; the next refresh will see that */
        }
        return;
    }
    if (result == 0) {
        result = sbx_unwind_rows_build(&copy.source, &module->rows, &skipped);
        sbx_eh_frame_copy_release(&copy);
    }
    if (result != 0) {
        module->rows_state = SBX_ROWS_NONE;
        sbx_the_capture.modules[index].flags |= SBX_MODULE_NO_ROWS;
        return;
    }
    module->rows_state = SBX_ROWS_READY;
    module->is_unsaved = true;
}

/* Put some of the rows that were built into the cache. This is done when all rows are there, because a disk may be
 * slow. Returns false when there was nothing to put. */
static bool save_some_rows(void)
{
    uint32_t count = sbx_the_capture.header->module_count, saved = 0;
    for (uint32_t i = 0; i < count && saved < SAVE_BATCH; i++) {
        struct sbx_unwind_rows there;
        if (!sbx_modules[i].alive || !sbx_modules[i].is_unsaved) {
            continue;
        }
        const struct sbx_rows_key key = key_of(i);
        sbx_modules[i].is_unsaved = false;
        saved++;
        /* The agent's own rows were built before the cache was open, and another process may have put other rows there
         * first. */
        bool is_kept = sbx_rows_cache_get(&rows_cache, &key, &there) == 0;
        if (is_kept) {
            sbx_unwind_rows_release(&there);
        } else {
            is_kept = sbx_rows_cache_put(&rows_cache, &key, &sbx_modules[i].rows) == 0;
        }
        if (is_kept) {
            sbx_the_capture.modules[i].flags |= SBX_MODULE_ROWS_CACHED;
        }
    }
    return saved > 0;
}

/* The module without rows that needs them most. The rank decides. Within a rank, modules come first for which the cache
 * was not asked yet, because that is quick, and then those with the fewest functions. */
static uint32_t next_wanted(void)
{
    uint32_t count = sbx_the_capture.header->module_count, wanted = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const struct sbx_module *module = &sbx_modules[i], *best = &sbx_modules[wanted != UINT32_MAX ? wanted : i];
        if (!module->alive || module->rows_state == SBX_ROWS_READY || module->rows_state == SBX_ROWS_NONE) {
            continue;
        }
        if (wanted == UINT32_MAX || module->rank < best->rank ||
            (module->rank == best->rank && (module->rows_state < best->rows_state ||
                                            (module->rows_state == best->rows_state &&
                                             module->place.eh_frame_hdr_bytes < best->place.eh_frame_hdr_bytes)))) {
            wanted = i;
        }
    }
    return wanted;
}

void sbx_module_rows_share_a_file(bool has_own_descriptors)
{
    sbx_pages_seal_together(has_own_descriptors);
}

bool sbx_module_rows_are_wanted(void)
{
    return next_wanted() != UINT32_MAX;
}

bool sbx_module_rows_get_next(void)
{
    uint32_t wanted = next_wanted();
    if (wanted == UINT32_MAX) {
        sbx_pages_seal_rest();
        sbx_module_map_publish_rest();
        if (rows_cache.folder[0] != 0 && save_some_rows()) {
            return true;
        }
        if (rows_cache.written > 0 && !has_trimmed) {
            sbx_rows_cache_trim(&rows_cache);
            has_trimmed = true;
        }
        return false;
    }
    const struct sbx_rows_key key = key_of(wanted);
    struct sbx_module *module = &sbx_modules[wanted];
    if (module->rows_state == SBX_ROWS_WANTED && sbx_rows_cache_get(&rows_cache, &key, &module->rows) == 0) {
        module->rows_state = SBX_ROWS_READY;
        sbx_the_capture.modules[wanted].flags |= SBX_MODULE_ROWS_CACHED;
    } else if (module->rows_state == SBX_ROWS_WANTED && module->rank == SBX_RANK_OTHER && rows_cache.folder[0] != 0) {
        module->rows_state = SBX_ROWS_MISSING; /* it comes after the cache was asked for all others */
        return true;
    } else {
        compile_rows(wanted);
    }
    sbx_module_map_have_rows(module->rank == SBX_RANK_AGENT);
    return true;
}
