/* SPDX-License-Identifier: Apache-2.0 */
/* test_macho_elf.c - names from real programs for Apple systems and their dSYMs (tests/fuzz/macho_file/make_corpus). */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "file_ids.h"
#include "macho_image.h"
#include "macho_scene.h"
#include "macho_symbols.h"
#include "symbol_file.h"
#include "symbol_worker.h"

enum {
    FRAMES_MAX = 8,
    CODE_BEGIN = 0x300, /* as offsets; all code of the samples is here */
    CODE_END = 0x500,
    SAMPLE_BYTES_MAX = 1 << 17
};

static struct sbx_symbol_frame *frames, *other_frames;
static enum sbx_symbol_source source;
static uint8_t *sample, *changed; /* a file's bytes, and the test's changed copy */
static size_t sample_bytes;

static int set_up(void **state)
{
    (void)state;
    frames = calloc(FRAMES_MAX, sizeof *frames);
    other_frames = calloc(FRAMES_MAX, sizeof *other_frames);
    sample = malloc(SAMPLE_BYTES_MAX);
    changed = malloc(SAMPLE_BYTES_MAX);
    return frames == NULL || other_frames == NULL || sample == NULL || changed == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    free(frames);
    free(other_frames);
    free(sample);
    free(changed);
    return 0;
}

static int open_sample(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", MACHO_SAMPLES, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void load_sample(const char *name)
{
    int fd = open_sample(name);
    ssize_t got = pread(fd, sample, SAMPLE_BYTES_MAX, 0);
    assert_true(got > 0 && got < SAMPLE_BYTES_MAX);
    sample_bytes = (size_t)got;
    memcpy(changed, sample, sample_bytes);
    close(fd);
}

/* The first id of the file behind `fd`. */
static struct sbx_file_id id_of(int fd)
{
    struct sbx_file_id ids[SBX_FILE_IDS_MAX];
    assert_true(sbx_file_ids_read(fd, ids, NULL) > 0);
    assert_int_equal(ids[0].byte_count, SBX_MACHO_UUID_BYTES);
    return ids[0];
}

/* The symbols of one or two (-1: one) files, which are taken. The first file determines the build-id. */
static struct sbx_symbol_file *open_files(int first, int second)
{
    const int descriptors[] = {first, second};
    struct sbx_file_id id = id_of(first);
    struct sbx_symbol_file *file =
        sbx_symbol_file_open_descriptors(descriptors, second < 0 ? 1 : 2, -1, id.bytes, id.byte_count);
    assert_non_null(file);
    return file;
}

static struct sbx_symbol_file *open_changed(size_t bytes)
{
    return open_files(macho_scene_open(changed, bytes), -1);
}

static size_t find(struct sbx_symbol_file *file, uint64_t offset)
{
    return sbx_symbol_file_find(file, offset, frames, FRAMES_MAX, &source);
}

/* The offset of a symbol of a sample. */
static uint64_t offset_of(const char *name, const char *symbol)
{
    static struct sbx_macho_image image;
    struct sbx_macho_symbols symbols;
    uint64_t offset = 0;
    int fd = open_sample(name);
    struct sbx_file_id id = id_of(fd);
    assert_int_equal(sbx_macho_image_read(fd, id.bytes, &image), 0);
    assert_int_equal(sbx_macho_symbols_read(fd, &image, &symbols), 0);
    for (size_t i = 0; i < symbols.count; i++) {
        offset = strcmp(symbols.symbols[i].name, symbol) == 0 ? symbols.symbols[i].begin - image.base : offset;
    }
    sbx_macho_symbols_finish(&symbols);
    close(fd);
    assert_true(offset >= CODE_BEGIN && offset < CODE_END);
    return offset;
}

/* Both files give the same answer for every offset; both are closed. */
static void assert_same(struct sbx_symbol_file *file, struct sbx_symbol_file *other)
{
    size_t named = 0;
    for (uint64_t offset = 0; offset < CODE_END; offset++) {
        enum sbx_symbol_source other_source;
        size_t count = find(file, offset);
        assert_int_equal(sbx_symbol_file_find(other, offset, other_frames, FRAMES_MAX, &other_source), count);
        assert_int_equal(other_source, source);
        for (size_t i = 0; i < count; i++) {
            assert_string_equal(frames[i].function, other_frames[i].function);
            assert_int_equal(frames[i].line, other_frames[i].line);
            assert_int_equal(frames[i].inlined, other_frames[i].inlined);
        }
        named += count > 0;
    }
    assert_true(named > 100);
    sbx_symbol_file_close(file);
    sbx_symbol_file_close(other);
}

/* The address of the name in the load command of segment `name`. */
static uint8_t *segment_name(const char *name)
{
    uint8_t *found = memmem(changed, sample_bytes, name, strlen(name) + 1);
    assert_non_null(found);
    return found;
}

static void add_to(uint8_t *number, int64_t change)
{
    uint64_t value;
    memcpy(&value, number, sizeof value);
    value += (uint64_t)change;
    memcpy(number, &value, sizeof value);
}

static void test_a_dsym_gives_functions_inlines_and_lines_at_offsets_from_the_begin_of_the_image(void **state)
{
    (void)state;
    static const char *const samples[] = {"dsym_arm64", "dsym_x86_64"};
    for (size_t s = 0; s < 2; s++) {
        struct sbx_symbol_file *file = open_files(open_sample(samples[s]), -1);
        uint64_t begin = offset_of(samples[s], "visible"), hidden = offset_of(samples[s], "hidden");
        size_t inlined = 0;
        assert_true(sbx_symbol_file_has_dwarf(file));
        assert_null(sbx_symbol_file_trouble(file));
        assert_int_equal(sbx_symbol_file_kind(file), SBX_IMAGE_DSYM);
        assert_int_equal(sbx_symbol_file_machine(file), s == 0 ? EM_AARCH64 : EM_X86_64);
        assert_int_equal(find(file, hidden), 1);
        assert_string_equal(frames[0].function, "hidden");
        assert_string_equal(frames[0].file, "/src/sample.c");
        assert_int_equal(frames[0].line, s == 0 ? 7 : 6); /* with or without the prologue */
        for (uint64_t offset = begin; offset < begin + 0x28; offset++) {
            size_t count = find(file, offset);
            assert_true(count > 0 && strcmp(frames[count - 1].function, "visible") == 0);
            assert_int_equal(source, SBX_SYMBOLS_DWARF);
            inlined += count == 2 && strcmp(frames[0].function, "inlined") == 0 && frames[0].inlined;
        }
        assert_true(inlined > 0);
        assert_int_equal(find(file, SCENE_BASE + hidden), 1); /* by its address; no offset reaches it */
        assert_string_equal(frames[0].function, "hidden");
        assert_int_equal(find(file, 2 * SCENE_BASE + hidden), 0);
        assert_int_equal(find(file, UINT64_MAX), 0);
        sbx_symbol_file_close(file);
    }
}

static void test_a_dsym_says_the_same_with_and_without_its_program(void **state)
{
    (void)state;
    assert_same(open_files(open_sample("dsym_arm64"), -1),
                open_files(open_sample("program_arm64"), open_sample("dsym_arm64")));
    assert_same(open_files(open_sample("dsym_x86_64"), open_sample("stripped_x86_64")),
                open_files(open_sample("stripped_x86_64"), open_sample("dsym_x86_64")));
}

static void test_an_image_of_a_universal_file_says_what_it_says_alone(void **state)
{
    (void)state;
    static const char *const samples[] = {"dsym_arm64", "dsym_x86_64"};
    for (size_t s = 0; s < 2; s++) {
        int alone = open_sample(samples[s]), universal = open_sample("universal_dsym");
        struct sbx_file_id id = id_of(alone);
        assert_true(sbx_file_has_id(universal, id.bytes, id.byte_count));
        struct sbx_symbol_file *file = sbx_symbol_file_open_descriptors(&universal, 1, -1, id.bytes, id.byte_count);
        assert_non_null(file);
        assert_same(open_files(alone, -1), file);
    }
}

static void test_a_program_without_its_dsym_has_its_symbols_and_says_what_is_missing(void **state)
{
    (void)state;
    struct sbx_symbol_file *file = open_files(open_sample("program_arm64"), -1);
    assert_false(sbx_symbol_file_has_dwarf(file));
    assert_non_null(strstr(sbx_symbol_file_trouble(file), "dsymutil"));
    assert_int_equal(sbx_symbol_file_kind(file), SBX_IMAGE_MACHO);
    assert_int_equal(find(file, offset_of("program_arm64", "hidden") + 4), 1);
    assert_string_equal(frames[0].function, "hidden");
    assert_int_equal(source, SBX_SYMBOLS_SYMTAB);
    assert_int_equal(find(file, offset_of("program_arm64", "$s6sample3addyS2iF")), 1);
    assert_string_equal(frames[0].function, "$s6sample3addyS2iF"); /* no demangler here knows Swift names */
    sbx_symbol_file_close(file);
}

static void test_a_stripped_program_names_what_it_exports_and_no_neighbour(void **state)
{
    (void)state;
    struct sbx_symbol_file *file = open_files(open_sample("stripped_x86_64"), -1);
    assert_int_equal(find(file, offset_of("stripped_x86_64", "main") + 2), 1);
    assert_string_equal(frames[0].function, "main");
    assert_int_equal(source, SBX_SYMBOLS_DYNSYM);
    assert_int_equal(find(file, offset_of("dsym_x86_64", "hidden")), 0);
    assert_int_equal(source, SBX_SYMBOLS_NONE);
    sbx_symbol_file_close(file);
}

/* Functions that the linker removed keep debug information, at addresses that are no code. */
static void test_debug_information_outside_the_code_names_nothing(void **state)
{
    (void)state;
    uint64_t visible = offset_of("dsym_arm64", "visible"), hidden = offset_of("dsym_arm64", "hidden");
    uint64_t main_begin = offset_of("dsym_arm64", "main");
    assert_true(visible < main_begin && main_begin < hidden);
    load_sample("dsym_arm64");
    uint8_t *code = segment_name("__text") + 32; /* address, size */
    add_to(code, (int64_t)(main_begin - visible));
    add_to(code + 8, -(int64_t)(main_begin - visible) - (int64_t)0x10);
    struct sbx_symbol_file *file = open_changed(sample_bytes);
    assert_int_equal(find(file, visible), 0);
    assert_true(find(file, main_begin) > 0);
    assert_string_equal(frames[0].function, "main");
    sbx_symbol_file_close(file);
}

static void test_a_file_of_another_base_is_not_mixed_in(void **state)
{
    (void)state;
    load_sample("dsym_arm64");
    add_to(segment_name("__TEXT") + 16, -0x100); /* all of its offsets differ now */
    int moved = macho_scene_open(changed, sample_bytes);
    struct sbx_symbol_file *file = open_files(open_sample("program_arm64"), moved);
    assert_false(sbx_symbol_file_has_dwarf(file));
    assert_int_equal(find(file, offset_of("program_arm64", "hidden")), 1);
    assert_string_equal(frames[0].function, "hidden");
    sbx_symbol_file_close(file);
    file = open_changed(sample_bytes);
    assert_int_equal(find(file, offset_of("program_arm64", "hidden") + 0x100), 1);
    assert_string_equal(frames[0].function, "hidden");
    sbx_symbol_file_close(file);
}

/* Files that take no disk space: the size that they claim is real. */
static void test_sym_11_of_too_much_debug_information_the_symbols_are_used_and_that_is_said(void **state)
{
    (void)state;
    static struct macho_scene scene;
    macho_scene_init(&scene);
    macho_scene_add_symbol(&scene, "_main", SCENE_CODE, 0x0e);
    static const uint64_t claims[] = {UINT64_C(0xd0000000), INT64_MAX - 65536};
    for (size_t i = 0; i < 2; i++) {
        scene.debug.bytes = claims[i];
        int fd = macho_scene_open(&scene, sizeof scene);
        assert_int_equal(ftruncate(fd, (off_t)claims[i] + 16384), 0);
        struct sbx_symbol_file *file = open_files(fd, -1);
        assert_non_null(strstr(sbx_symbol_file_trouble(file), "more than 3 GiB"));
        assert_int_equal(find(file, SCENE_CODE - SCENE_BASE), 1);
        assert_string_equal(frames[0].function, "main");
        sbx_symbol_file_close(file);
    }
}

static uint32_t adler32(const uint8_t *bytes, size_t count)
{
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < count; i++) {
        a = (a + bytes[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

/* Go's linker compresses sections: "ZLIB", the size as eight big-endian bytes, and zlib data. */
static void test_compressed_debug_information_says_what_it_says_plain(void **state)
{
    (void)state;
    load_sample("dsym_arm64");
    uint8_t *section = segment_name("__debug_line");
    uint64_t bytes;
    uint32_t offset;
    memcpy(&bytes, section + 40, sizeof bytes);
    memcpy(&offset, section + 48, sizeof offset);
    assert_true(bytes > 0 && bytes < 0x10000 && offset + bytes <= sample_bytes);
    uint8_t *to = changed + sample_bytes;
    const uint8_t head[] = {'Z',
                            'L',
                            'I',
                            'B',
                            0,
                            0,
                            0,
                            0,
                            0,
                            0,
                            (uint8_t)(bytes >> 8),
                            (uint8_t)bytes,
                            0x78,
                            0x01,
                            0x01, /* one uncompressed block */
                            (uint8_t)bytes,
                            (uint8_t)(bytes >> 8),
                            (uint8_t)~bytes,
                            (uint8_t)(~bytes >> 8)};
    uint32_t sum = adler32(sample + offset, bytes);
    const uint8_t tail[] = {(uint8_t)(sum >> 24), (uint8_t)(sum >> 16), (uint8_t)(sum >> 8), (uint8_t)sum};
    memcpy(to, head, sizeof head);
    memcpy(to + sizeof head, sample + offset, bytes);
    memcpy(to + sizeof head + bytes, tail, sizeof tail);
    uint64_t new_bytes = sizeof head + bytes + sizeof tail;
    uint32_t new_offset = (uint32_t)sample_bytes;
    memcpy(section, "__zdebug_line\0\0", 16);
    memcpy(section + 40, &new_bytes, sizeof new_bytes);
    memcpy(section + 48, &new_offset, sizeof new_offset);
    assert_same(open_files(open_sample("dsym_arm64"), -1), open_changed(sample_bytes + new_bytes));
}

/* Let a worker read the first `bytes` bytes of `changed`. */
static int make_image(const struct sbx_file_id *id, size_t bytes, char *why, size_t why_bytes)
{
    int fd = macho_scene_open(changed, bytes), out = memfd_create("image", MFD_CLOEXEC);
    struct sbx_symbol_image *image;
    struct sbx_making making = {.descriptors = &fd,
                                .descriptor_count = 1,
                                .alternate = -1,
                                .build_id = id->bytes,
                                .build_id_bytes = id->byte_count,
                                .name = "sample",
                                .out = out};
    why[0] = '\0';
    int result = sbx_symbol_worker_make(&making, 0, why, why_bytes);
    if (result != 0) {
        close(out);
        return result;
    }
    assert_int_equal(sbx_symbol_image_open(out, 0, &image), 0);
    assert_int_equal(sbx_symbol_image_verify(image), 0);
    assert_int_equal(sbx_symbol_image_facts(image)->kind, SBX_IMAGE_DSYM);
    sbx_symbol_image_close(image);
    return 0;
}

/* Whatever the file contains, the caller goes on, and the result is a valid image or none. */
static void test_sym_11_damaged_dsyms_leave_the_caller_and_its_images_whole(void **state)
{
    (void)state;
    char why[240];
    load_sample("dsym_arm64");
    int fd = open_sample("dsym_arm64");
    struct sbx_file_id id = id_of(fd);
    close(fd);
    assert_int_equal(make_image(&id, sample_bytes, why, sizeof why), 0);
    assert_string_equal(why, "");
    uint64_t random = 5;
    for (int round = 0; round < 60; round++) {
        memcpy(changed, sample, sample_bytes);
        for (int flips = 0; flips < 1 + round % 30; flips++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            size_t from = round % 2 == 0 ? 4096 : 56; /* behind the UUID, or behind the commands */
            changed[from + (random >> 20) % (sample_bytes - from)] ^= (uint8_t)(random >> 56 | 1);
        }
        int result = make_image(&id, sample_bytes, why, sizeof why);
        assert_true(result <= 0 && (result == 0 || why[0] != '\0'));
    }
    memcpy(changed, sample, sample_bytes);
    assert_int_equal(make_image(&id, sample_bytes - 2000, why, sizeof why), -EBADMSG);
    assert_string_equal(why, "no ELF or Mach-O file with this build-id");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_dsym_gives_functions_inlines_and_lines_at_offsets_from_the_begin_of_the_image),
        cmocka_unit_test(test_a_dsym_says_the_same_with_and_without_its_program),
        cmocka_unit_test(test_an_image_of_a_universal_file_says_what_it_says_alone),
        cmocka_unit_test(test_a_program_without_its_dsym_has_its_symbols_and_says_what_is_missing),
        cmocka_unit_test(test_a_stripped_program_names_what_it_exports_and_no_neighbour),
        cmocka_unit_test(test_debug_information_outside_the_code_names_nothing),
        cmocka_unit_test(test_a_file_of_another_base_is_not_mixed_in),
        cmocka_unit_test(test_sym_11_of_too_much_debug_information_the_symbols_are_used_and_that_is_said),
        cmocka_unit_test(test_compressed_debug_information_says_what_it_says_plain),
        cmocka_unit_test(test_sym_11_damaged_dsyms_leave_the_caller_and_its_images_whole),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
