/* SPDX-License-Identifier: Apache-2.0 */
/* test_elf_symbols.c - symbol tables made by the test, compared with a simple search of the same symbols. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "elf_symbols.h"

enum {
    TEXT = 0x1000, /* where code begins */
    TEXT_BYTES = 0x100000,
    SECTION_TEXT = 1,
    SECTIONS = 5,
    SYMBOLS_MAX = 4000
};

struct made {
    Elf64_Sym symbols[SYMBOLS_MAX];
    char names[SYMBOLS_MAX * 16];
    size_t count, name_bytes;
    char *file;
    Elf *elf;
    struct sbx_elf_symbols read;
};

static void add(struct made *made, const char *name, uint64_t begin, uint64_t bytes, int binding)
{
    if (made->name_bytes == 0) {
        made->name_bytes = 1; /* the empty name */
    }
    made->symbols[made->count++] = (Elf64_Sym){.st_name = (uint32_t)made->name_bytes,
                                               .st_info = ELF64_ST_INFO(binding, STT_FUNC),
                                               .st_shndx = SECTION_TEXT,
                                               .st_value = begin,
                                               .st_size = bytes};
    made->name_bytes += (size_t)sprintf(made->names + made->name_bytes, "%s", name) + 1;
}

static void read_back(struct made *made)
{
    size_t symbol_bytes = made->count * sizeof *made->symbols;
    size_t names_at = sizeof(Elf64_Ehdr) + symbol_bytes, headers_at = (names_at + made->name_bytes + 7) & ~(size_t)7;
    size_t bytes = headers_at + SECTIONS * sizeof(Elf64_Shdr);
    made->file = calloc(1, bytes);
    assert_non_null(made->file);
    Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_shoff = headers_at,
                         .e_ehsize = sizeof(Elf64_Ehdr),
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = SECTIONS};
    Elf64_Shdr sections[SECTIONS] = {
        [SECTION_TEXT] = {.sh_type = SHT_NOBITS,
                          .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                          .sh_addr = TEXT,
                          .sh_size = TEXT_BYTES},
        [2] = {.sh_type = SHT_SYMTAB,
               .sh_offset = sizeof header,
               .sh_size = symbol_bytes,
               .sh_link = 3,
               .sh_addralign = 8,
               .sh_entsize = sizeof(Elf64_Sym)},
        [3] = {.sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = made->name_bytes, .sh_addralign = 1}};
    memcpy(made->file, &header, sizeof header);
    memcpy(made->file + sizeof header, made->symbols, symbol_bytes);
    memcpy(made->file + names_at, made->names, made->name_bytes);
    memcpy(made->file + headers_at, sections, sizeof sections);
    elf_version(EV_CURRENT);
    made->elf = elf_memory(made->file, bytes);
    assert_non_null(made->elf);
    assert_int_equal(sbx_elf_symbols_read(made->elf, SHT_SYMTAB, &made->read), 0);
}

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct made));
    return *state == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    struct made *made = *state;
    sbx_elf_symbols_finish(&made->read);
    elf_end(made->elf);
    free(made->file);
    free(made);
    return 0;
}

static const char *name_at(const struct made *made, uint64_t address)
{
    const struct sbx_elf_symbol *symbol = sbx_elf_symbols_find(&made->read, address);
    return symbol == NULL ? "" : symbol->name;
}

static void test_of_names_for_one_place_the_public_one_with_the_fewest_underscores_is_told(void **state)
{
    struct made *made = *state;
    add(made, "__libc_write", TEXT, 16, STB_LOCAL);
    add(made, "_write", TEXT, 16, STB_GLOBAL);
    add(made, "written", TEXT, 16, STB_GLOBAL);
    add(made, "write@@GLIBC_2.2.5", TEXT, 16, STB_WEAK);
    add(made, "writing", TEXT + 16, 16, STB_LOCAL);
    add(made, "wrote", TEXT + 16, 16, STB_LOCAL);
    add(made, "waved", TEXT + 16, 16, STB_LOCAL);
    read_back(made);
    assert_string_equal(name_at(made, TEXT + 3), "written");
    assert_string_equal(name_at(made, TEXT + 16), "waved"); /* of equal symbols the alphabetically first */
    assert_string_equal(name_at(made, TEXT + 32), "");
    assert_string_equal(name_at(made, TEXT - 1), "");
}

static void test_a_symbol_without_a_size_reaches_to_the_next_one_and_the_last_to_the_end_of_its_section(void **state)
{
    struct made *made = *state;
    add(made, "last", TEXT + 0x80, 0, STB_LOCAL);
    add(made, "first", TEXT, 0, STB_LOCAL);
    add(made, "sized", TEXT + 0x40, 0x20, STB_LOCAL);
    add(made, "label_within", TEXT + 0x50, 0, STB_LOCAL);
    add(made, "too_long", TEXT + TEXT_BYTES - 4, 100, STB_LOCAL);
    read_back(made);
    assert_string_equal(name_at(made, TEXT + 0x3f), "first");
    assert_string_equal(name_at(made, TEXT + 0x50), "sized");
    assert_string_equal(name_at(made, TEXT + 0x60), ""); /* between the end of a symbol with a size and the next one */
    assert_string_equal(name_at(made, TEXT + TEXT_BYTES - 5), "last");
    assert_string_equal(name_at(made, TEXT + TEXT_BYTES - 1), "too_long");
    assert_string_equal(name_at(made, TEXT + TEXT_BYTES), "");
}

/* The nearest begin that covers the address, by a check of all symbols. */
static uint64_t plain_begin(const struct made *made, uint64_t address)
{
    uint64_t best = 0;
    for (size_t i = 0; i < made->count; i++) {
        const Elf64_Sym *symbol = &made->symbols[i];
        if (symbol->st_value <= address && address < symbol->st_value + symbol->st_size && symbol->st_value > best) {
            best = symbol->st_value;
        }
    }
    return best;
}

static void test_thousands_of_symbols_in_any_order_are_found_as_by_looking_at_all_of_them(void **state)
{
    struct made *made = *state;
    uint64_t random = 12345;
    char name[16];
    for (size_t i = 0; i < SYMBOLS_MAX; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        (void)snprintf(name, sizeof name, "f%zu", i);
        add(made, name, TEXT + (random >> 40) % (TEXT_BYTES - 600), 1 + (random >> 20) % 500, STB_LOCAL);
    }
    read_back(made);
    assert_int_equal(made->read.count, SYMBOLS_MAX);
    for (size_t i = 0; i < SYMBOLS_MAX; i++) {
        assert_true(i == 0 || made->read.symbols[i - 1].begin <= made->read.symbols[i].begin);
        uint64_t address = made->symbols[i].st_value + i % 600;
        const struct sbx_elf_symbol *found = sbx_elf_symbols_find(&made->read, address);
        assert_int_equal(found == NULL ? 0 : found->begin, plain_begin(made, address));
    }
}

static void test_a_table_without_functions_has_no_symbols(void **state)
{
    struct made *made = *state;
    add(made, "imported", 0, 0, STB_GLOBAL);
    made->symbols[0].st_shndx = SHN_UNDEF;
    read_back(made);
    assert_int_equal(made->read.count, 0);
    assert_null(made->read.symbols);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_of_names_for_one_place_the_public_one_with_the_fewest_underscores_is_told,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_symbol_without_a_size_reaches_to_the_next_one_and_the_last_to_the_end_of_its_section, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(test_thousands_of_symbols_in_any_order_are_found_as_by_looking_at_all_of_them,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_table_without_functions_has_no_symbols, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
