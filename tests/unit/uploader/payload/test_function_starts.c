/* SPDX-License-Identifier: Apache-2.0 */
/* test_function_starts.c - this program's own file gives the begins of its functions; a damaged file gives no wrong
 * answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "function_starts.h"
#include "test_folder.h"

/* The loader's data about this program. */
struct image {
    uint64_t bias;
    uint8_t build_id[32];
    size_t build_id_bytes;
};

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
    struct image *image = context;
    (void)size;
    image->bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uint8_t *notes = (const uint8_t *)(uintptr_t)(info->dlpi_addr + segment->p_vaddr);
        for (size_t at = 0; segment->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) <= segment->p_memsz;) {
            ElfW(Nhdr) note;
            memcpy(&note, notes + at, sizeof note);
            at += sizeof note + ((note.n_namesz + 3u) & ~3u);
            if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= sizeof image->build_id) {
                memcpy(image->build_id, notes + at, note.n_descsz);
                image->build_id_bytes = note.n_descsz;
            }
            at += (note.n_descsz + 3u) & ~3u;
        }
    }
    return 1; /* the first is the program itself */
}

static struct image own_image(void)
{
    struct image image = {.bias = 0};
    dl_iterate_phdr(look, &image);
    assert_true(image.build_id_bytes >= 8);
    return image;
}

__attribute__((noinline)) static int first(int value)
{
    unsigned sum = 0;
    for (int i = 0; i < value; i++) {
        sum = sum * 3 + (unsigned)i;
    }
    return (int)(sum % 1000);
}

__attribute__((noinline)) static int second(const char *text)
{
    return first((int)strlen(text)) + (int)strlen(text + 1) * 7;
}

static uint64_t place_of(const struct image *image, uintptr_t code)
{
    return code - image->bias;
}

static void test_all_places_of_a_function_have_its_begin(void **state)
{
    (void)state;
    struct image image = own_image();
    struct sbx_function_starts *starts;
    assert_int_equal(sbx_function_starts_open("/proc/self/exe", image.build_id, image.build_id_bytes, &starts), 0);
    const uintptr_t functions[] = {(uintptr_t)first, (uintptr_t)second, (uintptr_t)look};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        uint64_t place = place_of(&image, functions[i]), begin;
        for (uint64_t into = 0; into < 8; into++) {
            assert_true(sbx_function_starts_find(starts, place + into, &begin));
            assert_int_equal(begin, place);
        }
    }
    assert_int_not_equal(second("abc"), 0);
    sbx_function_starts_close(starts);
    sbx_function_starts_close(NULL);
}

static void test_a_place_that_no_function_covers_has_none(void **state)
{
    (void)state;
    struct image image = own_image();
    struct sbx_function_starts *starts;
    uint64_t begin;
    assert_int_equal(sbx_function_starts_open("/proc/self/exe", image.build_id, image.build_id_bytes, &starts), 0);
    assert_false(sbx_function_starts_find(starts, 0, &begin));
    assert_false(sbx_function_starts_find(starts, UINT64_MAX, &begin));
    assert_false(sbx_function_starts_find(starts, place_of(&image, (uintptr_t)&image), &begin));
    static int datum;
    assert_false(sbx_function_starts_find(starts, place_of(&image, (uintptr_t)&datum), &begin));
    sbx_function_starts_close(starts);
}

static void test_a_file_of_another_build_and_what_is_no_file_are_refused(void **state)
{
    (void)state;
    struct image image = own_image();
    struct sbx_function_starts *starts;
    char *folder = sbx_test_folder_make();
    const char *fifo = sbx_test_path(folder, "fifo"), *text = sbx_test_path(folder, "text");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    sbx_test_write(text, "no program", 10);
    assert_int_equal(sbx_function_starts_open(fifo, image.build_id, image.build_id_bytes, &starts), -EINVAL);
    assert_int_equal(sbx_function_starts_open("/dev/zero", image.build_id, image.build_id_bytes, &starts), -EINVAL);
    assert_int_equal(sbx_function_starts_open(folder, image.build_id, image.build_id_bytes, &starts), -EINVAL);
    assert_int_equal(sbx_function_starts_open(text, image.build_id, image.build_id_bytes, &starts), -EINVAL);
    assert_int_equal(
        sbx_function_starts_open(sbx_test_path(folder, "none"), image.build_id, image.build_id_bytes, &starts),
        -ENOENT);
    image.build_id[0] ^= 1;
    assert_int_equal(sbx_function_starts_open("/proc/self/exe", image.build_id, image.build_id_bytes, &starts),
                     -ESTALE);
    image.build_id[0] ^= 1;
    assert_int_equal(sbx_function_starts_open("/proc/self/exe", image.build_id, image.build_id_bytes - 1, &starts),
                     -ESTALE);
    sbx_test_folder_remove(folder);
}

/* Whatever the file contains, an answer is at or before the place, and near it. */
static void test_a_cut_or_damaged_file_tells_nothing_wrong(void **state)
{
    (void)state;
    struct image image = own_image();
    char *folder = sbx_test_folder_make();
    size_t bytes;
    uint8_t *content = sbx_test_read("/proc/self/exe", &bytes);
    const char *path = sbx_test_path(folder, "damaged");
    uint64_t place = place_of(&image, (uintptr_t)second) + 3, random = 88172645463325252u;
    sbx_test_write(path, content, bytes);
    for (unsigned round = 0; round < 400; round++) {
        uint8_t was[8];
        size_t at[8];
        for (unsigned i = 0; i < 8; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            at[i] = i < 4 ? random % 1200 : random % bytes; /* half of the changes hit the headers and the build-id */
            was[i] = content[at[i]];
            content[at[i]] = (uint8_t)(random >> 32);
        }
        sbx_test_write(path, content, round % 4 == 0 ? random % bytes : bytes);
        struct sbx_function_starts *starts;
        uint64_t begin;
        if (sbx_function_starts_open(path, image.build_id, image.build_id_bytes, &starts) == 0) {
            if (sbx_function_starts_find(starts, place, &begin)) {
                assert_true(begin <= place && place - begin < SBX_FUNCTION_BYTES_MAX);
            }
            sbx_function_starts_close(starts);
        }
        for (unsigned i = 8; i > 0; i--) {
            content[at[i - 1]] = was[i - 1];
        }
    }
    free(content);
    sbx_test_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_places_of_a_function_have_its_begin),
        cmocka_unit_test(test_a_place_that_no_function_covers_has_none),
        cmocka_unit_test(test_a_file_of_another_build_and_what_is_no_file_are_refused),
        cmocka_unit_test(test_a_cut_or_damaged_file_tells_nothing_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
