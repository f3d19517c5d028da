/* SPDX-License-Identifier: Apache-2.0 */
/* test_java_name.c - names in the form in which people write them, and their ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "java_name.h"
#include "made_up_memory.h"
#include "name_cache.h"
#include "place_cache.h"

static struct {
    _Alignas(8) uint8_t text[8192];
    char to[SBX_JAVA_FUNCTION_BYTES];
    struct sbx_java_text out;
} the;

static const char *written(const char *name, size_t bytes, bool is_class)
{
    static char ended[SBX_JAVA_FUNCTION_BYTES + 1];
    memset(&the, 0, sizeof the);
    memcpy(the.text, name, bytes);
    made_up_memory_is(the.text, sizeof the.text);
    the.out = (struct sbx_java_text){.to = the.to, .max = sizeof the.to};
    sbx_java_text_append(&the.out, (struct sbx_vm_bytes){.at = (uint64_t)(uintptr_t)the.text, .left = (uint32_t)bytes},
                         is_class);
    memcpy(ended, the.to, the.out.bytes);
    ended[the.out.bytes] = '\0';
    return ended;
}

#define CLASS(name)  written(name, sizeof name - 1, true)
#define METHOD(name) written(name, sizeof name - 1, false)

static void test_classes_are_written_with_dots_and_methods_as_they_are(void **state)
{
    (void)state;
    assert_string_equal(CLASS("java/lang/String"), "java.lang.String");
    assert_string_equal(CLASS("Outer$Inner$1"), "Outer$Inner$1");
    assert_string_equal(METHOD("lambda$main$0"), "lambda$main$0");
    assert_string_equal(METHOD("<init>"), "<init>");
    assert_string_equal(METHOD("a/b"), "a/b"); /* allowed in Kotlin and Scala */
}

static void test_what_differs_from_run_to_run_is_left_out(void **state)
{
    (void)state;
    assert_string_equal(CLASS("App$$Lambda$14+0x0000000800c03000"), "App$$Lambda");
    assert_string_equal(CLASS("java/lang/invoke/LambdaForm$DMH+0x0000000800c01400"), "java.lang.invoke.LambdaForm$DMH");
    assert_string_equal(CLASS("java/lang/invoke/LambdaForm$DMH/0x0000000800c01400"), "java.lang.invoke.LambdaForm$DMH");
    assert_string_equal(CLASS("jdk/internal/reflect/GeneratedMethodAccessor12"),
                        "jdk.internal.reflect.GeneratedMethodAccessor");
    assert_string_equal(CLASS("jdk/proxy2/$Proxy7"), "jdk.proxy2.$Proxy");
    assert_string_equal(CLASS("Accessory/Accessor"), "Accessory.Accessor");
    assert_string_equal(CLASS("C+x/0y"), "C+x.0y");
}

static void test_javas_own_utf8_becomes_everybodys(void **state)
{
    (void)state;
    assert_string_equal(METHOD("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
    assert_string_equal(METHOD("\xe6\x97\xa5"), "\xe6\x97\xa5");
    assert_string_equal(METHOD("x\xed\xa0\xbd\xed\xb8\x80y"), "x\xf0\x9f\x98\x80y"); /* a surrogate pair */
    assert_string_equal(METHOD("a\xc0\x80z"), "a?z");
    assert_string_equal(METHOD("tab\tline\n"), "tab?line?");
    assert_string_equal(METHOD("\xed\xa0\xbdx"), "\xef\xbf\xbdx"); /* half of a surrogate pair */
    assert_string_equal(METHOD("\xc3x\xff"), "\xef\xbf\xbdx\xef\xbf\xbd");
    assert_string_equal(METHOD("end\xe6\x97"), "end\xef\xbf\xbd");
}

static void test_a_long_name_is_cut_between_characters_and_its_hash_is_not(void **state)
{
    (void)state;
    char name[302];
    memset(name, 'x', sizeof name);
    memcpy(name + 199, "\xc3\xbc", 2);
    (void)written(name, sizeof name - 1, false);
    uint64_t hash = the.out.hash;
    assert_int_equal(the.out.bytes, 199);
    (void)written(name, sizeof name, false);
    assert_int_equal(the.out.bytes, 199);
    assert_true(the.out.hash != hash);
}

static void test_what_cannot_be_read_has_no_name(void **state)
{
    (void)state;
    struct sbx_vm_layout layout = {.symbol_length = 4, .symbol_body = 6};
    made_up_memory_is(the.text, sizeof the.text);
    assert_int_equal(sbx_symbol_bytes(&layout, 0).left, 0);
    assert_int_equal(sbx_symbol_bytes(&layout, 4096).left, 0);
}

/* A method in HotSpot's layout, with offsets that the test chooses. */
static void test_an_id_is_made_of_file_line_and_name(void **state)
{
    (void)state;
    static const struct sbx_vm_layout layout = {
        .const_method = 8,
        .constants = 8,
        .const_size = 24,
        .const_flags = 28,
        .code_size = 32,
        .name_index = 34,
        .const_bytes = 48,
        .pool_holder = 24,
        .pool_source_file = 54,
        .pool_length = 60,
        .pool_bytes = 72,
        .klass_name = 24,
        .symbol_length = 4,
        .symbol_body = 6,
        .has_line_table = 1,
    };
    static _Alignas(8) uint8_t memory[1024];
    uint64_t base = (uint64_t)(uintptr_t)memory;
    uint64_t method = base, constant = base + 128, pool = base + 256, holder = base + 512, symbols = base + 640;
    memset(memory, 0, sizeof memory);
#define PUT(at, type, value)                            \
    do {                                                \
        type put = (type)(value);                       \
        memcpy(memory + ((at)-base), &put, sizeof put); \
    } while (0)
#define PUT_SYMBOL(at, string)                                          \
    do {                                                                \
        PUT((at) + 4, uint16_t, sizeof(string) - 1);                    \
        memcpy(memory + ((at) + 6 - base), string, sizeof(string) - 1); \
    } while (0)
    PUT(method + 8, uint64_t, constant);
    PUT(constant + 8, uint64_t, pool);
    PUT(constant + 24, uint32_t, 9); /* words: 72 bytes, 48 of them the header */
    PUT(constant + 28, uint16_t, 1);
    PUT(constant + 32, uint16_t, 10);
    PUT(constant + 34, uint16_t, 2);
    memcpy(memory + (constant + 58 - base), "\xff\x00\x18\x29\x00", 5); /* bci 0 line 12, bci 5 line 13 */
    PUT(pool + 24, uint64_t, holder);
    PUT(pool + 54, uint16_t, 3);
    PUT(pool + 60, uint32_t, 4);
    PUT(pool + 72 + 2 * 8, uint64_t, symbols);
    PUT(pool + 72 + 3 * 8, uint64_t, symbols + 32);
    PUT(holder + 24, uint64_t, symbols + 64);
    PUT_SYMBOL(symbols, "run");
    PUT_SYMBOL(symbols + 32, "App.java");
    PUT_SYMBOL(symbols + 64, "a/b/App");
    made_up_memory_is(memory, sizeof memory);
    struct sbx_method read;
    struct sbx_java_name name;
    assert_true(sbx_method_read(&read, &layout, method));
    assert_int_equal(sbx_method_line(&read, &layout, 0), 12);
    assert_int_equal(sbx_method_line(&read, &layout, 9), 13);
    sbx_java_name_make(&name, &read, &layout);
    assert_int_equal(name.function_bytes, 11);
    assert_memory_equal(name.function, "a.b.App.run", 11);
    assert_int_equal(name.file_bytes, 8);
    assert_memory_equal(name.file, "App.java", 8);
    uint64_t id = UINT64_C(0xcbf29ce484222325);
    for (const char *at = "App.java:12:a.b.App.run"; *at != '\0'; at++) {
        id = (id ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
    }
    assert_true(name.id == id);
    /* Another method at the same address has another key. Memory that is not a method has no key. */
    struct sbx_method_glance first, other;
    assert_true(sbx_method_look(&first, &layout, method, NULL));
    assert_int_equal(first.code_bytes, 10);
    assert_true(first.code == constant + 48);
    PUT(constant + 34, uint16_t, 3);
    assert_true(sbx_method_look(&other, &layout, method, NULL));
    assert_true(other.key != first.key);
    PUT(constant + 34, uint16_t, 4);
    assert_false(sbx_method_read(&read, &layout, method));
    PUT(constant + 34, uint16_t, 2);
    PUT(constant + 24, uint32_t, 7);
    assert_false(sbx_method_look(&other, &layout, method, NULL));
    assert_false(sbx_method_read(&read, &layout, method));
    assert_false(sbx_method_read(&read, &layout, 8));
}

static void test_a_cache_entry_that_two_wrote_is_a_miss(void **state)
{
    (void)state;
    static struct sbx_name_cache cache;
    uint64_t value = 0;
    assert_false(sbx_name_cache_find(&cache, 77, &value));
    sbx_name_cache_put(&cache, 77, 5);
    assert_true(sbx_name_cache_find(&cache, 77, &value));
    assert_int_equal(value, 5);
    assert_false(sbx_name_cache_find(&cache, 77 + SBX_NAME_CACHE_ENTRIES, &value));
    cache.entries[77].value = 6; /* belongs to another key */
    assert_false(sbx_name_cache_find(&cache, 77, &value));
}

static struct sbx_place_cache places;

static void test_a_bytecode_has_the_id_and_the_line_that_were_kept_of_it_alone(void **state)
{
    (void)state;
    uint64_t id = 0, key = sbx_place_key(77, 3);
    uint32_t line = 0;
    assert_false(sbx_place_find(&places, key, &id, &line));
    sbx_place_put(&places, key, 5, 1234);
    assert_true(sbx_place_find(&places, key, &id, &line));
    assert_int_equal(id, 5);
    assert_int_equal(line, 1234);
    assert_false(sbx_place_find(&places, sbx_place_key(77, 4), &id, &line));
    assert_false(sbx_place_find(&places, sbx_place_key(78, 3), &id, &line));
    assert_false(sbx_place_find(&places, key + SBX_PLACES * 16, &id, &line)); /* this key shares the entry */
}

static void test_a_place_that_two_wrote_at_once_is_none(void **state)
{
    (void)state;
    uint64_t id = 0, mine = SBX_PLACES * 16 + 9, yours = SBX_PLACES * 32 + 9;
    uint32_t line = 0;
    sbx_place_put(&places, mine, UINT64_C(0xfedcba9876543210), 10);
    uint64_t former = places.entries[9].id;
    sbx_place_put(&places, yours, UINT64_C(0x0123456789abcdef), 20);
    places.entries[9].id = former;
    assert_false(sbx_place_find(&places, mine, &id, &line));
    assert_false(sbx_place_find(&places, yours, &id, &line));
}

static void test_a_place_without_an_id_is_not_kept(void **state)
{
    (void)state;
    uint64_t id = 0, key = SBX_PLACES * 16 + 11;
    uint32_t line = 0;
    sbx_place_put(&places, key, 0, 10);
    assert_false(sbx_place_find(&places, key, &id, &line));
    sbx_place_put(&places, key, 5, 1 << SBX_PLACE_LINE_BITS);
    assert_false(sbx_place_find(&places, key, &id, &line));
    assert_false(sbx_place_find(&places, 12, &id, &line)); /* an empty entry does not match a key of zeros */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes_are_written_with_dots_and_methods_as_they_are),
        cmocka_unit_test(test_what_differs_from_run_to_run_is_left_out),
        cmocka_unit_test(test_javas_own_utf8_becomes_everybodys),
        cmocka_unit_test(test_a_long_name_is_cut_between_characters_and_its_hash_is_not),
        cmocka_unit_test(test_what_cannot_be_read_has_no_name),
        cmocka_unit_test(test_an_id_is_made_of_file_line_and_name),
        cmocka_unit_test(test_a_cache_entry_that_two_wrote_is_a_miss),
        cmocka_unit_test(test_a_bytecode_has_the_id_and_the_line_that_were_kept_of_it_alone),
        cmocka_unit_test(test_a_place_that_two_wrote_at_once_is_none),
        cmocka_unit_test(test_a_place_without_an_id_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
