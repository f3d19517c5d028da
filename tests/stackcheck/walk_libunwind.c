/* SPDX-License-Identifier: Apache-2.0 */
/* walk_libunwind.c - the peer: unw_step() on the same bytes, without its caches.
 *
 * Each step finds its entry through the module's search table and runs its program again ("slow step"), without cached
 * rules and without the fast trace of unw_backtrace(). */
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byte_reader.h"
#include "eh_frame.h"
#include "walks.h"

/* Exported for remote users such as gdb and perf, and declared in no public header. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *table,
                                       unw_proc_info_t *info, int need_unwind_info, void *context);

struct libunwind_walker {
    unw_addr_space_t space;
    struct target_memory *memory;
    const struct target_stack *stack;
};

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info, int need_unwind_info,
                          void *context)
{
    struct libunwind_walker *walker = context;
    const struct target_module *module = target_memory_module(walker->memory, ip);
    if (module == NULL || module->image->eh_frame_hdr == 0) {
        return -UNW_ENOINFO;
    }
    const struct target_image *image = module->image;
    struct sbx_eh_section header = {target_image_at(image, image->eh_frame_hdr, image->eh_frame_hdr_bytes),
                                    image->eh_frame_hdr_bytes, image->eh_frame_hdr};
    struct sbx_eh_search_table table = {0};
    if (header.bytes == NULL || sbx_eh_search_table_read(&header, &table) != 0 || table.count == 0) {
        return -UNW_ENOINFO;
    }
    uint64_t segbase = module->bias + image->eh_frame_hdr;
    unw_dyn_info_t description = {
        .format = UNW_INFO_FORMAT_REMOTE_TABLE,
        .start_ip = module->bias + image->text_begin,
        .end_ip = module->bias + image->text_end,
        .u.rti =
            {
                .segbase = segbase,
                .table_data = segbase + (uint64_t)(table.entries - header.bytes),
                .table_len = (unw_word_t)table.count * 8 / sizeof(unw_word_t),
            },
    };
    return UNW_OBJ(dwarf_search_unwind_table)(space, ip, &description, info, need_unwind_info, context);
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *context)
{
    (void)space;
    (void)info;
    (void)context;
}

static int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *list, void *context)
{
    (void)space;
    (void)list;
    (void)context;
    return -UNW_ENOINFO;
}

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *word, int write, void *context)
{
    (void)space;
    struct libunwind_walker *walker = context;
    uint64_t value;
    if (write || !target_memory_read(walker->memory, walker->stack, address, &value)) {
        return -UNW_EINVAL;
    }
    *word = value;
    return 0;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *word, int write, void *context)
{
    (void)space;
    struct libunwind_walker *walker = context;
    const struct user_regs_struct *r = &walker->stack->registers;
    const uint64_t values[] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
                               r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rip};
    if (write || number < 0 || (size_t)number >= sizeof values / sizeof values[0]) {
        return -UNW_EBADREG;
    }
    *word = values[number];
    return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write, void *context)
{
    (void)space;
    (void)number;
    (void)value;
    (void)write;
    (void)context;
    return -UNW_EBADREG;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *context)
{
    (void)space;
    (void)cursor;
    (void)context;
    return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t space, unw_word_t address, char *name, size_t bytes, unw_word_t *offset,
                         void *context)
{
    (void)space;
    (void)address;
    (void)name;
    (void)bytes;
    (void)offset;
    (void)context;
    return -UNW_ENOINFO;
}

struct libunwind_walker *libunwind_walker_create(void)
{
    static unw_accessors_t accessors = {
        .find_proc_info = find_proc_info,
        .put_unwind_info = put_unwind_info,
        .get_dyn_info_list_addr = get_dyn_info_list_addr,
        .access_mem = access_mem,
        .access_reg = access_reg,
        .access_fpreg = access_fpreg,
        .resume = resume,
        .get_proc_name = get_proc_name,
    };
    struct libunwind_walker *walker = calloc(1, sizeof *walker);
    walker->space = walker == NULL ? NULL : unw_create_addr_space(&accessors, 0);
    if (walker == NULL || walker->space == NULL) {
        fprintf(stderr, "stackcheck: out of memory\n");
        exit(2);
    }
    unw_set_caching_policy(walker->space, UNW_CACHE_NONE);
    return walker;
}

void libunwind_walker_destroy(struct libunwind_walker *walker)
{
    if (walker != NULL) {
        unw_destroy_addr_space(walker->space);
        free(walker);
    }
}

void libunwind_walk(struct libunwind_walker *walker, struct target_memory *memory, const struct target_stack *stack,
                    struct walked_stack *walked_out)
{
    unw_cursor_t cursor;
    walker->memory = memory;
    walker->stack = stack;
    walked_out->count = 0;
    walked_out->gap_frames = 0;
    walked_out->end = unw_init_remote(&cursor, walker->space, walker);
    if (walked_out->end != 0) {
        return;
    }
    for (;;) {
        unw_word_t pc = 0, sp = 0, fp = 0;
        unw_get_reg(&cursor, UNW_REG_IP, &pc);
        unw_get_reg(&cursor, UNW_REG_SP, &sp);
        if (walked_out->count > 0 && pc == 0) {
            walked_out->end = 0;
            return;
        }
        uint32_t at = walked_out->count++;
        walked_out->pc[at] = pc;
        walked_out->sp[at] = sp;
        walked_out->has_fp[at] = unw_get_reg(&cursor, UNW_X86_64_RBP, &fp) == 0;
        walked_out->fp[at] = fp;
        if (walked_out->count == FRAMES_MAX) {
            walked_out->end = -UNW_EUNSPEC;
            return;
        }
        int result = unw_step(&cursor);
        if (result <= 0) {
            walked_out->end = result;
            return;
        }
    }
}
