/* SPDX-License-Identifier: Apache-2.0 */
/* code_map_fixture.c - finds modules with dl_iterate_phdr, in the simple way that a test may use and the agent may
 * not. */
#include "code_map_fixture.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

/* The loadable segment that holds an address, as the module itself numbers its addresses. */
static const ElfW(Phdr) * segment_of(const struct dl_phdr_info *info, uint64_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address < segment->p_vaddr + segment->p_memsz) {
            return segment;
        }
    }
    return NULL;
}

static int add_module(struct dl_phdr_info *info, size_t info_bytes, void *context)
{
    (void)info_bytes;
    struct code_map_fixture *fixture = context;
    const ElfW(Phdr) *header = NULL;
    struct sbx_unwind_source source = {.text_begin = UINT64_MAX};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_GNU_EH_FRAME) {
            header = segment;
        } else if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X)) {
            source.text_begin = segment->p_vaddr < source.text_begin ? segment->p_vaddr : source.text_begin;
            source.text_end = segment->p_vaddr + segment->p_memsz;
            source.text = (const uint8_t *)(info->dlpi_addr + segment->p_vaddr);
            source.text_bytes = segment->p_filesz;
            source.text_address = segment->p_vaddr;
        }
    }
    assert_true(fixture->module_count < FIXTURE_MODULES_MAX);
    uint32_t index = fixture->module_count++;
    snprintf(fixture->paths[index], sizeof fixture->paths[index], "%s", info->dlpi_name);
    struct sbx_code_range *range = &fixture->map->ranges[fixture->map->count++];
    *range = (struct sbx_code_range){
        .start = info->dlpi_addr + source.text_begin,
        .end = info->dlpi_addr + source.text_end,
        .bias = info->dlpi_addr,
        .module = index,
    };
    if (header == NULL) {
        return 0;
    }
    const ElfW(Phdr) *segment = segment_of(info, header->p_vaddr);
    assert_non_null(segment);
    source.eh_frame_hdr = (const uint8_t *)(info->dlpi_addr + header->p_vaddr);
    source.eh_frame_hdr_bytes = header->p_memsz;
    source.eh_frame_hdr_address = header->p_vaddr;
    source.image = (const uint8_t *)(info->dlpi_addr + segment->p_vaddr);
    source.image_bytes = segment->p_memsz;
    source.image_address = segment->p_vaddr;
    uint32_t skipped;
    assert_int_equal(sbx_unwind_rows_build(&source, &fixture->rows[index], &skipped), 0);
    fixture->skipped += skipped;
    range->rows = &fixture->rows[index];
    return 0;
}

static int compare_ranges(const void *left, const void *right)
{
    const struct sbx_code_range *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

static volatile uint64_t handler_returned_to;

static void note_return(int number)
{
    (void)number;
    handler_returned_to = (uint64_t)(uintptr_t)__builtin_return_address(0);
}

/* As the agent does: look in a handler where it will return to. */
static uint64_t find_signal_return(void)
{
    struct sigaction ours = {.sa_handler = note_return}, before;
    assert_int_equal(sigaction(SIGUSR2, &ours, &before), 0);
    assert_int_equal(raise(SIGUSR2), 0);
    assert_int_equal(sigaction(SIGUSR2, &before, NULL), 0);
    return sbx_is_signal_return((const void *)(uintptr_t)handler_returned_to) ? handler_returned_to : 0;
}

void code_map_fixture_init(struct code_map_fixture *fixture, uint32_t generation)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->map = calloc(1, sizeof *fixture->map + FIXTURE_MODULES_MAX * sizeof fixture->map->ranges[0]);
    assert_non_null(fixture->map);
    fixture->map->generation = generation;
    fixture->map->signal_return = find_signal_return();
    dl_iterate_phdr(add_module, fixture);
    qsort(fixture->map->ranges, fixture->map->count, sizeof fixture->map->ranges[0], compare_ranges);
}

void code_map_fixture_finish(struct code_map_fixture *fixture)
{
    for (uint32_t i = 0; i < fixture->module_count; i++) {
        sbx_unwind_rows_release(&fixture->rows[i]);
    }
    free(fixture->map);
}

void frame_table_fixture_init(struct frame_table_fixture *fixture, uint32_t frame_slots)
{
    enum {
        NODE_SLOTS = 2 << 16,
        FRAMES_AT = 4096
    };
    fixture->bytes = FRAMES_AT + (frame_slots + NODE_SLOTS) * sizeof(uint64_t);
    void *pages = mmap(NULL, fixture->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    fixture->header = pages;
    fixture->header->epoch = 1;
    fixture->header->frames = (struct sbx_section){FRAMES_AT, frame_slots, sizeof(uint64_t)};
    fixture->header->nodes =
        (struct sbx_section){FRAMES_AT + frame_slots * sizeof(uint64_t), NODE_SLOTS, sizeof(uint64_t)};
    sbx_callstack_table_init(&fixture->table, fixture->header);
}

void frame_table_fixture_finish(struct frame_table_fixture *fixture)
{
    assert_int_equal(munmap(fixture->header, fixture->bytes), 0);
}

uint64_t frame_table_word(const struct frame_table_fixture *fixture, uint32_t frame_id)
{
    return fixture->table.frames[frame_id] & ~SBX_FRAME_TAG_MASK;
}

uint64_t own_stack_top(void)
{
    pthread_attr_t attributes;
    void *bottom;
    size_t bytes;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
    assert_int_equal(pthread_attr_getstack(&attributes, &bottom, &bytes), 0);
    pthread_attr_destroy(&attributes);
    return (uint64_t)(uintptr_t)bottom + bytes;
}
