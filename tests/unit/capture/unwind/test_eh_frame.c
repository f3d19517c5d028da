/* SPDX-License-Identifier: Apache-2.0 */
/* test_eh_frame.c - framing: entries, their headers, pointer encodings, the search table. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "byte_reader.h"
#include "eh_frame.h"
#include "eh_frame_writer.h"
#include "guarded_bytes.h"

/* ---- numbers ---- */

static uint64_t uleb_of(const uint8_t *bytes, size_t count, bool *damaged_out)
{
    struct sbx_byte_reader reader = {bytes, bytes + count, false};
    uint64_t value = sbx_read_uleb(&reader);
    *damaged_out = reader.damaged;
    return value;
}

static int64_t sleb_of(const uint8_t *bytes, size_t count, bool *damaged_out)
{
    struct sbx_byte_reader reader = {bytes, bytes + count, false};
    int64_t value = sbx_read_sleb(&reader);
    *damaged_out = reader.damaged;
    return value;
}

static void test_leb_numbers_keep_all_64_bits(void **state)
{
    (void)state;
    bool damaged;
    assert_true(uleb_of(WRITER_BYTES(0x7f), &damaged) == 127 && !damaged);
    assert_true(uleb_of(WRITER_BYTES(0xe5, 0x8e, 0x26), &damaged) == 624485 && !damaged);
    assert_true(uleb_of(WRITER_BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), &damaged) == UINT64_MAX);
    assert_false(damaged);
    assert_true(sleb_of(WRITER_BYTES(0x78), &damaged) == -8 && !damaged);
    assert_true(sleb_of(WRITER_BYTES(0x80, 0x7f), &damaged) == -128 && !damaged);
    assert_true(sleb_of(WRITER_BYTES(0x3f), &damaged) == 63 && !damaged);
    assert_true(sleb_of(WRITER_BYTES(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f), &damaged) ==
                INT64_MIN);
    assert_false(damaged);
}

static void test_leb_numbers_that_do_not_fit_are_damage(void **state)
{
    (void)state;
    bool damaged;
    assert_int_equal(uleb_of(WRITER_BYTES(0x80, 0x80), &damaged), 0); /* ends too early */
    assert_true(damaged);
    assert_int_equal(uleb_of(WRITER_BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2), &damaged), 0);
    assert_true(damaged);
    assert_int_equal(uleb_of(WRITER_BYTES(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0), &damaged), 0);
    assert_true(damaged);
    assert_int_equal(sleb_of(WRITER_BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), &damaged), 0);
    assert_true(damaged);
}

/* ---- CIE ---- */

static int read_only_cie(uint8_t version, const char *augmentation, const uint8_t *data, size_t data_bytes,
                         struct sbx_eh_cie *cie_out)
{
    struct eh_frame_writer writer = {0};
    uint32_t position = writer_put_cie_with(&writer, version, augmentation, data, data_bytes);
    struct sbx_eh_section section = writer_section(&writer);
    int result = sbx_eh_cie_read(&section, position, cie_out);
    cie_out->program = NULL; /* it pointed into the writer */
    return result;
}

static void test_cie_of_gcc_is_read(void **state)
{
    (void)state;
    struct sbx_eh_cie cie;
    assert_int_equal(read_only_cie(1, "zR", WRITER_BYTES(0x1b), &cie), 0);
    assert_int_equal(cie.code_align, 1);
    assert_int_equal(cie.data_align, -8);
    assert_int_equal(cie.return_register, 16);
    assert_int_equal(cie.pointer_encoding, 0x1b);
    assert_true(cie.has_augmentation);
    assert_false(cie.is_signal_frame);
    assert_int_equal(cie.program_bytes, 5);
}

static void test_cie_with_every_letter_is_read(void **state)
{
    (void)state;
    struct sbx_eh_cie cie;
    /* personality: indirect pcrel sdata4; LSDA encoding; pointers pcrel sdata8 */
    assert_int_equal(read_only_cie(1, "zPLRSB", WRITER_BYTES(0x9b, 1, 2, 3, 4, 0x1b, 0x1c), &cie), 0);
    assert_int_equal(cie.pointer_encoding, 0x1c);
    assert_true(cie.is_signal_frame);
    assert_int_equal(read_only_cie(3, "zR", WRITER_BYTES(0x0b), &cie), 0);
    assert_int_equal(read_only_cie(1, "", NULL, 0, &cie), 0);
    assert_int_equal(cie.pointer_encoding, 0);
    assert_false(cie.has_augmentation);
}

static void test_unknown_cies_are_refused(void **state)
{
    (void)state;
    struct sbx_eh_cie cie;
    assert_int_equal(read_only_cie(2, "zR", WRITER_BYTES(0x1b), &cie), -EINVAL); /* version */
    assert_int_equal(read_only_cie(5, "zR", WRITER_BYTES(0x1b), &cie), -EINVAL);
    assert_int_equal(read_only_cie(1, "eh", NULL, 0, &cie), -EINVAL);                   /* before gcc 3 */
    assert_int_equal(read_only_cie(1, "zXR", WRITER_BYTES(0x1b), &cie), -EINVAL);       /* letter */
    assert_int_equal(read_only_cie(1, "zPR", WRITER_BYTES(0x9b, 1, 2), &cie), -EINVAL); /* personality too short */
    assert_int_equal(read_only_cie(1, "zPR", WRITER_BYTES(0x50, 0, 0, 0, 0, 0, 0, 0, 0, 0x1b), &cie),
                     -EINVAL);                                        /* aligned */
    assert_int_equal(read_only_cie(1, "zR", NULL, 0, &cie), -EINVAL); /* no encoding */
    assert_int_equal(read_only_cie(1, "zSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSS", NULL, 0, &cie), -EINVAL);
}

static void test_version_4_needs_64_bit_flat_addresses(void **state)
{
    (void)state;
    for (unsigned address_bytes = 4; address_bytes <= 8; address_bytes += 4) {
        struct eh_frame_writer writer = {0};
        writer_open_entry(&writer);
        writer_put(&writer, WRITER_BYTES(0, 0, 0, 0, 4, 0)); /* CIE, version 4, no augmentation */
        writer_put_number(&writer, address_bytes, 1);
        writer_put(&writer, WRITER_BYTES(0, 1, 0x78, 0x10)); /* no segments, alignments, return address */
        writer_close_entry(&writer);
        struct sbx_eh_section section = writer_section(&writer);
        struct sbx_eh_cie cie;
        assert_int_equal(sbx_eh_cie_read(&section, 0, &cie), address_bytes == 8 ? 0 : -EINVAL);
    }
}

static void test_cie_with_an_endless_program_is_refused(void **state)
{
    (void)state;
    struct eh_frame_writer writer = {0};
    uint8_t nops[SBX_CIE_PROGRAM_MAX] = {0};
    uint32_t position = writer_put_cie(&writer, nops, sizeof nops);
    struct sbx_eh_section section = writer_section(&writer);
    struct sbx_eh_cie cie;
    assert_int_equal(sbx_eh_cie_read(&section, position, &cie), -EINVAL);
}

/* ---- FDE ---- */

/* One FDE whose addresses are written in `encoding`; `field` and `range` as they appear in the file. */
static int read_only_fde(uint8_t encoding, uint64_t field, uint64_t range, unsigned field_bytes,
                         struct sbx_eh_fde *fde_out, uint64_t *field_address_out)
{
    struct eh_frame_writer writer = {0};
    uint32_t cie_position = writer_put_cie_with(&writer, 1, "zR", &encoding, 1);
    writer_open_entry(&writer);
    writer_put_number(&writer, writer.count - cie_position, 4);
    *field_address_out = WRITER_SECTION_AT + writer.count;
    writer_put_number(&writer, field, field_bytes);
    writer_put_number(&writer, range, field_bytes);
    writer_put_number(&writer, 0, 1);
    writer_close_entry(&writer);
    struct sbx_eh_section section = writer_section(&writer);
    struct sbx_eh_cie cie;
    uint32_t named;
    assert_int_equal(sbx_eh_fde_cie(&section, (uint32_t)writer.entry, &named), 0);
    assert_int_equal(named, cie_position);
    assert_int_equal(sbx_eh_cie_read(&section, cie_position, &cie), 0);
    return sbx_eh_fde_read(&section, (uint32_t)writer.entry, &cie, fde_out);
}

static void test_code_addresses_are_read_in_every_encoding(void **state)
{
    (void)state;
    struct sbx_eh_fde fde;
    uint64_t at;
    assert_int_equal(read_only_fde(0x00, 0x123456789a, 16, 8, &fde, &at), 0); /* absolute */
    assert_true(fde.begin == 0x123456789a && fde.end == 0x12345678aa);
    assert_int_equal(read_only_fde(0x03, 0xf0001000, 16, 4, &fde, &at), 0); /* udata4 */
    assert_true(fde.begin == 0xf0001000);
    assert_int_equal(read_only_fde(0x1b, (uint32_t)-0x700, 16, 4, &fde, &at), 0); /* pcrel sdata4 */
    assert_true(fde.begin == at - 0x700);
    assert_int_equal(read_only_fde(0x1a, 0x7f00, 16, 2, &fde, &at), 0); /* pcrel sdata2 */
    assert_true(fde.begin == at + 0x7f00);
    assert_int_equal(read_only_fde(0x12, 0xff00, 16, 2, &fde, &at), 0); /* pcrel udata2 */
    assert_true(fde.begin == at + 0xff00);
    assert_int_equal(read_only_fde(0x1c, (uint64_t)-0x40, 16, 8, &fde, &at), 0); /* pcrel sdata8 */
    assert_true(fde.begin == at - 0x40);
    assert_int_equal(read_only_fde(0x01, 0x11, 0x22, 1, &fde, &at), 0); /* uleb128 */
    assert_true(fde.begin == 0x11 && fde.end == 0x33);
    assert_int_equal(read_only_fde(0x19, 0x7f, 0x22, 1, &fde, &at), 0); /* pcrel sleb128: -1 */
    assert_true(fde.begin == at - 1);
}

static void test_code_addresses_we_cannot_know_are_refused(void **state)
{
    (void)state;
    struct sbx_eh_fde fde;
    uint64_t at;
    assert_int_equal(read_only_fde(0x2b, 16, 16, 4, &fde, &at), -EINVAL);             /* relative to text */
    assert_int_equal(read_only_fde(0x3b, 16, 16, 4, &fde, &at), -EINVAL);             /* to data */
    assert_int_equal(read_only_fde(0x4b, 16, 16, 4, &fde, &at), -EINVAL);             /* to the function */
    assert_int_equal(read_only_fde(0x50, 16, 16, 8, &fde, &at), -EINVAL);             /* aligned */
    assert_int_equal(read_only_fde(0x9b, 16, 16, 4, &fde, &at), -EINVAL);             /* indirect */
    assert_int_equal(read_only_fde(0xff, 16, 16, 4, &fde, &at), -EINVAL);             /* omitted */
    assert_int_equal(read_only_fde(0x05, 16, 16, 4, &fde, &at), -EINVAL);             /* no such format */
    assert_int_equal(read_only_fde(0x1b, 16, 0, 4, &fde, &at), -EINVAL);              /* empty function */
    assert_int_equal(read_only_fde(0x00, UINT64_MAX - 4, 16, 8, &fde, &at), -EINVAL); /* wraps */
}

static void test_fde_that_names_no_cie_is_refused(void **state)
{
    (void)state;
    struct eh_frame_writer writer = {0};
    uint32_t cie = writer_put_cie(&writer, NULL, 0);
    uint32_t fde = writer_put_fde(&writer, cie, WRITER_TEXT_AT, 16, NULL, 0);
    struct sbx_eh_section section = writer_section(&writer);
    uint32_t named;
    assert_int_equal(sbx_eh_fde_cie(&section, cie, &named), -EINVAL); /* it is a CIE itself */
    memset(writer.bytes + fde + 4, 0xff, 4);                          /* before the section */
    assert_int_equal(sbx_eh_fde_cie(&section, fde, &named), -EINVAL);
}

/* ---- the linear walk ---- */

static void test_walk_finds_entries_up_to_the_terminator(void **state)
{
    (void)state;
    struct eh_frame_writer writer = {0};
    uint32_t cie = writer_put_cie(&writer, NULL, 0);
    uint32_t fde = writer_put_fde(&writer, cie, WRITER_TEXT_AT, 16, NULL, 0);
    writer_put_terminator(&writer);
    (void)writer_put_cie(&writer, NULL, 0); /* behind the end */
    struct sbx_eh_section section = writer_section(&writer);
    struct sbx_eh_entry entry;
    uint32_t position = 0;
    assert_int_equal(sbx_eh_frame_next(&section, &position, &entry), 1);
    assert_false(entry.is_fde);
    assert_int_equal(entry.position, cie);
    assert_int_equal(sbx_eh_frame_next(&section, &position, &entry), 1);
    assert_true(entry.is_fde);
    assert_int_equal(entry.position, fde);
    assert_int_equal(sbx_eh_frame_next(&section, &position, &entry), 0);
}

static void test_64_bit_entry_is_refused_and_stepped_over(void **state)
{
    (void)state;
    struct eh_frame_writer writer = {0};
    writer_put_number(&writer, UINT32_MAX, 4);
    writer_put_number(&writer, 24, 8);
    writer_put(&writer, (const uint8_t[24]){0}, 24);
    uint32_t cie = writer_put_cie(&writer, NULL, 0);
    struct sbx_eh_section section = writer_section(&writer);
    struct sbx_eh_entry entry;
    struct sbx_eh_cie read;
    uint32_t position = 0;
    assert_int_equal(sbx_eh_cie_read(&section, 0, &read), -EINVAL);
    assert_int_equal(sbx_eh_frame_next(&section, &position, &entry), -ENOTSUP);
    assert_int_equal(sbx_eh_frame_next(&section, &position, &entry), 1);
    assert_int_equal(entry.position, cie);
}

static void test_length_that_leaves_the_section_ends_the_walk(void **state)
{
    (void)state;
    struct eh_frame_writer writer = {0};
    (void)writer_put_cie(&writer, NULL, 0);
    struct sbx_eh_section section = writer_section(&writer);
    struct sbx_eh_entry entry;
    uint32_t position = 0;
    writer.bytes[0]++;
    assert_int_equal(sbx_eh_frame_next(&section, &position, &entry), -EINVAL);
    memset(writer.bytes, 0xff, 12); /* 64-bit, and 2^64 - 1 long */
    assert_int_equal(sbx_eh_frame_next(&section, &position, &entry), -EINVAL);
    memset(writer.bytes, 0, 4);
    writer.bytes[0] = 3; /* too short for what every entry has */
    assert_int_equal(sbx_eh_frame_next(&section, &position, &entry), -EINVAL);
}

/* Cut the section at every length: what is left is read, and nothing behind it. */
static void test_truncation_at_every_length_reads_nothing_beyond(void **state)
{
    (void)state;
    struct eh_frame_writer writer = {0};
    struct guarded_bytes guarded;
    uint32_t cie = writer_put_cie_with(&writer, 1, "zPLR", WRITER_BYTES(0x9b, 1, 2, 3, 4, 0x1b, 0x1b));
    writer_open_entry(&writer);
    writer_put_number(&writer, writer.count - cie, 4);
    writer_put(&writer, WRITER_BYTES(0, 0, 0, 0, 16, 0, 0, 0, 4, 1, 2, 3, 4, 0x41, 0x0e, 0x10));
    writer_close_entry(&writer);
    writer_put_terminator(&writer);
    guarded_bytes_init(&guarded, writer.count);
    uint32_t entries_before = 0;
    for (size_t bytes = 0; bytes <= writer.count; bytes++) {
        guarded_bytes_set(&guarded, writer.bytes, bytes);
        struct sbx_eh_section section = {guarded.at, guarded.bytes, WRITER_SECTION_AT};
        struct sbx_eh_entry entry;
        uint32_t entries = 0, named;
        for (uint32_t position = 0; sbx_eh_frame_next(&section, &position, &entry) == 1;) {
            struct sbx_eh_cie read;
            struct sbx_eh_fde fde;
            assert_int_equal(sbx_eh_cie_read(&section, 0, &read), 0);
            if (entry.is_fde) {
                assert_int_equal(sbx_eh_fde_cie(&section, entry.position, &named), 0);
                assert_int_equal(sbx_eh_fde_read(&section, entry.position, &read, &fde), 0);
                assert_ptr_equal(fde.program + fde.program_bytes, guarded.at + position);
            }
            entries++;
        }
        assert_true(entries >= entries_before);
        entries_before = entries;
        /* The same bytes as one entry that claims to end where the bytes end. */
        if (bytes >= 8) {
            struct sbx_eh_cie read;
            for (unsigned i = 0; i < 4; i++) {
                guarded.at[i] = (uint8_t)((bytes - 4) >> (8 * i));
            }
            bool has_fixed_part = bytes >= 4 + 4 + 1 + 5 + 3 + 1 + 7; /* up to the end of the augmentation data */
            assert_int_equal(sbx_eh_cie_read(&section, 0, &read), has_fixed_part ? 0 : -EINVAL);
        }
    }
    assert_int_equal(entries_before, 2);
    guarded_bytes_finish(&guarded);
}

/* ---- the search table ---- */

static void test_search_table_of_binutils_is_read(void **state)
{
    (void)state;
    uint8_t bytes[28] = {1, 0x1b, 0x03, 0x3b};
    memcpy(bytes + 4, &(int32_t){0x100 - 4}, 4); /* .eh_frame: 0x100 behind the header */
    memcpy(bytes + 8, &(uint32_t){2}, 4);
    memcpy(bytes + 12, &(int32_t[]){-0x4000, 0x110, -0x3000, 0x140}, 16);
    struct sbx_eh_section header = {bytes, sizeof bytes, 0x5000};
    struct sbx_eh_search_table table;
    uint64_t begin, fde_address;
    assert_int_equal(sbx_eh_search_table_read(&header, &table), 0);
    assert_int_equal(table.eh_frame_address, 0x5100);
    assert_int_equal(table.count, 2);
    sbx_eh_search_table_entry(&table, 1, &begin, &fde_address);
    assert_int_equal(begin, 0x2000);
    assert_int_equal(fde_address, 0x5140);
}

static void test_header_without_table_still_says_where_eh_frame_is(void **state)
{
    (void)state;
    uint8_t bytes[8] = {1, 0x1b, 0xff, 0xff, 0x10};
    struct sbx_eh_section header = {bytes, sizeof bytes, 0x5000};
    struct sbx_eh_search_table table;
    assert_int_equal(sbx_eh_search_table_read(&header, &table), 0);
    assert_null(table.entries);
    assert_int_equal(table.eh_frame_address, 0x5014);
    bytes[2] = 0x03;
    bytes[3] = 0x0b; /* a table, but of absolute addresses */
    assert_int_equal(sbx_eh_search_table_read(&header, &table), 0);
    assert_null(table.entries);
}

static void test_damaged_header_is_refused_at_every_length(void **state)
{
    (void)state;
    uint8_t bytes[20] = {1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 1};
    struct guarded_bytes guarded;
    struct sbx_eh_search_table table;
    guarded_bytes_init(&guarded, sizeof bytes);
    for (size_t count = 0; count < sizeof bytes; count++) {
        guarded_bytes_set(&guarded, bytes, count);
        struct sbx_eh_section header = {guarded.at, guarded.bytes, 0x5000};
        assert_int_equal(sbx_eh_search_table_read(&header, &table), -EINVAL);
    }
    guarded_bytes_set(&guarded, bytes, sizeof bytes);
    struct sbx_eh_section header = {guarded.at, guarded.bytes, 0x5000};
    assert_int_equal(sbx_eh_search_table_read(&header, &table), 0);
    guarded.at[0] = 2; /* version */
    assert_int_equal(sbx_eh_search_table_read(&header, &table), -EINVAL);
    guarded_bytes_finish(&guarded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leb_numbers_keep_all_64_bits),
        cmocka_unit_test(test_leb_numbers_that_do_not_fit_are_damage),
        cmocka_unit_test(test_cie_of_gcc_is_read),
        cmocka_unit_test(test_cie_with_every_letter_is_read),
        cmocka_unit_test(test_unknown_cies_are_refused),
        cmocka_unit_test(test_version_4_needs_64_bit_flat_addresses),
        cmocka_unit_test(test_cie_with_an_endless_program_is_refused),
        cmocka_unit_test(test_code_addresses_are_read_in_every_encoding),
        cmocka_unit_test(test_code_addresses_we_cannot_know_are_refused),
        cmocka_unit_test(test_fde_that_names_no_cie_is_refused),
        cmocka_unit_test(test_walk_finds_entries_up_to_the_terminator),
        cmocka_unit_test(test_64_bit_entry_is_refused_and_stepped_over),
        cmocka_unit_test(test_length_that_leaves_the_section_ends_the_walk),
        cmocka_unit_test(test_truncation_at_every_length_reads_nothing_beyond),
        cmocka_unit_test(test_search_table_of_binutils_is_read),
        cmocka_unit_test(test_header_without_table_still_says_where_eh_frame_is),
        cmocka_unit_test(test_damaged_header_is_refused_at_every_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
