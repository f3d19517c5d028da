/* SPDX-License-Identifier: Apache-2.0 */
/* test_macho_image.c - programs, universal files, and malformed files. */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "macho_image.h"
#include "macho_scene.h"

static struct macho_scene scene;
static struct sbx_macho_image image;
static uint8_t uuids[SBX_MACHO_IMAGES_MAX][SBX_MACHO_UUID_BYTES];

/* How many UUIDs `bytes` contain, and the reason if there is none. */
static size_t read_uuids(const void *bytes, size_t count, const char **why_out)
{
    int fd = macho_scene_open(bytes, count);
    size_t found = sbx_macho_uuids_read(fd, uuids, why_out);
    close(fd);
    return found;
}

static void test_a_program_has_its_uuid_its_base_and_its_sections(void **state)
{
    (void)state;
    const char *why;
    macho_scene_init(&scene);
    assert_int_equal(read_uuids(&scene, sizeof scene, &why), 1);
    assert_null(why);
    assert_memory_equal(uuids[0], scene.uuid.uuid, 16);
    int fd = macho_scene_open(&scene, sizeof scene);
    assert_int_equal(sbx_macho_image_read(fd, scene.uuid.uuid, &image), 0);
    assert_int_equal(image.base, SCENE_BASE);
    assert_int_equal(image.cpu, SBX_MACHO_CPU_ARM64);
    assert_int_equal(image.section_count, 4);
    assert_string_equal(image.sections[0].name, "__text");
    assert_true(image.sections[0].is_code && image.sections[1].is_code && !image.sections[2].is_code);
    assert_true(image.sections[3].is_debug);
    assert_int_equal(image.sections[3].offset, offsetof(struct macho_scene, debug_content));
    static const uint8_t another[16];
    assert_int_equal(sbx_macho_image_read(fd, another, &image), -ENOENT);
    close(fd);
}

/* ---- damage ---- */

enum {
    U32 = 4,
    U64 = 8
};

#define FIELD(member) offsetof(struct macho_scene, member)
static const struct damage {
    const char *what;
    size_t offset;
    int bytes;
    uint64_t value;
    const char *why; /* part of the reason; NULL: not a Mach-O file at all */
} damages[] = {
    {"another magic", FIELD(header.magic), U32, 0x464c457f, NULL},
    {"32 bits", FIELD(header.magic), U32, SBX_MACHO_MAGIC_32, "without an image of arm64 or x86-64"},
    {"another byte order", FIELD(header.magic), U32, SBX_MACHO_MAGIC_BIG_ENDIAN, "without an image"},
    {"another processor", FIELD(header.cpu), U32, 0x01000012, "without an image"},
    {"commands beyond the end", FIELD(header.command_bytes), U32, sizeof scene, "cut short"},
    {"commands without end", FIELD(header.command_bytes), U32, UINT32_MAX, "cut short"},
    {"more commands than bytes", FIELD(header.command_count), U32, UINT32_MAX, "damaged commands"},
    {"no UUID", FIELD(uuid.command.kind), U32, 0x7f, "that has a UUID"},
    {"a UUID of no bytes", FIELD(uuid.command.bytes), U32, 0, "damaged commands"},
    {"a UUID of 8 bytes", FIELD(uuid.command.bytes), U32, 8, "damaged or a second UUID"},
    {"a command that reaches beyond", FIELD(uuid.command.bytes), U32, 0x7ffffff8, "damaged commands"},
    {"a second UUID", FIELD(starts.command.kind), U32, SBX_MACHO_UUID, "a second UUID"},
    {"no __TEXT", FIELD(text.name[2]), U32, 0, "without a __TEXT segment"},
    {"a segment of too few bytes", FIELD(text.command.bytes), U32, 64, "damaged segment"},
    {"more sections than fit", FIELD(text.section_count), U32, 4, "damaged segment"},
    {"sections without end", FIELD(text.section_count), U32, UINT32_MAX, "damaged segment"},
    {"a base above the code", FIELD(text.address), U64, SCENE_CODE + 1, "code below its base"},
    {"a base far below", FIELD(text.address), U64, 0x1000, "more than 4 GiB above"},
    {"code below the base", FIELD(code.address), U64, 0x1000, "code below its base"},
    {"code at the end of memory", FIELD(code.address), U64, UINT64_MAX - 8, "more than 4 GiB above"},
    {"code that wraps around", FIELD(code.bytes), U64, UINT64_MAX - 8, "more than 4 GiB above"},
    {"code of 2 MiB", FIELD(code.bytes), U64, 2 << 20, "a thousand times its size"},
    {"code far from the other", FIELD(stubs.address), U64, SCENE_CODE + (64 << 20), "a thousand times its size"},
    {"debug information beyond the end", FIELD(debug.offset), U32, sizeof scene, "debug information is cut short"},
    {"debug information that is longer", FIELD(debug.bytes), U64, 65, "debug information is cut short"},
    {"debug information without end", FIELD(debug.bytes), U64, UINT64_MAX, "debug information is cut short"},
    {"symbols beyond the end", FIELD(symtab.offset), U32, UINT32_MAX, "symbol table is cut short"},
    {"symbols without end", FIELD(symtab.count), U32, UINT32_MAX, "symbol table is cut short"},
    {"strings beyond the end", FIELD(symtab.string_offset), U32, sizeof scene, "symbol table is cut short"},
    {"strings that are longer", FIELD(symtab.string_bytes), U32, sizeof scene, "symbol table is cut short"},
    {"strings without end", FIELD(symtab.string_bytes), U32, UINT32_MAX, "more than 1 GiB of names"},
    {"a symbol table of 8 bytes", FIELD(symtab.command.bytes), U32, 8, "damaged or a second symbol table"},
    {"functions beyond the end", FIELD(starts.offset), U32, sizeof scene + 1, "list of functions is cut short"},
    {"functions without end", FIELD(starts.bytes), U32, UINT32_MAX, "list of functions is cut short"},
    {"a list of functions of 8 bytes", FIELD(starts.command.bytes), U32, 8, "damaged or a second list"},
};

static void test_sym_11_a_damaged_file_is_refused_in_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        const struct damage *damage = &damages[i];
        const char *why;
        macho_scene_init(&scene);
        memcpy((uint8_t *)&scene + damage->offset, &damage->value, (size_t)damage->bytes);
        size_t count = read_uuids(&scene, sizeof scene, &why);
        bool as_told =
            count == 0 && (why == NULL) == (damage->why == NULL) && (why == NULL || strstr(why, damage->why) != NULL);
        if (!as_told) {
            fail_msg("%s: %zu UUIDs, %s", damage->what, count, why == NULL ? "no reason" : why);
        }
        int fd = macho_scene_open(&scene, sizeof scene);
        assert_int_equal(sbx_macho_image_read(fd, scene.uuid.uuid, &image), -ENOENT);
        close(fd);
    }
}

static void test_what_stands_twice_is_refused(void **state)
{
    (void)state;
    const char *why;
    macho_scene_init(&scene);
    memcpy(&scene.uuid, &scene.symtab, sizeof scene.uuid);
    assert_int_equal(read_uuids(&scene, sizeof scene, &why), 0);
    assert_non_null(strstr(why, "second symbol table"));
    macho_scene_init(&scene);
    memcpy(scene.dwarf.name, scene.text.name, sizeof scene.dwarf.name);
    assert_int_equal(read_uuids(&scene, sizeof scene, &why), 0);
    assert_non_null(strstr(why, "two __TEXT segments"));
}

static void test_a_file_without_code_is_refused(void **state)
{
    (void)state;
    const char *why;
    macho_scene_init(&scene);
    scene.code.flags = scene.stubs.flags = 0;
    assert_int_equal(read_uuids(&scene, sizeof scene, &why), 0);
    assert_non_null(strstr(why, "without code"));
}

static void test_a_file_that_is_cut_anywhere_is_refused(void **state)
{
    (void)state;
    const char *why;
    macho_scene_init(&scene);
    macho_scene_add_symbol(&scene, "_main", SCENE_CODE, 0x0f);
    for (size_t count = 0; count < sizeof scene; count++) {
        assert_int_equal(read_uuids(&scene, count, &why), 0);
        assert_int_equal(why == NULL, count < 8); /* too short to tell */
    }
    assert_int_equal(read_uuids(&scene, sizeof scene, &why), 1);
}

/* Whatever a byte of header and commands contains, the answer stays inside of the file. */
static void test_sym_11_no_byte_leads_out_of_the_file(void **state)
{
    (void)state;
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    for (size_t at = 0; at < offsetof(struct macho_scene, symbols); at++) {
        for (size_t v = 0; v < sizeof values; v++) {
            const char *why;
            macho_scene_init(&scene);
            ((uint8_t *)&scene)[at] = values[v];
            if (read_uuids(&scene, sizeof scene, &why) == 0) {
                continue;
            }
            int fd = macho_scene_open(&scene, sizeof scene);
            assert_int_equal(sbx_macho_image_read(fd, uuids[0], &image), 0);
            close(fd);
            assert_true(image.symbols_offset + 16 * image.symbol_count <= sizeof scene);
            assert_true(image.strings_offset + image.string_bytes <= sizeof scene);
            assert_true(image.starts_offset + image.starts_bytes <= sizeof scene);
            for (size_t i = 0; i < image.section_count; i++) {
                const struct sbx_macho_section *section = &image.sections[i];
                assert_true(!section->is_debug || section->offset + section->bytes <= sizeof scene);
            }
        }
    }
}

/* ---- universal files ---- */

struct universal {
    struct sbx_macho_fat_header header;
    union {
        struct sbx_macho_fat_slice narrow[3];
        struct sbx_macho_fat_slice_64 wide[3];
    };
    struct macho_scene images[3]; /* arm64, 32 bits, x86-64 */
};

static struct universal universal;

static void make_universal(bool is_wide)
{
    memset(&universal, 0, sizeof universal);
    universal.header.magic = htobe32(is_wide ? SBX_MACHO_FAT_MAGIC_64 : SBX_MACHO_FAT_MAGIC);
    universal.header.slice_count = htobe32(3);
    for (size_t i = 0; i < 3; i++) {
        uint64_t offset = offsetof(struct universal, images) + i * sizeof scene;
        macho_scene_init(&universal.images[i]);
        universal.images[i].uuid.uuid[0] = (uint8_t)i;
        if (is_wide) {
            universal.wide[i].offset = htobe64(offset);
            universal.wide[i].bytes = htobe64(sizeof scene);
        } else {
            universal.narrow[i].offset = htobe32((uint32_t)offset);
            universal.narrow[i].bytes = htobe32(sizeof scene);
        }
    }
    universal.images[0].header.cpu_subtype = 0x80000002; /* arm64e */
    universal.images[1].header.magic = SBX_MACHO_MAGIC_32;
    universal.images[2].header.cpu = SBX_MACHO_CPU_X86_64;
}

static void test_the_uuid_chooses_the_image_of_a_universal_file(void **state)
{
    (void)state;
    for (int is_wide = 0; is_wide < 2; is_wide++) {
        const char *why;
        make_universal(is_wide != 0);
        assert_int_equal(read_uuids(&universal, sizeof universal, &why), 2);
        assert_int_equal(uuids[0][0], 0);
        assert_int_equal(uuids[1][0], 2);
        int fd = macho_scene_open(&universal, sizeof universal);
        assert_int_equal(sbx_macho_image_read(fd, universal.images[2].uuid.uuid, &image), 0);
        assert_int_equal(image.cpu, SBX_MACHO_CPU_X86_64);
        uint64_t begin = offsetof(struct universal, images) + 2 * sizeof scene;
        assert_int_equal(image.sections[3].offset, begin + offsetof(struct macho_scene, debug_content));
        assert_int_equal(image.symbols_offset, begin + offsetof(struct macho_scene, symbols));
        assert_int_equal(sbx_macho_image_read(fd, universal.images[1].uuid.uuid, &image), -ENOENT);
        close(fd);
    }
}

static void test_an_image_that_lies_beyond_the_end_refuses_the_universal_file(void **state)
{
    (void)state;
    const char *why;
    make_universal(false);
    assert_int_equal(read_uuids(&universal, sizeof universal - 1, &why), 0);
    assert_non_null(strstr(why, "cut short"));
    assert_int_equal(read_uuids(&universal, 20, &why), 0);
    assert_non_null(strstr(why, "cut short"));
    make_universal(true);
    universal.wide[1].offset = htobe64(UINT64_MAX - 8);
    assert_int_equal(read_uuids(&universal, sizeof universal, &why), 0);
    assert_non_null(strstr(why, "cut short"));
    make_universal(true); /* its image would be the file itself */
    universal.wide[0].offset = 0;
    universal.wide[0].bytes = htobe64(sizeof universal);
    assert_int_equal(read_uuids(&universal, sizeof universal, &why), 0);
    assert_non_null(strstr(why, "something else than Mach-O"));
    universal.header.slice_count = htobe32(17);
    assert_int_equal(read_uuids(&universal, sizeof universal, &why), 0);
    assert_non_null(strstr(why, "more processors"));
}

static void test_a_class_file_of_java_is_none(void **state)
{
    (void)state;
    static const uint8_t java_8[64] = {0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52};
    const char *why;
    assert_int_equal(read_uuids(java_8, sizeof java_8, &why), 0);
    assert_null(why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_program_has_its_uuid_its_base_and_its_sections),
        cmocka_unit_test(test_sym_11_a_damaged_file_is_refused_in_words),
        cmocka_unit_test(test_what_stands_twice_is_refused),
        cmocka_unit_test(test_a_file_without_code_is_refused),
        cmocka_unit_test(test_a_file_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(test_sym_11_no_byte_leads_out_of_the_file),
        cmocka_unit_test(test_the_uuid_chooses_the_image_of_a_universal_file),
        cmocka_unit_test(test_an_image_that_lies_beyond_the_end_refuses_the_universal_file),
        cmocka_unit_test(test_a_class_file_of_java_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
