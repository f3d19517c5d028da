/* SPDX-License-Identifier: Apache-2.0 */
/* test_compiled_scopes.c - which methods an instruction belongs to, in a compiled method made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "compiled_scopes.h"
#include "made_up_memory.h"

enum {
    SCOPES_DATA = 64, /* offsets in the header of the made-up blob */
    METADATA = 72,
    PCS = 76,
    END = 80,
    CODE = 128,
};

static const struct sbx_vm_layout layout = {
    .scopes_data = SCOPES_DATA,
    .metadata = METADATA,
    .scopes_pcs = PCS,
    .dependencies = END,
    .pc_desc_pc = 0,
    .pc_desc_scope = 4,
    .pc_desc_bytes = 16,
    .invocation_entry = -1,
};

static struct {
    _Alignas(8) uint8_t blob[1024];
    struct sbx_code code;
} the;

static void put(uint32_t at, uint32_t number)
{
    memcpy(the.blob + at, &number, sizeof number);
}

/* [ 256 metadata: 3 methods | 280 data, 40 bytes | 320 descriptions: before all, 10, 20, 30, behind all | 400 ] */
static int setup(void **state)
{
    (void)state;
    memset(&the, 0, sizeof the);
    uint64_t begin = (uint64_t)(uintptr_t)the.blob + 280, methods[] = {0x1000, 0x2000, 0x3000};
    memcpy(the.blob + SCOPES_DATA, &begin, sizeof begin);
    put(METADATA, 256);
    put(PCS, 320);
    put(END, 400);
    memcpy(the.blob + 256, methods, sizeof methods);
    /* at 1: method 1, bytecode 4. At 6: inlined into it, method 2, bytecode 0. At 12: into that, method 3, bytecode 300. */
    static const uint8_t data[] = {0, 0, 1, 5, 0, 0, 1, 2, 1, 0, 0, 0, 6, 3, 192 + 45, 1};
    memcpy(the.blob + 280, data, sizeof data);
    static const int32_t pcs[5] = {-1, 10, 20, 30, 0x7fffffff};
    static const uint32_t scopes[5] = {0, 1, 6, 12, 0};
    for (uint32_t i = 0; i < 5; i++) {
        put(320 + i * 16, (uint32_t)pcs[i]);
        put(320 + i * 16 + 4, scopes[i]);
    }
    the.code = (struct sbx_code){.kind = SBX_CODE_COMPILED,
                                 .bytes = 400,
                                 .blob = (uint64_t)(uintptr_t)the.blob,
                                 .code = (uint64_t)(uintptr_t)the.blob + CODE};
    return 0;
}

static enum sbx_scopes_at find(struct sbx_scopes *scopes, uint32_t pc)
{
    return sbx_scopes_find(scopes, &layout, &the.code, the.code.code + pc);
}

static void test_methods_come_from_the_innermost_out(void **state)
{
    (void)state;
    struct sbx_scopes scopes;
    uint64_t method = 0;
    int32_t bci = 0;
    assert_int_equal(find(&scopes, 30), SBX_SCOPES_EXACT);
    assert_true(sbx_scopes_next(&scopes, &layout, &method, &bci));
    assert_int_equal(method, 0x3000);
    assert_int_equal(bci, 192 + 45 + 64 - 1);
    assert_true(sbx_scopes_next(&scopes, &layout, &method, &bci));
    assert_int_equal(method, 0x2000);
    assert_int_equal(bci, 0);
    assert_true(sbx_scopes_next(&scopes, &layout, &method, &bci));
    assert_int_equal(method, 0x1000);
    assert_int_equal(bci, 4);
    assert_false(sbx_scopes_next(&scopes, &layout, &method, &bci));
}

static void test_a_place_between_two_belongs_to_the_next(void **state)
{
    (void)state;
    struct sbx_scopes scopes;
    assert_int_equal(find(&scopes, 0), SBX_SCOPES_BEHIND);
    assert_int_equal(scopes.next, 1);
    assert_int_equal(find(&scopes, 10), SBX_SCOPES_EXACT);
    assert_int_equal(find(&scopes, 11), SBX_SCOPES_BEHIND);
    assert_int_equal(scopes.next, 6);
    assert_int_equal(find(&scopes, 31), SBX_SCOPES_NONE);
}

static void test_a_sender_that_does_not_lie_before_ends_it(void **state)
{
    (void)state;
    struct sbx_scopes scopes;
    uint64_t method = 0;
    int32_t bci = 0;
    the.blob[280 + 6] = 6; /* it names itself as its sender */
    assert_int_equal(find(&scopes, 20), SBX_SCOPES_EXACT);
    assert_false(sbx_scopes_next(&scopes, &layout, &method, &bci));
    assert_int_equal(method, 0);
    the.blob[280 + 6] = 12;
    assert_int_equal(find(&scopes, 20), SBX_SCOPES_EXACT);
    assert_false(sbx_scopes_next(&scopes, &layout, &method, &bci));
}

static void test_numbers_that_lead_outside_are_refused(void **state)
{
    (void)state;
    struct sbx_scopes scopes;
    uint64_t method = 0;
    int32_t bci = 0;
    static const uint32_t places[] = {METADATA, PCS, END, SCOPES_DATA, 320 + 16 + 4};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        (void)setup(NULL);
        put(places[i], 0x7ffffff0);
        assert_int_equal(find(&scopes, 10), SBX_SCOPES_NONE);
    }
    (void)setup(NULL);
    the.blob[280 + 7] = 4; /* a fourth method */
    assert_int_equal(find(&scopes, 20), SBX_SCOPES_EXACT);
    assert_false(sbx_scopes_next(&scopes, &layout, &method, &bci));
}

/* ---- JDK 25: the tables lie in two pieces of their own ---- */

enum {
    IMMUTABLE_DATA = 64, /* offsets in the header */
    IMMUTABLE_BYTES = 72,
    MUTABLE_BYTES = 76,
    MUTABLE_DATA = 80,
    RELOCATION_BYTES = 88,
    SCOPES_PCS_OFFSET = 92,
    SCOPES_DATA_OFFSET = 96,
};

static const struct sbx_vm_layout outside = {
    .immutable_data = IMMUTABLE_DATA,
    .immutable_bytes = IMMUTABLE_BYTES,
    .mutable_data = MUTABLE_DATA,
    .mutable_bytes = MUTABLE_BYTES,
    .relocation_bytes = RELOCATION_BYTES,
    .scopes_pcs = SCOPES_PCS_OFFSET,
    .scopes_data = SCOPES_DATA_OFFSET,
    .pc_desc_pc = 0,
    .pc_desc_scope = 4,
    .pc_desc_bytes = 16,
    .packed_number_excess = 1,
    .invocation_entry = -1,
    .has_outside_scopes = true,
};

static struct {
    uint64_t relocations[2], methods[3]; /* the mutable part */
    _Alignas(8) uint8_t immutable[16 + 80 + 24];
} pieces;

/* [ 0 dependencies | 16 descriptions: before all, 10, 20, 30, behind all | 96 data, 24 bytes ] */
static int setup_outside(void **state)
{
    (void)state;
    memset(&the, 0, sizeof the);
    memset(&pieces, 0, sizeof pieces);
    uint64_t immutable = (uint64_t)(uintptr_t)pieces.immutable, moving = (uint64_t)(uintptr_t)pieces.relocations;
    memcpy(the.blob + IMMUTABLE_DATA, &immutable, sizeof immutable);
    memcpy(the.blob + MUTABLE_DATA, &moving, sizeof moving);
    put(IMMUTABLE_BYTES, sizeof pieces.immutable);
    put(MUTABLE_BYTES, sizeof pieces.relocations + sizeof pieces.methods);
    put(RELOCATION_BYTES, sizeof pieces.relocations);
    put(SCOPES_PCS_OFFSET, 16);
    put(SCOPES_DATA_OFFSET, 96);
    for (uint32_t i = 0; i < 3; i++) {
        pieces.methods[i] = 0x1000 * (i + 1);
    }
    /* The same as above, with each byte one larger. */
    static const uint8_t data[] = {1, 1, 2, 6, 1, 1, 2, 3, 2, 1, 1, 1, 7, 4, 192 + 45, 2};
    memcpy(pieces.immutable + 96, data, sizeof data);
    static const int32_t pcs[5] = {-1, 10, 20, 30, 0x7fffffff};
    static const uint32_t scopes[5] = {0, 1, 6, 12, 0};
    for (uint32_t i = 0; i < 5; i++) {
        memcpy(pieces.immutable + 16 + (size_t)i * 16, &pcs[i], 4);
        memcpy(pieces.immutable + 20 + (size_t)i * 16, &scopes[i], 4);
    }
    the.code = (struct sbx_code){.kind = SBX_CODE_COMPILED,
                                 .bytes = 400,
                                 .blob = (uint64_t)(uintptr_t)the.blob,
                                 .code = (uint64_t)(uintptr_t)the.blob + CODE};
    made_up_memory_is(&pieces, sizeof pieces);
    return 0;
}

static enum sbx_scopes_at find_outside(struct sbx_scopes *scopes, uint32_t pc)
{
    return sbx_scopes_find(scopes, &outside, &the.code, the.code.code + pc);
}

static void test_methods_are_found_where_the_tables_lie_outside_of_the_blob(void **state)
{
    (void)state;
    struct sbx_scopes scopes;
    uint64_t method = 0;
    int32_t bci = 0;
    assert_int_equal(find_outside(&scopes, 30), SBX_SCOPES_EXACT);
    static const struct {
        uint64_t method;
        int32_t bci;
    } wanted[] = {{0x3000, 191 + 45 + 64 - 1}, {0x2000, 0}, {0x1000, 4}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_true(sbx_scopes_next(&scopes, &outside, &method, &bci));
        assert_int_equal(method, wanted[i].method);
        assert_int_equal(bci, wanted[i].bci);
    }
    assert_false(sbx_scopes_next(&scopes, &outside, &method, &bci));
    assert_int_equal(find_outside(&scopes, 31), SBX_SCOPES_NONE);
    assert_int_equal(find_outside(&scopes, 11), SBX_SCOPES_BEHIND);
}

static void test_pieces_that_are_gone_are_not_read(void **state)
{
    (void)state;
    struct sbx_scopes scopes;
    uint64_t method = 0;
    int32_t bci = 0;
    assert_int_equal(find_outside(&scopes, 30), SBX_SCOPES_EXACT);
    made_up_memory_is(&pieces, sizeof pieces.relocations); /* the rest has been freed since */
    assert_false(sbx_scopes_next(&scopes, &outside, &method, &bci));
    assert_int_equal(method, 0);
    assert_int_equal(find_outside(&scopes, 30), SBX_SCOPES_NONE);
}

static void test_numbers_that_lead_out_of_a_piece_are_refused(void **state)
{
    (void)state;
    struct sbx_scopes scopes;
    uint64_t method = 0;
    int32_t bci = 0;
    static const uint32_t places[] = {IMMUTABLE_BYTES, MUTABLE_BYTES, RELOCATION_BYTES, SCOPES_PCS_OFFSET,
                                      SCOPES_DATA_OFFSET};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        (void)setup_outside(NULL);
        put(places[i], 0x7ffffff0);
        assert_int_equal(find_outside(&scopes, 10), SBX_SCOPES_NONE);
    }
    (void)setup_outside(NULL);
    pieces.immutable[96 + 7] = 5; /* a fourth method */
    assert_int_equal(find_outside(&scopes, 20), SBX_SCOPES_EXACT);
    assert_false(sbx_scopes_next(&scopes, &outside, &method, &bci));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_methods_come_from_the_innermost_out, setup),
        cmocka_unit_test_setup(test_a_place_between_two_belongs_to_the_next, setup),
        cmocka_unit_test_setup(test_a_sender_that_does_not_lie_before_ends_it, setup),
        cmocka_unit_test_setup(test_numbers_that_lead_outside_are_refused, setup),
        cmocka_unit_test_setup(test_methods_are_found_where_the_tables_lie_outside_of_the_blob, setup_outside),
        cmocka_unit_test_setup(test_pieces_that_are_gone_are_not_read, setup_outside),
        cmocka_unit_test_setup(test_numbers_that_lead_out_of_a_piece_are_refused, setup_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
