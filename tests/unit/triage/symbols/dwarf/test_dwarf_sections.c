/* SPDX-License-Identifier: Apache-2.0 */
/* test_dwarf_sections.c - which sections libdw gets to see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <gelf.h>

#include "dwarf_sections.h"
#include "dwarf_text.h"

static const char names[] =
    "\0.debug_info\0.debug_loclists\0.zdebug_macro\0.debug_str\0.debug_location\0.text\0.shstrtab";

static size_t name_of(const char *wanted)
{
    size_t at = 1;
    while (strcmp(names + at, wanted) != 0) {
        at += strlen(names + at) + 1;
        assert_true(at < sizeof names);
    }
    return at;
}

static void add_section(Elf *elf, const char *name, const void *content, size_t bytes)
{
    Elf_Scn *section = elf_newscn(elf);
    Elf_Data *data = elf_newdata(section);
    GElf_Shdr header;
    data->d_buf = (void *)(uintptr_t)content;
    data->d_size = bytes;
    data->d_align = 1;
    assert_non_null(gelf_getshdr(section, &header));
    header.sh_name = (GElf_Word)name_of(name);
    header.sh_type = strcmp(name, ".shstrtab") == 0 ? SHT_STRTAB : SHT_PROGBITS;
    assert_int_not_equal(gelf_update_shdr(section, &header), 0);
}

/* Make a file in memory with one section of each name. */
static int make_file(void)
{
    int fd = memfd_create("sections", MFD_CLOEXEC);
    assert_true(fd >= 0);
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_WRITE, NULL);
    assert_non_null(elf);
    assert_non_null(gelf_newehdr(elf, ELFCLASS64));
    for (size_t at = 1; at < sizeof names; at += strlen(names + at) + 1) {
        bool is_last = strcmp(names + at, ".shstrtab") == 0;
        add_section(elf, names + at, is_last ? names : "content", is_last ? sizeof names : sizeof "content");
    }
    GElf_Ehdr header;
    assert_non_null(gelf_getehdr(elf, &header));
    header.e_machine = EM_X86_64;
    header.e_shstrndx = (GElf_Half)elf_ndxscn(elf_getscn(elf, 7));
    assert_int_not_equal(gelf_update_ehdr(elf, &header), 0);
    assert_true(elf_update(elf, ELF_C_WRITE) > 0);
    elf_end(elf);
    return fd;
}

static bool is_seen(Elf *elf, const char *name)
{
    size_t strings;
    assert_int_equal(elf_getshdrstrndx(elf, &strings), 0);
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        assert_non_null(gelf_getshdr(section, &header));
        if (strcmp(elf_strptr(elf, strings, header.sh_name), name) == 0) {
            return header.sh_type != SHT_NOBITS;
        }
    }
    fail();
    return false;
}

static void check(Elf *elf)
{
    assert_non_null(elf);
    assert_true(is_seen(elf, ".debug_loclists"));
    sbx_dwarf_sections_hide_unread(elf);
    assert_false(is_seen(elf, ".debug_loclists"));
    assert_false(is_seen(elf, ".zdebug_macro"));
    assert_true(is_seen(elf, ".debug_info"));
    assert_true(is_seen(elf, ".debug_str"));
    assert_true(is_seen(elf, ".debug_location")); /* not used: only its name begins like that */
    assert_true(is_seen(elf, ".text"));
    size_t bytes = 0;
    assert_string_equal((const char *)sbx_dwarf_section(elf, "info", &bytes), "content");
    assert_null(sbx_dwarf_section(elf, "loclists", &bytes));
    elf_end(elf);
}

static void test_what_nobody_reads_is_hidden_from_libdw_in_a_file_that_is_read_and_in_one_that_is_mapped(void **state)
{
    (void)state;
    int fd = make_file();
    check(elf_begin(fd, ELF_C_READ, NULL));
    size_t bytes = (size_t)lseek(fd, 0, SEEK_END);
    char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    check(elf_memory(map, bytes));
    munmap(map, bytes);
    check(elf_begin(fd, ELF_C_READ, NULL)); /* the file itself is unchanged */
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_nobody_reads_is_hidden_from_libdw_in_a_file_that_is_read_and_in_one_that_is_mapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
