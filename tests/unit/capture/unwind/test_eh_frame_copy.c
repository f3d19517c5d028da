/* SPDX-License-Identifier: Apache-2.0 */
/* test_eh_frame_copy.c - rows of loaded modules are the same whether they are compiled in place, compiled from a copy,
 * or read from the cache. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eh_frame_copy.h"
#include "rows_cache.h"
#include "rows_sample.h"

/* A loaded module, as its headers describe it. */
struct loaded {
    struct sbx_eh_frame_place place;
    uint64_t bias;
    unsigned reads, fail_at; /* fail_at: the read that fails, counted from 1; 0: none */
    uint64_t bytes_read;
};

struct every {
    unsigned count;
    uint64_t copied, segments;
    struct sbx_rows_cache cache;
};

static int read_memory(void *context, uint64_t address, void *to, size_t bytes)
{
    struct loaded *loaded = context;
    if (++loaded->reads == loaded->fail_at) {
        return -EFAULT;
    }
    assert_true(address >= loaded->place.image_address);
    assert_true(address + bytes <= loaded->place.image_address + loaded->place.image_bytes);
    loaded->bytes_read += bytes;
    memcpy(to, (const void *)(uintptr_t)(loaded->bias + address), bytes);
    return 0;
}

static bool describe(const struct dl_phdr_info *info, struct loaded *loaded)
{
    const ElfW(Phdr) *header = NULL;
    *loaded = (struct loaded){.bias = info->dlpi_addr, .place = {.text_begin = UINT64_MAX}};
    struct sbx_eh_frame_place *place = &loaded->place;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_GNU_EH_FRAME) {
            header = segment;
        } else if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X)) {
            place->text_begin = segment->p_vaddr < place->text_begin ? segment->p_vaddr : place->text_begin;
            place->text_end = segment->p_vaddr + segment->p_memsz;
        }
    }
    for (int i = 0; header != NULL && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && header->p_vaddr >= segment->p_vaddr &&
            header->p_vaddr < segment->p_vaddr + segment->p_memsz) {
            place->eh_frame_hdr_address = header->p_vaddr;
            place->eh_frame_hdr_bytes = header->p_memsz;
            place->image_address = segment->p_vaddr;
            place->image_bytes = segment->p_memsz;
        }
    }
    return place->eh_frame_hdr_bytes != 0;
}

static struct sbx_unwind_rows build_in_place(const struct loaded *loaded)
{
    const struct sbx_eh_frame_place *place = &loaded->place;
    struct sbx_unwind_source source = {
        .eh_frame_hdr = (const uint8_t *)(uintptr_t)(loaded->bias + place->eh_frame_hdr_address),
        .eh_frame_hdr_bytes = place->eh_frame_hdr_bytes,
        .eh_frame_hdr_address = place->eh_frame_hdr_address,
        .image = (const uint8_t *)(uintptr_t)(loaded->bias + place->image_address),
        .image_bytes = place->image_bytes,
        .image_address = place->image_address,
        .text_begin = place->text_begin,
        .text_end = place->text_end,
    };
    struct sbx_unwind_rows rows;
    uint32_t skipped;
    assert_int_equal(sbx_unwind_rows_build(&source, &rows, &skipped), 0);
    return rows;
}

static struct sbx_unwind_rows build_from_copy(struct loaded *loaded)
{
    struct sbx_eh_frame_copy copy;
    struct sbx_unwind_rows rows;
    uint32_t skipped;
    assert_int_equal(sbx_eh_frame_copy_take(&copy, &loaded->place, read_memory, loaded), 0);
    assert_int_equal(sbx_unwind_rows_build(&copy.source, &rows, &skipped), 0);
    sbx_eh_frame_copy_release(&copy);
    assert_null(copy.source.eh_frame);
    return rows;
}

static int compare_ways(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct every *every = context;
    struct loaded loaded;
    (void)bytes;
    if (!describe(info, &loaded)) {
        return 0;
    }
    struct sbx_unwind_rows in_place = build_in_place(&loaded), copied = build_from_copy(&loaded), cached;
    assert_rows_equal(&in_place, &copied);
    struct sbx_rows_key key = sample_key(every->count);
    key.text_begin = loaded.place.text_begin;
    key.text_end = loaded.place.text_end;
    assert_int_equal(sbx_rows_cache_put(&every->cache, &key, &copied), 0);
    assert_int_equal(sbx_rows_cache_get(&every->cache, &key, &cached), 0);
    assert_rows_equal(&in_place, &cached);
    sbx_unwind_rows_release(&in_place);
    sbx_unwind_rows_release(&copied);
    sbx_unwind_rows_release(&cached);
    every->count++;
    every->copied += loaded.bytes_read;
    every->segments += loaded.place.image_bytes;
    return 0;
}

static void test_rows_of_real_modules_are_the_same_by_every_way(void **state)
{
    (void)state;
    static const char *const libraries[] = {"libstdc++.so.6",   "libcrypto.so.3",      "libsqlite3.so.0",
                                            "libglib-2.0.so.0", "libcurl.so.4",        "libzstd.so.1",
                                            "libLLVM-14.so.1",  "libpython3.11.so.1.0"};
    for (unsigned i = 0; i < SBX_COUNT_OF(libraries); i++) {
        (void)dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL); /* those that are installed; kept until the end */
    }
    char folder[] = "/tmp/stallbox-copy-test-XXXXXX", command[64];
    struct every every = {0};
    assert_non_null(mkdtemp(folder));
    assert_int_equal(sbx_rows_cache_open(&every.cache, folder), 0);
    dl_iterate_phdr(compare_ways, &every);
    assert_true(every.count >= 4);                  /* this program, libc, the vdso, the loader */
    assert_true(every.copied < every.segments / 2); /* data around .eh_frame was not copied */
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static int keep_libc(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    return strstr(info->dlpi_name, "libc.so") != NULL && describe(info, context);
}

static void test_a_module_that_goes_while_it_is_read_ends_the_copy(void **state)
{
    (void)state;
    struct loaded loaded;
    assert_int_equal(dl_iterate_phdr(keep_libc, &loaded), 1);
    struct sbx_eh_frame_copy copy;
    assert_int_equal(sbx_eh_frame_copy_take(&copy, &loaded.place, read_memory, &loaded), 0);
    sbx_eh_frame_copy_release(&copy);
    unsigned reads = loaded.reads;
    assert_int_equal(reads, 3); /* the header, the length of the last entry, the section */
    for (unsigned i = 1; i <= reads; i++) {
        loaded.reads = 0;
        loaded.fail_at = i;
        assert_int_equal(sbx_eh_frame_copy_take(&copy, &loaded.place, read_memory, &loaded), -EFAULT);
        assert_null(copy.header_pages);
        assert_null(copy.frame_pages);
    }
}

static void test_impossible_places_are_refused(void **state)
{
    (void)state;
    struct loaded loaded;
    struct sbx_eh_frame_copy copy;
    assert_int_equal(dl_iterate_phdr(keep_libc, &loaded), 1);
    struct loaded wrong = loaded;
    wrong.place.eh_frame_hdr_bytes = 0;
    assert_int_equal(sbx_eh_frame_copy_take(&copy, &wrong.place, read_memory, &wrong), -EINVAL);
    wrong = loaded;
    wrong.place.eh_frame_hdr_bytes = 2; /* too short for its first fields */
    assert_int_equal(sbx_eh_frame_copy_take(&copy, &wrong.place, read_memory, &wrong), -EINVAL);
    wrong = loaded;
    wrong.place.image_bytes = loaded.place.eh_frame_hdr_address + loaded.place.eh_frame_hdr_bytes -
                              loaded.place.image_address; /* .eh_frame begins behind it, in libc */
    assert_int_not_equal(sbx_eh_frame_copy_take(&copy, &wrong.place, read_memory, &wrong), 0);
    wrong = loaded;
    wrong.place.image_bytes = UINT64_MAX;
    assert_int_equal(sbx_eh_frame_copy_take(&copy, &wrong.place, read_memory, &wrong), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_real_modules_are_the_same_by_every_way),
        cmocka_unit_test(test_a_module_that_goes_while_it_is_read_ends_the_copy),
        cmocka_unit_test(test_impossible_places_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
