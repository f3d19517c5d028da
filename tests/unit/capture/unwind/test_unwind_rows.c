/* SPDX-License-Identifier: Apache-2.0 */
/* test_unwind_rows.c - building rows from hand-made modules: order, gaps, damage; and lookups. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eh_frame_writer.h"
#include "guarded_bytes.h"
#include "unwind_rows.h"
#include "unwind_rule.h"

enum {
    TEXT_BYTES = 0x6000,
    HEADER_AT = 0x7000,
    FUNCTIONS_MAX = 512
};

#define PUSH_RBP WRITER_BYTES(0x41, 0x0e, 16, 0x86, 2)

/* A module under construction: its functions, and the search table if it has one. */
struct module {
    struct eh_frame_writer frames;
    uint32_t cie;
    uint64_t begins[FUNCTIONS_MAX];
    uint32_t positions[FUNCTIONS_MAX];
    uint32_t function_count;
    uint8_t header[12 + 8 * FUNCTIONS_MAX];
};

static const uint32_t rule_at_entry = 1u << SBX_RULE_VALUE_SHIFT | SBX_RULE_FROM_SP;
static const uint32_t rule_after_push = 2u << SBX_RULE_VALUE_SHIFT | 2u << SBX_RULE_FP_SHIFT | SBX_RULE_FROM_SP;

static void module_init(struct module *module)
{
    memset(module, 0, sizeof *module);
    module->cie = writer_put_cie(&module->frames, NULL, 0);
}

static void module_add(struct module *module, uint64_t begin, uint32_t bytes, const uint8_t *program,
                       size_t program_bytes)
{
    assert_true(module->function_count < FUNCTIONS_MAX);
    module->begins[module->function_count] = begin;
    module->positions[module->function_count++] =
        writer_put_fde(&module->frames, module->cie, begin, bytes, program, program_bytes);
}

static struct sbx_unwind_source source_without_table(const struct module *module)
{
    return (struct sbx_unwind_source){
        .eh_frame = module->frames.bytes,
        .eh_frame_bytes = module->frames.count,
        .eh_frame_address = WRITER_SECTION_AT,
        .text_begin = WRITER_TEXT_AT,
        .text_end = WRITER_TEXT_AT + TEXT_BYTES,
    };
}

static struct sbx_unwind_source source_with_table(struct module *module)
{
    static const uint8_t beginning[] = {1, 0x1b, 0x03, 0x3b};
    int32_t frames_at = WRITER_SECTION_AT - (HEADER_AT + 4);
    memcpy(module->header, beginning, 4);
    memcpy(module->header + 4, &frames_at, 4);
    memcpy(module->header + 8, &module->function_count, 4);
    for (uint32_t i = 0; i < module->function_count; i++) {
        int32_t entry[2] = {(int32_t)(module->begins[i] - HEADER_AT),
                            (int32_t)(WRITER_SECTION_AT + module->positions[i] - HEADER_AT)};
        memcpy(module->header + 12 + 8 * i, entry, 8);
    }
    struct sbx_unwind_source source = {
        .eh_frame_hdr = module->header,
        .eh_frame_hdr_bytes = 12 + 8 * (size_t)module->function_count,
        .eh_frame_hdr_address = HEADER_AT,
        .image = module->frames.bytes,
        .image_bytes = module->frames.count,
        .image_address = WRITER_SECTION_AT,
        .text_begin = WRITER_TEXT_AT,
        .text_end = WRITER_TEXT_AT + TEXT_BYTES,
    };
    return source;
}

/* I1 to I3 of unwind_rows.c. */
static void assert_rows_valid(const struct sbx_unwind_rows *rows)
{
    for (uint32_t i = 1; i < rows->count; i++) {
        assert_true(rows->offsets[i] > rows->offsets[i - 1]);
        assert_true(rows->rules[i] != rows->rules[i - 1]);
    }
    assert_int_equal(rows->rules[rows->count - 1], SBX_RULE_NONE);
    assert_int_equal(rows->buckets[rows->bucket_count], rows->count);
    for (uint32_t i = 0; i < rows->bucket_count; i++) {
        uint32_t first = rows->buckets[i];
        assert_true(first == rows->count || rows->offsets[first] >= i << 12);
        assert_true(first == 0 || rows->offsets[first - 1] < i << 12);
    }
}

static struct sbx_unwind_rows build(const struct sbx_unwind_source *source, uint32_t skipped_expected)
{
    struct sbx_unwind_rows rows;
    uint32_t skipped;
    assert_int_equal(sbx_unwind_rows_build(source, &rows, &skipped), 0);
    assert_int_equal(skipped, skipped_expected);
    assert_rows_valid(&rows);
    return rows;
}

static uint32_t find(const struct sbx_unwind_rows *rows, uint64_t offset)
{
    return sbx_unwind_rows_find(rows, WRITER_TEXT_AT + offset);
}

static void expect_three_functions(struct sbx_unwind_rows *rows)
{
    assert_int_equal(sbx_unwind_rows_find(rows, 0), SBX_RULE_NONE);
    assert_int_equal(find(rows, (uint64_t)-1), SBX_RULE_NONE);
    assert_int_equal(find(rows, 0), SBX_RULE_NONE);
    assert_int_equal(find(rows, 0xf), SBX_RULE_NONE);
    assert_int_equal(find(rows, 0x10), rule_at_entry);
    assert_int_equal(find(rows, 0x11), rule_after_push);
    assert_int_equal(find(rows, 0x2f), rule_after_push);
    assert_int_equal(find(rows, 0x30), rule_at_entry); /* follows at once: no gap */
    assert_int_equal(find(rows, 0x3f), rule_after_push);
    assert_int_equal(find(rows, 0x40), SBX_RULE_NONE);
    assert_int_equal(find(rows, 0x2fff), SBX_RULE_NONE);
    assert_int_equal(find(rows, 0x3000), rule_at_entry);
    assert_int_equal(find(rows, 0x5001), rule_after_push); /* in a bucket that has no rows */
    assert_int_equal(find(rows, 0x5800), SBX_RULE_NONE);
    assert_int_equal(find(rows, UINT32_MAX), SBX_RULE_NONE);
    assert_int_equal(sbx_unwind_rows_find(rows, UINT64_MAX), SBX_RULE_NONE);
    assert_int_equal(rows->count, 8);
    sbx_unwind_rows_release(rows);
}

static void test_table_and_linear_walk_give_the_same_rows(void **state)
{
    (void)state;
    struct module module;
    module_init(&module);
    module_add(&module, WRITER_TEXT_AT + 0x10, 0x20, PUSH_RBP);
    module_add(&module, WRITER_TEXT_AT + 0x30, 0x10, PUSH_RBP);
    module_add(&module, WRITER_TEXT_AT + 0x3000, 0x2800, PUSH_RBP);
    writer_put_terminator(&module.frames);
    struct sbx_unwind_source source = source_with_table(&module);
    struct sbx_unwind_rows rows = build(&source, 0);
    expect_three_functions(&rows);
    source = source_without_table(&module);
    rows = build(&source, 0);
    expect_three_functions(&rows);
}

/* Does the mapping belong to a file? A fork does not copy the page tables of such a mapping. */
static bool is_of_a_file(const void *at)
{
    char line[512];
    bool is_it = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end, inode = 0;
        assert_true(sscanf(line, "%lx-%lx %*s %*s %*s %lu", &begin, &end, &inode) >= 2);
        is_it |= begin <= (uintptr_t)at && (uintptr_t)at < end && inode != 0;
    }
    fclose(maps);
    return is_it;
}

/* Compiled rows are used until the module is unloaded, also where no cache takes them. */
static void test_compiled_rows_are_sealed_and_cost_a_fork_nothing(void **state)
{
    (void)state;
    if (prctl(PR_GET_SECCOMP) != 0) { /* under a filter, or in an emulator that hides it, they are private pages */
        skip();
    }
    struct module module;
    int status = -1;
    module_init(&module);
    module_add(&module, WRITER_TEXT_AT + 0x10, 0x20, PUSH_RBP);
    writer_put_terminator(&module.frames);
    struct sbx_unwind_source source = source_with_table(&module);
    struct sbx_unwind_rows rows = build(&source, 0);
    uint32_t *rule = (uint32_t *)(uintptr_t)rows.rules, before = *rule;
    int zeroes = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(zeroes, rule, 1), -1); /* EFAULT: it cannot be written */
    close(zeroes);
    assert_true(is_of_a_file(rows.rules));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) { /* a child that may be another user by now, and attacked */
        bool may = mprotect(rows.pages, rows.pages_bytes, PROT_READ | PROT_WRITE) == 0;
        *(volatile uint32_t *)rule = before + 1;
        _exit(may ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(*(volatile uint32_t *)rule, before);
    sbx_unwind_rows_release(&rows);
}

/* If we reached a limit on the size of files, the program would get a signal. */
static void test_below_a_limit_on_the_size_of_files_compiled_rows_are_sealed_private_pages(void **state)
{
    (void)state;
    int status = -1;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct rlimit none = {0, 0};
        struct module module;
        module_init(&module);
        module_add(&module, WRITER_TEXT_AT + 0x10, 0x20, PUSH_RBP);
        writer_put_terminator(&module.frames);
        struct sbx_unwind_source source = source_with_table(&module);
        struct sbx_unwind_rows rows;
        uint32_t skipped;
        bool is_limited = setrlimit(RLIMIT_FSIZE, &none) == 0;
        int result = sbx_unwind_rows_build(&source, &rows, &skipped);
        int zeroes = open("/dev/zero", O_RDONLY | O_CLOEXEC);
        bool is_sealed = result == 0 && read(zeroes, (void *)(uintptr_t)rows.rules, 1) == -1;
        _exit(is_limited && is_sealed && !is_of_a_file(rows.rules) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_header_without_table_is_walked(void **state)
{
    (void)state;
    struct module module;
    module_init(&module);
    module_add(&module, WRITER_TEXT_AT + 0x10, 0x20, PUSH_RBP);
    module_add(&module, WRITER_TEXT_AT + 0x30, 0x10, PUSH_RBP);
    module_add(&module, WRITER_TEXT_AT + 0x3000, 0x2800, PUSH_RBP);
    writer_put_terminator(&module.frames);
    struct sbx_unwind_source source = source_with_table(&module);
    module.header[2] = 0xff; /* neither a count nor a table */
    module.header[3] = 0xff;
    struct sbx_unwind_rows rows = build(&source, 0);
    expect_three_functions(&rows);
}

static void test_functions_in_any_order_are_sorted(void **state)
{
    (void)state;
    for (uint32_t shuffle = 0; shuffle < 8; shuffle++) {
        struct module module;
        module_init(&module);
        for (uint32_t i = 0; i < 300; i++) {
            uint32_t place = shuffle == 0 ? 299 - i : (i * (2 * shuffle + 101) * 7) % 300; /* 7 * odd: may repeat */
            module_add(&module, WRITER_TEXT_AT + place * 0x20, 0x18, PUSH_RBP);
        }
        struct sbx_unwind_source sources[] = {source_with_table(&module), source_without_table(&module)};
        for (size_t s = 0; s < SBX_COUNT_OF(sources); s++) {
            struct sbx_unwind_rows rows = build(&sources[s], 0);
            for (uint32_t i = 0; i < module.function_count; i++) {
                uint64_t offset = module.begins[i] - WRITER_TEXT_AT;
                assert_int_equal(find(&rows, offset), rule_at_entry);
                assert_int_equal(find(&rows, offset + 0x17), rule_after_push);
                assert_int_equal(find(&rows, offset + 0x18), SBX_RULE_NONE);
            }
            sbx_unwind_rows_release(&rows);
        }
    }
}

static void test_equal_neighbours_are_merged(void **state)
{
    (void)state;
    struct module module;
    module_init(&module);
    for (uint32_t i = 0; i < 100; i++) {
        module_add(&module, WRITER_TEXT_AT + i * 0x10, 0x10, NULL, 0);
    }
    struct sbx_unwind_source source = source_with_table(&module);
    struct sbx_unwind_rows rows = build(&source, 0);
    assert_int_equal(rows.count, 2);
    assert_int_equal(find(&rows, 0x63f), rule_at_entry);
    assert_int_equal(find(&rows, 0x640), SBX_RULE_NONE);
    sbx_unwind_rows_release(&rows);
}

static void test_overlapping_functions_yield_to_the_later(void **state)
{
    (void)state;
    struct module module;
    module_init(&module);
    module_add(&module, WRITER_TEXT_AT, 0x100, PUSH_RBP);
    module_add(&module, WRITER_TEXT_AT + 0x80, 0x100, PUSH_RBP);
    struct sbx_unwind_source source = source_with_table(&module);
    struct sbx_unwind_rows rows = build(&source, 0);
    assert_int_equal(find(&rows, 0x7f), rule_after_push);
    assert_int_equal(find(&rows, 0x80), rule_at_entry);
    assert_int_equal(find(&rows, 0x17f), rule_after_push);
    assert_int_equal(find(&rows, 0x180), SBX_RULE_NONE);
    sbx_unwind_rows_release(&rows);
}

static void test_functions_outside_the_text_are_skipped_and_counted(void **state)
{
    (void)state;
    struct module module;
    module_init(&module);
    module_add(&module, 0, 0x10, PUSH_RBP); /* removed by the linker */
    module_add(&module, WRITER_TEXT_AT, 0x10, PUSH_RBP);
    module_add(&module, WRITER_TEXT_AT + TEXT_BYTES - 8, 0x10, PUSH_RBP); /* reaches beyond the text */
    module_add(&module, WRITER_TEXT_AT + TEXT_BYTES, 0x10, PUSH_RBP);
    struct sbx_unwind_source sources[] = {source_with_table(&module), source_without_table(&module)};
    for (size_t s = 0; s < SBX_COUNT_OF(sources); s++) {
        struct sbx_unwind_rows rows = build(&sources[s], 3);
        assert_int_equal(rows.count, 3);
        sbx_unwind_rows_release(&rows);
    }
}

static void test_damaged_function_is_counted_and_its_rest_unsupported(void **state)
{
    (void)state;
    struct module module;
    module_init(&module);
    module_add(&module, WRITER_TEXT_AT, 0x10, WRITER_BYTES(0x41, 0x0e, 16, 0x86, 2, 0x41, 0x3f));
    module_add(&module, WRITER_TEXT_AT + 0x10, 0x10, PUSH_RBP);
    struct sbx_unwind_source source = source_with_table(&module);
    struct sbx_unwind_rows rows = build(&source, 1);
    assert_int_equal(find(&rows, 1), rule_after_push);
    assert_int_equal(find(&rows, 2), SBX_RULE_UNSUPPORTED);
    assert_int_equal(find(&rows, 0xf), SBX_RULE_UNSUPPORTED);
    assert_int_equal(find(&rows, 0x10), rule_at_entry);
    sbx_unwind_rows_release(&rows);
}

static void test_table_entry_that_points_nowhere_is_skipped(void **state)
{
    (void)state;
    struct module module;
    module_init(&module);
    module_add(&module, WRITER_TEXT_AT, 0x10, PUSH_RBP);
    module_add(&module, WRITER_TEXT_AT + 0x20, 0x10, PUSH_RBP);
    module_add(&module, WRITER_TEXT_AT + 0x40, 0x10, PUSH_RBP);
    module_add(&module, WRITER_TEXT_AT + 0x60, 0x10, PUSH_RBP);
    module.positions[1] = module.cie;                     /* no FDE */
    module.positions[2] = 0x7fff0000 - WRITER_SECTION_AT; /* behind the section */
    struct sbx_unwind_source source = source_with_table(&module);
    struct sbx_unwind_rows rows = build(&source, 2);
    assert_int_equal(find(&rows, 0), rule_at_entry);
    assert_int_equal(find(&rows, 0x20), SBX_RULE_NONE);
    assert_int_equal(find(&rows, 0x40), SBX_RULE_NONE);
    assert_int_equal(find(&rows, 0x60), rule_at_entry);
    sbx_unwind_rows_release(&rows);
}

static void test_64_bit_entry_is_counted_and_the_rest_compiled(void **state)
{
    (void)state;
    struct module module;
    module_init(&module);
    writer_put_number(&module.frames, UINT32_MAX, 4);
    writer_put_number(&module.frames, 8, 8);
    writer_put_number(&module.frames, 0, 8);
    module_add(&module, WRITER_TEXT_AT, 0x10, PUSH_RBP);
    struct sbx_unwind_source source = source_without_table(&module);
    struct sbx_unwind_rows rows = build(&source, 1);
    assert_int_equal(find(&rows, 0), rule_at_entry);
    sbx_unwind_rows_release(&rows);
}

static void test_modules_without_unwind_data_are_told_apart(void **state)
{
    (void)state;
    struct module module;
    struct sbx_unwind_rows rows;
    uint32_t skipped;
    module_init(&module);
    struct sbx_unwind_source source = source_without_table(&module); /* a CIE and no function */
    assert_int_equal(sbx_unwind_rows_build(&source, &rows, &skipped), -ENOENT);
    source.eh_frame = NULL; /* and no header either */
    assert_int_equal(sbx_unwind_rows_build(&source, &rows, &skipped), -ENOENT);
    assert_null(rows.pages);
    sbx_unwind_rows_release(&rows); /* a failed build leaves nothing, and returns an error */
    sbx_unwind_rows_release(NULL);
}

static void test_impossible_sources_are_refused(void **state)
{
    (void)state;
    struct module module;
    struct sbx_unwind_rows rows;
    uint32_t skipped;
    module_init(&module);
    module_add(&module, WRITER_TEXT_AT, 0x10, PUSH_RBP);
    struct sbx_unwind_source source = source_with_table(&module);
    source.text_end = source.text_begin;
    assert_int_equal(sbx_unwind_rows_build(&source, &rows, &skipped), -EINVAL);
    source.text_end = source.text_begin + (UINT64_C(1) << 32);
    assert_int_equal(sbx_unwind_rows_build(&source, &rows, &skipped), -E2BIG);
    source = source_with_table(&module);
    source.image_address += 0x100000; /* .eh_frame is before the image */
    assert_int_equal(sbx_unwind_rows_build(&source, &rows, &skipped), -EINVAL);
    source = source_with_table(&module);
    source.image_bytes = 0;
    assert_int_equal(sbx_unwind_rows_build(&source, &rows, &skipped), -EINVAL);
    source = source_with_table(&module);
    source.eh_frame_hdr_bytes = 3;
    assert_int_equal(sbx_unwind_rows_build(&source, &rows, &skipped), -EINVAL);
}

static void test_entries_upon_each_other_cannot_cost_for_ever(void **state)
{
    (void)state;
    struct module module;
    struct sbx_unwind_rows rows;
    uint32_t skipped;
    module_init(&module);
    module_add(&module, WRITER_TEXT_AT, 0x10, (const uint8_t[8192]){0}, 8192);
    for (uint32_t i = 1; i < 100; i++) { /* the same long program for a hundred functions */
        module.begins[i] = WRITER_TEXT_AT;
        module.positions[i] = module.positions[0];
    }
    module.function_count = 100;
    struct sbx_unwind_source source = source_with_table(&module);
    assert_int_equal(sbx_unwind_rows_build(&source, &rows, &skipped), -EINVAL);
}

/* Every prefix of a module is either built or refused, and nothing behind it is read. */
static void test_truncation_at_every_length_reads_nothing_beyond(void **state)
{
    (void)state;
    struct module module;
    struct guarded_bytes frames, header;
    module_init(&module);
    for (uint32_t i = 0; i < 8; i++) {
        module_add(&module, WRITER_TEXT_AT + i * 0x20, 0x20, PUSH_RBP);
    }
    writer_put_terminator(&module.frames);
    guarded_bytes_init(&frames, module.frames.count);
    guarded_bytes_init(&header, sizeof module.header);
    uint32_t built = 0;
    for (size_t bytes = 0; bytes <= module.frames.count; bytes++) {
        struct sbx_unwind_rows rows;
        uint32_t skipped;
        struct sbx_unwind_source source = source_with_table(&module);
        guarded_bytes_set(&frames, module.frames.bytes, bytes);
        guarded_bytes_set(&header, module.header, source.eh_frame_hdr_bytes);
        source.eh_frame_hdr = header.at;
        source.image = frames.at;
        source.image_bytes = bytes;
        if (sbx_unwind_rows_build(&source, &rows, &skipped) == 0) {
            assert_rows_valid(&rows);
            assert_true(skipped < 8);
            sbx_unwind_rows_release(&rows);
            built++;
        }
        source = source_without_table(&module);
        source.eh_frame = frames.at;
        source.eh_frame_bytes = bytes;
        if (sbx_unwind_rows_build(&source, &rows, &skipped) == 0) {
            assert_rows_valid(&rows);
            sbx_unwind_rows_release(&rows);
            built++;
        }
    }
    assert_true(built > 100);
    for (size_t bytes = 0; bytes < 12 + 8 * 8; bytes++) {
        struct sbx_unwind_rows rows;
        uint32_t skipped;
        struct sbx_unwind_source source = source_with_table(&module);
        guarded_bytes_set(&header, module.header, bytes);
        source.eh_frame_hdr = header.at;
        source.eh_frame_hdr_bytes = bytes;
        assert_int_equal(sbx_unwind_rows_build(&source, &rows, &skipped), -EINVAL);
    }
    guarded_bytes_finish(&header);
    guarded_bytes_finish(&frames);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_and_linear_walk_give_the_same_rows),
        cmocka_unit_test(test_compiled_rows_are_sealed_and_cost_a_fork_nothing),
        cmocka_unit_test(test_below_a_limit_on_the_size_of_files_compiled_rows_are_sealed_private_pages),
        cmocka_unit_test(test_header_without_table_is_walked),
        cmocka_unit_test(test_functions_in_any_order_are_sorted),
        cmocka_unit_test(test_equal_neighbours_are_merged),
        cmocka_unit_test(test_overlapping_functions_yield_to_the_later),
        cmocka_unit_test(test_functions_outside_the_text_are_skipped_and_counted),
        cmocka_unit_test(test_damaged_function_is_counted_and_its_rest_unsupported),
        cmocka_unit_test(test_table_entry_that_points_nowhere_is_skipped),
        cmocka_unit_test(test_64_bit_entry_is_counted_and_the_rest_compiled),
        cmocka_unit_test(test_modules_without_unwind_data_are_told_apart),
        cmocka_unit_test(test_impossible_sources_are_refused),
        cmocka_unit_test(test_entries_upon_each_other_cannot_cost_for_ever),
        cmocka_unit_test(test_truncation_at_every_length_reads_nothing_beyond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
