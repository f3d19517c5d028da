/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_bombs.c - symbol files that are made to use up time and memory. Each ends with a message, or with the
 * names that are left, and the caller goes on with the next file. */
#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "build_id.h"
#include "hostile_elf.h"
#include "made_image.h"
#include "symbol_file.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum {
    BOMB_BYTES = 2 << 20 /* with sanitizers, where workers have no limits and take ten times as long */
};
static const bool is_limited = false;
#else
enum {
    BOMB_BYTES = 48 << 20
};
static const bool is_limited = true;
#endif
enum {
    MEMORY_MIB_MAX = 700 /* the most that a worker may have used at once, of the 4 GiB that it may take */
};

static char path[64] = "/tmp/test_symbol_bombs.XXXXXX";

static int set_up(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

/* Check the memory that the largest of all these workers used. */
static int tear_down(void **state)
{
    (void)state;
    struct rusage usage;
    unlink(path);
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0 || (is_limited && usage.ru_maxrss >> 10 > MEMORY_MIB_MAX)) {
        fprintf(stderr, "a worker took %ld MiB\n", usage.ru_maxrss >> 10);
        return -1;
    }
    return 0;
}

/* The file must be read, and the function `name` must begin where the symbol `survivor` does. */
static void must_name(const char *name)
{
    struct sbx_symbol_image *image;
    struct sbx_code_frame frames[SBX_INLINES_MAX];
    int result = made_image(path, 0, &image);
    if (result != 0) {
        fail_msg("refused: %s", made_image_why);
    }
    size_t count = sbx_symbol_image_find(image, HOSTILE_TEXT + 4, frames, SBX_INLINES_MAX);
    assert_true(count > 0);
    assert_string_equal(frames[count - 1].name, name);
    sbx_symbol_image_close(image);
}

/* The file must be refused with these words, and the next file must be read. */
static void must_refuse(const char *words)
{
    assert_true(made_image(path, 0, NULL) < 0);
    if (strstr(made_image_why, words) == NULL) {
        fail_msg("said: %s", made_image_why);
    }
    assert_int_equal(made_image(SAMPLE_FULL, 0, NULL), 0);
}

/* ---- DWARF that leads nowhere ---- */

/* The end of the abbreviations, and a unit DIE: one of code 1, with all the code. */
static void put_unit_die(struct hostile_elf *elf)
{
    struct hostile_bytes *info = hostile_section(elf, ".debug_info");
    hostile_put_leb(info, 1);
    hostile_put(info, DW_LANG_C_plus_plus_14, 1);
    hostile_put(info, HOSTILE_TEXT, 8);
    hostile_put(info, HOSTILE_TEXT_BYTES, 4);
}

static void put_unit_abbreviation(struct hostile_elf *elf)
{
    hostile_abbreviation(elf, 1, DW_TAG_compile_unit, 1, DW_AT_language, DW_FORM_data1, DW_AT_low_pc, DW_FORM_addr,
                         DW_AT_high_pc, DW_FORM_data4, 0);
}

static void put_code(struct hostile_bytes *info, uint64_t begin, uint64_t bytes)
{
    hostile_put(info, begin, 8);
    hostile_put(info, bytes, 4);
}

/* Functions whose origins form a circle of two and of one. */
static void test_sym_06_origins_in_a_circle_end(void **state)
{
    (void)state;
    struct hostile_elf elf = {.count = 0};
    put_unit_abbreviation(&elf);
    hostile_abbreviation(&elf, 2, DW_TAG_subprogram, 1, DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_low_pc, DW_FORM_addr,
                         DW_AT_high_pc, DW_FORM_data4, 0);
    hostile_abbreviation(&elf, 3, DW_TAG_inlined_subroutine, 0, DW_AT_specification, DW_FORM_ref4, DW_AT_low_pc,
                         DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0);
    hostile_put(hostile_section(&elf, ".debug_abbrev"), 0, 1);
    size_t unit = hostile_begin_unit(&elf, 0);
    put_unit_die(&elf);
    struct hostile_bytes *info = hostile_section(&elf, ".debug_info");
    size_t one = info->count, two = one + 17;
    for (int i = 0; i < 2; i++) { /* each is the origin of the other, and contains a call of itself */
        hostile_put_leb(info, 2);
        hostile_put(info, i == 0 ? two + 18 : one, 4);
        put_code(info, HOSTILE_TEXT + 64 * (uint64_t)i, 16);
        size_t call = info->count;
        hostile_put_leb(info, 3);
        hostile_put(info, call, 4);
        put_code(info, HOSTILE_TEXT + 64 * (uint64_t)i, 8);
        hostile_put(info, 0, 1);
    }
    hostile_put(info, 0, 1);
    hostile_end_unit(&elf, unit);
    hostile_write(&elf, path, 0);
    must_name("survivor");
}

/* A form that says that the form follows, again and again; and numbers of ten thousand bytes. */
static void test_sym_06_numbers_and_forms_without_end_end(void **state)
{
    (void)state;
    struct hostile_elf elf = {.count = 0};
    put_unit_abbreviation(&elf);
    hostile_abbreviation(&elf, UINT64_C(1) << 32, DW_TAG_subprogram, 0, DW_AT_name, DW_FORM_indirect, 0);
    hostile_abbreviation(&elf, 4, DW_TAG_subprogram, 0, DW_AT_decl_line, DW_FORM_udata, DW_AT_low_pc, DW_FORM_addr,
                         DW_AT_high_pc, DW_FORM_data4, 0);
    hostile_put(hostile_section(&elf, ".debug_abbrev"), 0, 1);
    size_t unit = hostile_begin_unit(&elf, 0);
    put_unit_die(&elf);
    struct hostile_bytes *info = hostile_section(&elf, ".debug_info");
    hostile_put_leb(info, 4);
    hostile_repeat(info, "\x80", 1, 10000);
    hostile_put(info, 0, 1);
    put_code(info, HOSTILE_TEXT, 16);
    hostile_put_leb(info, UINT64_C(1) << 32);
    hostile_repeat(info, "\x16", 1, 100000); /* DW_FORM_indirect */
    hostile_end_unit(&elf, unit);
    hostile_write(&elf, path, 0);
    must_name("survivor");
}

/* Scopes inside of scopes, millions deep. A reader that goes from one sibling to the next goes through all of them. */
static void test_sym_06_millions_of_nested_scopes_end(void **state)
{
    (void)state;
    struct hostile_elf elf = {.count = 0};
    put_unit_abbreviation(&elf);
    hostile_abbreviation(&elf, 2, DW_TAG_lexical_block, 1, 0);
    hostile_abbreviation(&elf, 3, DW_TAG_subprogram, 1, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0);
    hostile_put(hostile_section(&elf, ".debug_abbrev"), 0, 1);
    size_t unit = hostile_begin_unit(&elf, 0);
    put_unit_die(&elf);
    struct hostile_bytes *info = hostile_section(&elf, ".debug_info");
    hostile_put_leb(info, 3);
    put_code(info, HOSTILE_TEXT, 16);
    hostile_repeat(info, "\x02", 1, BOMB_BYTES);
    hostile_end_unit(&elf, unit);
    hostile_write(&elf, path, 1);
    must_name("survivor");
}

/* A million functions, each with a list of a hundred thousand ranges that cover nothing. */
static void test_sym_06_lists_of_ranges_that_all_refer_to_end(void **state)
{
    (void)state;
    struct hostile_elf elf = {.count = 0};
    hostile_abbreviation(&elf, 1, DW_TAG_compile_unit, 1, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0);
    hostile_abbreviation(&elf, 2, DW_TAG_subprogram, 0, DW_AT_ranges, DW_FORM_sec_offset, 0);
    hostile_put(hostile_section(&elf, ".debug_abbrev"), 0, 1);
    size_t unit = hostile_begin_unit(&elf, 0);
    struct hostile_bytes *info = hostile_section(&elf, ".debug_info");
    hostile_put_leb(info, 1);
    put_code(info, HOSTILE_TEXT, HOSTILE_TEXT_BYTES);
    static const uint8_t function[] = {2, 12, 0, 0, 0};
    hostile_repeat(info, function, sizeof function, 1000000);
    hostile_end_unit(&elf, unit);
    struct hostile_bytes *ranges = hostile_section(&elf, ".debug_rnglists");
    hostile_put(ranges, 8 + 3 * 100000 + 1, 4);
    hostile_put(ranges, 5, 2);
    hostile_put(ranges, 8, 1);
    hostile_put(ranges, 0, 5);
    hostile_repeat(ranges, "\x04\x01\x02", 3, 100000); /* DW_RLE_offset_pair */
    hostile_put(ranges, 0, 1);
    hostile_write(&elf, path, 0);
    must_refuse("more work than");
}

/* ---- lines ---- */

static void put_line_header(struct hostile_elf *elf, size_t program_bytes)
{
    struct hostile_bytes *line = hostile_section(elf, ".debug_line");
    hostile_put(line, 2 + 4 + 6 + 12 + 2 + program_bytes, 4);
    hostile_put(line, 4, 2);
    hostile_put(line, 6 + 12 + 2, 4);
    hostile_put(line, 1, 1);    /* bytes of an instruction */
    hostile_put(line, 1, 1);    /* operations */
    hostile_put(line, 1, 1);    /* a statement */
    hostile_put(line, 0xfb, 1); /* line base -5 */
    hostile_put(line, 14, 1);
    hostile_put(line, 13, 1);
    hostile_repeat(line, "\x00\x01\x01\x01\x01\x00\x00\x00\x01\x00\x00\x01", 12, 1);
    hostile_put(line, 0, 2); /* no folders, no files */
}

/* `units` units of one line program. */
static void write_line_bomb(size_t units, size_t program_bytes)
{
    struct hostile_elf elf = {.count = 0};
    hostile_abbreviation(&elf, 1, DW_TAG_compile_unit, 0, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4,
                         DW_AT_stmt_list, DW_FORM_sec_offset, 0);
    hostile_put(hostile_section(&elf, ".debug_abbrev"), 0, 1);
    for (size_t i = 0; i < units; i++) {
        size_t unit = hostile_begin_unit(&elf, 0);
        struct hostile_bytes *info = hostile_section(&elf, ".debug_info");
        hostile_put_leb(info, 1);
        put_code(info, HOSTILE_TEXT + 16 * i, 16);
        hostile_put(info, 0, 4);
        hostile_end_unit(&elf, unit);
    }
    put_line_header(&elf, program_bytes + 11);
    struct hostile_bytes *line = hostile_section(&elf, ".debug_line");
    hostile_put(line, 0, 1);
    hostile_put_leb(line, 9);
    hostile_put(line, DW_LNE_set_address, 1);
    hostile_put(line, HOSTILE_TEXT, 8);
    hostile_repeat(line, "\x01", 1, program_bytes); /* DW_LNS_copy: a row */
    hostile_write(&elf, path, 1);
}

static void test_sym_06_a_line_program_of_endless_rows_ends(void **state)
{
    (void)state;
    write_line_bomb(1, BOMB_BYTES);
    must_name("survivor");
}

static void test_sym_06_a_line_program_that_thousands_of_units_run_is_refused(void **state)
{
    (void)state;
    write_line_bomb(4000, 4 << 20);
    must_refuse("more work than");
}

/* ---- units ---- */

/* As many empty units as there is room for. */
static void test_sym_06_millions_of_empty_units_end(void **state)
{
    (void)state;
    struct hostile_elf elf = {.count = 0};
    hostile_abbreviation(&elf, 1, DW_TAG_compile_unit, 0, 0);
    hostile_put(hostile_section(&elf, ".debug_abbrev"), 0, 1);
    size_t unit = hostile_begin_unit(&elf, 0);
    struct hostile_bytes *info = hostile_section(&elf, ".debug_info");
    hostile_put_leb(info, 1);
    hostile_end_unit(&elf, unit);
    uint8_t one[16];
    size_t bytes = info->count;
    memcpy(one, info->bytes, bytes);
    hostile_repeat(info, one, bytes, BOMB_BYTES / bytes);
    hostile_write(&elf, path, 1);
    must_name("survivor");
}

/* Units that are longer than the section, or have length 0. */
static void test_sym_06_units_of_no_length_and_of_any_end(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {0, 1, 0xfffffff0, 0xfffffffe, 0x7fffffff};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct hostile_elf elf = {.count = 0};
        put_unit_abbreviation(&elf);
        hostile_put(hostile_section(&elf, ".debug_abbrev"), 0, 1);
        size_t unit = hostile_begin_unit(&elf, 0);
        put_unit_die(&elf);
        hostile_patch(hostile_section(&elf, ".debug_info"), unit, lengths[i], 4);
        hostile_write(&elf, path, 0);
        must_name("survivor");
    }
}

/* ---- bombs that decompress ---- */

/* A section of zeros that compresses to a thousandth of its size. A section with such a ratio is not decompressed. */
static void test_sym_04_a_section_that_does_grow_a_thousandfold_is_not_decompressed(void **state)
{
    (void)state;
    struct hostile_elf elf = {.count = 0};
    put_unit_abbreviation(&elf);
    hostile_put(hostile_section(&elf, ".debug_abbrev"), 0, 1);
    hostile_repeat(hostile_section(&elf, ".debug_info"), "\0", 1, 128 << 20);
    hostile_write(&elf, path, 1);
    must_name("survivor");
    assert_non_null(strstr(made_image_why, "more than a hundred times its size"));
}

/* ---- headers (SYM-5) ---- */

/* A change in the file's header, or in the header of section `index`. */
struct change {
    const char *what;
    int section; /* -1: the file's header */
    size_t offset;
    uint64_t value;
    size_t bytes;
};

static void apply(const struct change *change)
{
    Elf64_Ehdr header;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, &header, sizeof header, 0), sizeof header);
    uint64_t at = change->section < 0 ? 0 : header.e_shoff + (uint64_t)change->section * sizeof(Elf64_Shdr);
    assert_int_equal(pwrite(fd, &change->value, change->bytes, (off_t)(at + change->offset)), (ssize_t)change->bytes);
    close(fd);
}

#define OF_FILE(field)           -1, offsetof(Elf64_Ehdr, field)
#define OF_SECTION(index, field) index, offsetof(Elf64_Shdr, field)

/* Sections: 1 the note, 2 the code, 3 symbols, 4 their names, 5 .debug_abbrev, 6 .debug_info. */
static void test_sym_05_headers_that_lie_leave_the_caller_whole(void **state)
{
    (void)state;
    static const struct change changes[] = {
        {"no sections, their number in the first", OF_FILE(e_shnum), 0, 2},
        {"the most sections", OF_FILE(e_shnum), 0xffff, 2},
        {"names in a section that is none", OF_FILE(e_shstrndx), 0xfff0, 2},
        {"names in the section of numbers", OF_FILE(e_shstrndx), SHN_XINDEX, 2},
        {"sections behind the end", OF_FILE(e_shoff), UINT64_C(1) << 62, 8},
        {"sections at an odd place", OF_FILE(e_shoff), 65, 8},
        {"the most segments", OF_FILE(e_phnum), PN_XNUM, 2},
        {"segments at the header", OF_FILE(e_phentsize), sizeof(Elf64_Phdr), 2},
        {"code to the end of addresses", OF_SECTION(2, sh_size), UINT64_MAX - HOSTILE_TEXT, 8},
        {"symbols behind the end", OF_SECTION(3, sh_offset), UINT64_C(1) << 40, 8},
        {"symbols of 2^62 bytes", OF_SECTION(3, sh_size), UINT64_C(1) << 62, 8},
        {"symbols of one byte each", OF_SECTION(3, sh_entsize), 1, 8},
        {"symbols whose names are symbols", OF_SECTION(3, sh_link), 3, 4},
        {"names that are the header", OF_SECTION(4, sh_offset), 0, 8},
        {"abbreviations that are the symbols", OF_SECTION(5, sh_offset), 64, 8},
        {"debug information that is the file", OF_SECTION(6, sh_offset), 0, 8},
        {"debug information of 2^40 bytes", OF_SECTION(6, sh_size), UINT64_C(1) << 40, 8},
        {"debug information that takes no bytes", OF_SECTION(6, sh_type), SHT_NOBITS, 4},
        {"debug information compressed, it says", OF_SECTION(6, sh_flags), SHF_COMPRESSED, 8},
        {"debug information that is a table of symbols", OF_SECTION(6, sh_type), SHT_SYMTAB, 4},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct hostile_elf elf = {.count = 0};
        put_unit_abbreviation(&elf);
        hostile_put(hostile_section(&elf, ".debug_abbrev"), 0, 1);
        size_t unit = hostile_begin_unit(&elf, 0);
        put_unit_die(&elf);
        hostile_put(hostile_section(&elf, ".debug_info"), 0, 1);
        hostile_end_unit(&elf, unit);
        hostile_write(&elf, path, 0);
        must_name("survivor");
        apply(&changes[i]);
        struct sbx_symbol_image *image = NULL;
        int result = made_image(path, 0, &image);
        if (result == -ECHILD || result == -ETIME || (result != 0 && made_image_why[0] == '\0')) {
            fail_msg("%s: %d %s", changes[i].what, result, made_image_why);
        }
        if (result == 0) {
            sbx_symbol_image_close(image);
        }
    }
    assert_int_equal(made_image(SAMPLE_FULL, 0, NULL), 0);
}

/* A table of fifty million symbols, in a sparse file. */
static void test_sym_07_a_table_of_fifty_million_symbols_is_cut(void **state)
{
    (void)state;
    struct hostile_elf elf = {.count = 0};
    hostile_write(&elf, path, 0);
    Elf64_Ehdr header;
    Elf64_Shdr symbols;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    off_t end = lseek(fd, 0, SEEK_END) + 8;
    assert_int_equal(pread(fd, &header, sizeof header, 0), sizeof header);
    assert_int_equal(pread(fd, &symbols, sizeof symbols, (off_t)(header.e_shoff + 3 * sizeof symbols)), sizeof symbols);
    Elf64_Sym survivor;
    assert_int_equal(pread(fd, &survivor, sizeof survivor, (off_t)(symbols.sh_offset + sizeof survivor)),
                     sizeof survivor);
    symbols.sh_offset = (uint64_t)end;
    symbols.sh_size = (is_limited ? 50000000 : 100000) * sizeof survivor;
    assert_int_equal(pwrite(fd, &survivor, sizeof survivor, end + (off_t)sizeof survivor), sizeof survivor);
    assert_int_equal(ftruncate(fd, end + (off_t)symbols.sh_size), 0);
    assert_int_equal(pwrite(fd, &symbols, sizeof symbols, (off_t)(header.e_shoff + 3 * sizeof symbols)),
                     sizeof symbols);
    close(fd);
    must_name("survivor");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sym_04_a_section_that_does_grow_a_thousandfold_is_not_decompressed),
        cmocka_unit_test(test_sym_05_headers_that_lie_leave_the_caller_whole),
        cmocka_unit_test(test_sym_06_origins_in_a_circle_end),
        cmocka_unit_test(test_sym_06_numbers_and_forms_without_end_end),
        cmocka_unit_test(test_sym_06_millions_of_nested_scopes_end),
        cmocka_unit_test(test_sym_06_lists_of_ranges_that_all_refer_to_end),
        cmocka_unit_test(test_sym_06_a_line_program_of_endless_rows_ends),
        cmocka_unit_test(test_sym_06_a_line_program_that_thousands_of_units_run_is_refused),
        cmocka_unit_test(test_sym_06_millions_of_empty_units_end),
        cmocka_unit_test(test_sym_06_units_of_no_length_and_of_any_end),
        cmocka_unit_test(test_sym_07_a_table_of_fifty_million_symbols_is_cut),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
