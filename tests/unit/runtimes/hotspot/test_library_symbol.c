/* SPDX-License-Identifier: Apache-2.0 */
/* test_library_symbol.c - a variable is found by its name in this program's own file. A damaged file, or one that is no
 * library, has no variable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "library_symbol.h"

/* Not exported, so hidden from the dynamic linker, like a library's internal variable. */
__attribute__((visibility("hidden"), used)) uint32_t a_variable_that_is_looked_for = 7;

/* The difference between this program's load address and the address in its file. */
static uint64_t delta(void)
{
    extern const char __ehdr_start[] __attribute__((visibility("hidden")));
    return (uint64_t)(uintptr_t)__ehdr_start;
}

static void test_a_hidden_variable_is_found_by_its_name(void **state)
{
    (void)state;
    uint64_t at = sbx_library_symbol("/proc/self/exe", "a_variable_that_is_looked_for");
    uint64_t here = (uint64_t)(uintptr_t)&a_variable_that_is_looked_for;
    assert_true(at == here || at + delta() == here); /* linked to a fixed address or not */
}

static void test_what_is_no_variable_is_not_found(void **state)
{
    (void)state;
    assert_int_equal(sbx_library_symbol("/proc/self/exe", "no_such_variable"), 0);
    assert_int_equal(sbx_library_symbol("/proc/self/exe", "main"), 0);
    assert_int_equal(sbx_library_symbol("/proc/self/exe", ""), 0);
    assert_int_equal(sbx_library_symbol("/no/such/file", "a_variable_that_is_looked_for"), 0);
    assert_int_equal(sbx_library_symbol("/", "a_variable_that_is_looked_for"), 0);
    assert_int_equal(sbx_library_symbol("/dev/null", "a_variable_that_is_looked_for"), 0);
}

static void expect_none(const char *bytes, size_t count)
{
    char path[] = "/tmp/library_symbol.XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, bytes, count), count);
    close(descriptor);
    (void)sbx_library_symbol(path, "a_variable_that_is_looked_for"); /* the test is only that the call returns */
    unlink(path);
}

/* The file cut at every length, and with the largest value in every field that holds an offset. */
static void test_a_file_that_was_cut_or_whose_offsets_are_wrong_ends_nobody(void **state)
{
    (void)state;
    struct {
        Elf64_Ehdr header;
        Elf64_Shdr sections[2];
        Elf64_Sym symbols[2];
        char names[32];
    } whole = {
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
                   .e_shoff = sizeof(Elf64_Ehdr),
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = 2},
        .sections = {{.sh_type = SHT_SYMTAB, .sh_link = 1, .sh_size = 2 * sizeof(Elf64_Sym)}, {.sh_size = 32}},
        .symbols = {{0}, {.st_name = 1, .st_info = STT_OBJECT, .st_shndx = 1, .st_value = 99}},
        .names = "\0a_variable_that_is_looked_for",
    };
    whole.sections[0].sh_offset = offsetof(__typeof__(whole), symbols);
    whole.sections[1].sh_offset = offsetof(__typeof__(whole), names);
    for (size_t bytes = 1; bytes <= sizeof whole; bytes++) {
        expect_none((const char *)&whole, bytes);
    }
    for (size_t at = offsetof(Elf64_Ehdr, e_shoff); at < sizeof whole; at++) {
        char damaged[sizeof whole];
        memcpy(damaged, &whole, sizeof whole);
        damaged[at] = (char)0xff;
        expect_none(damaged, sizeof damaged);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_hidden_variable_is_found_by_its_name),
        cmocka_unit_test(test_what_is_no_variable_is_not_found),
        cmocka_unit_test(test_a_file_that_was_cut_or_whose_offsets_are_wrong_ends_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
