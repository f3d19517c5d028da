/* SPDX-License-Identifier: Apache-2.0 */
/* test_unpacked_elf.c - files whose sections are compressed, decompressed with and without a helper. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <gelf.h>

#include "elf_bytes.h"
#include "unpacked_elf.h"
#include "unread_sections.h"

static char folder[] = "/tmp/test_unpacked_elf.XXXXXX", packed[64];

static int make_folder(void **state)
{
    (void)state;
    char command[1024];
    elf_version(EV_CURRENT);
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(packed, sizeof packed, "%s/packed", folder);
    snprintf(command, sizeof command, "objcopy --compress-debug-sections=zlib-gabi %s %s", SAMPLE_LARGE, packed);
    return system(command);
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static char *read_file(const char *path, size_t *bytes_out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t bytes = lseek(fd, 0, SEEK_END);
    assert_true(bytes > 0);
    char *file = malloc((size_t)bytes);
    assert_non_null(file);
    assert_int_equal(pread(fd, file, (size_t)bytes, 0), bytes);
    close(fd);
    *bytes_out = (size_t)bytes;
    return file;
}

static Elf_Scn *find_section(Elf *elf, const char *wanted, GElf_Shdr *header_out)
{
    size_t names;
    assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
        assert_non_null(gelf_getshdr(section, header_out));
        if (strcmp(elf_strptr(elf, names, header_out->sh_name), wanted) == 0) {
            return section;
        }
    }
    return NULL;
}

/* Compare every section of debug information that is read with that of the original file. */
static void compare_sections(Elf *copy, Elf *plain)
{
    size_t names, compared = 0;
    assert_int_equal(elf_getshdrstrndx(plain, &names), 0);
    for (Elf_Scn *section = elf_nextscn(plain, NULL); section != NULL; section = elf_nextscn(plain, section)) {
        GElf_Shdr header, its;
        assert_non_null(gelf_getshdr(section, &header));
        const char *name = elf_strptr(plain, names, header.sh_name);
        if (strncmp(name, ".debug_", 7) != 0) {
            continue;
        }
        Elf_Scn *other = find_section(copy, name, &its);
        assert_non_null(other);
        assert_true((its.sh_flags & SHF_COMPRESSED) == 0);
        if (sbx_section_is_unread(name)) {
            continue;
        }
        Elf_Data *wanted = elf_rawdata(section, NULL), *found = elf_rawdata(other, NULL);
        assert_int_equal(found->d_size, wanted->d_size);
        assert_memory_equal(found->d_buf, wanted->d_buf, wanted->d_size);
        compared++;
    }
    assert_true(compared >= 4);
}

static pthread_t helping;
static int helps;

static bool begin_help(void *(*work)(void *), void *context)
{
    helps++;
    return pthread_create(&helping, NULL, work, context) == 0;
}

static void end_help(void)
{
    helps++;
    pthread_join(helping, NULL);
}

static bool refuse_help(void *(*work)(void *), void *context)
{
    (void)work;
    (void)context;
    return false;
}

static void test_the_sections_are_what_they_were_before_they_were_compressed(void **state)
{
    (void)state;
    size_t bytes, plain_bytes;
    char *file = read_file(packed, &bytes), *plain_file = read_file(SAMPLE_LARGE, &plain_bytes);
    Elf *elf = elf_memory(file, bytes), *plain = elf_memory(plain_file, plain_bytes);
    assert_true(sbx_elf_is_packed(elf));
    assert_false(sbx_elf_is_packed(plain));
    static const struct sbx_unpack_helper works = {begin_help, end_help}, is_busy = {refuse_help, end_help};
    const struct sbx_unpack_helper *helpers[] = {NULL, &works, &is_busy};
    for (int way = 0; way < 3; way++) {
        size_t copy_bytes = 0;
        helps = 0;
        sbx_unpacked_elf_use_helper(helpers[way]);
        char *copy = sbx_unpacked_elf_create(elf, file, bytes, &copy_bytes);
        assert_int_equal(helps, way == 1 ? 2 : 0); /* started and waited for */
        assert_non_null(copy);
        Elf *unpacked = elf_memory(copy, copy_bytes);
        GElf_Shdr header;
        assert_false(sbx_elf_is_packed(unpacked));
        compare_sections(unpacked, plain);
        if (find_section(plain, ".debug_aranges", &header) != NULL) {
            (void)find_section(unpacked, ".debug_aranges", &header);
            assert_int_equal(header.sh_type, SHT_NOBITS); /* it is not read */
        }
        elf_end(unpacked);
        free(copy);
    }
    sbx_unpacked_elf_use_helper(NULL);
    assert_null(sbx_unpacked_elf_create(plain, plain_file, plain_bytes, &bytes));
    elf_end(elf);
    elf_end(plain);
    free(file);
    free(plain_file);
}

static void test_a_file_with_a_damaged_section_has_no_copy_and_is_left_to_libelf(void **state)
{
    (void)state;
    size_t bytes, copy_bytes;
    char *file = read_file(packed, &bytes);
    Elf *elf = elf_memory(file, bytes);
    GElf_Shdr header;
    assert_non_null(find_section(elf, ".debug_info", &header));
    memset(file + header.sh_offset + sizeof(Elf64_Chdr), 0x5a, 20);
    assert_null(sbx_unpacked_elf_create(elf, file, bytes, &copy_bytes));
    elf_end(elf);
    char damaged[80];
    snprintf(damaged, sizeof damaged, "%s.damaged", packed);
    int fd = open(damaged, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(pwrite(fd, file, bytes, 0), (ssize_t)bytes);
    struct sbx_elf_bytes opened;
    assert_true(sbx_elf_bytes_begin(fd, false, &opened));
    assert_null(opened.unpacked);
    sbx_elf_bytes_end(&opened);
    free(file);
}

static void test_a_file_that_is_read_is_unpacked_and_one_that_is_mapped_is_left_to_libelf(void **state)
{
    (void)state;
    struct sbx_elf_bytes opened;
    for (int maps = 0; maps < 2; maps++) {
        assert_true(sbx_elf_bytes_begin(open(packed, O_RDONLY | O_CLOEXEC), maps != 0, &opened));
        assert_int_equal(opened.unpacked == NULL, maps);
        assert_int_equal(sbx_elf_is_packed(opened.elf), maps);
        sbx_elf_bytes_end(&opened);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_sections_are_what_they_were_before_they_were_compressed),
        cmocka_unit_test(test_a_file_with_a_damaged_section_has_no_copy_and_is_left_to_libelf),
        cmocka_unit_test(test_a_file_that_is_read_is_unpacked_and_one_that_is_mapped_is_left_to_libelf),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
