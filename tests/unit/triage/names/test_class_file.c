/* SPDX-License-Identifier: Apache-2.0 */
/* test_class_file.c - class files, made byte by byte. tests/hotspot compares with a virtual machine that runs them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "class_file.h"

static struct sbx_name_list list;
static const struct sbx_class_mapping *mapping;

static int tear_down(void **state)
{
    (void)state;
    sbx_name_list_finish(&list);
    return 0;
}

#define UTF8(length, text) "\1\0" length text
/* shop/Pay with `run` at line 7 (its second pair of bytecode 0 is 9), native `go`, abstract `no`, and a lambda. */
static const char pay[] = "\xca\xfe\xba\xbe\0\0\0\x37\0\x11"
    /*  1 */ UTF8("\x08", "shop/Pay") "\7\0\1"
    /*  3 */ UTF8("\3", "run") UTF8("\3", "()V") UTF8("\4", "Code") UTF8("\x0f", "LineNumberTable")
    /*  7 */ UTF8("\2", "go") UTF8("\2", "no") UTF8("\x0a", "SourceFile") UTF8("\x08", "Pay.java")
    /* 11 */ "\5\0\0\0\0\0\0\0\1" /* a long has two places */
             /* 13 */ "\x0c\0\x0e\0\4" UTF8("\6", "accept") "\x12\0\0\0\x0d" UTF8(
                 "\1", "x") "\0\x21\0\2\0\0\0\0"     /* access, this, super, no interfaces */
                            "\0\1\0\0\0\x10\0\4\0\0" /* a field */
                            "\0\3"
                            "\0\1\0\3\0\4\0\1"
                            "\0\5\0\0\0\x23"
                            "\0\1\0\1\0\0\0\1\xb1\0\0\0\1"
                            "\0\6\0\0\0\x0e"
                            "\0\3\0\1\0\5\0\0\0\7\0\0\0\x09"
                            "\0\0"
                            "\1\0\0\7\0\4\0\0"
                            "\4\0\0\x08\0\4\0\0"
                            "\0\1\0\x09\0\0\0\2\0\x0a";

static bool has(uint32_t line, const char *file, const char *name)
{
    char wanted[300];
    const struct sbx_name_text file_text = {file, strlen(file)}, name_text = {name, strlen(name)};
    snprintf(wanted, sizeof wanted, "%016" PRIx64 "\t%" PRIu32 "\t%s\t%s\n", sbx_name_id(file_text, line, name_text),
             line, file, name);
    return list.bytes > 0 && memmem(list.text, list.bytes, wanted, strlen(wanted)) != NULL;
}

static int read_bytes(const char *bytes, size_t count)
{
    char *exact = malloc(count + 1);
    assert_non_null(exact);
    memcpy(exact, bytes, count);
    sbx_name_list_finish(&list);
    int result = sbx_class_file_read(&list, (struct sbx_name_text){exact, count}, mapping);
    free(exact);
    return result;
}

static void test_methods_have_class_file_and_the_line_of_their_first_bytecode(void **state)
{
    (void)state;
    assert_int_equal(read_bytes(pay, sizeof pay - 1), 0);
    assert_true(has(7, "Pay.java", "shop.Pay.run"));
    assert_true(has(0, "Pay.java", "shop.Pay.go"));
    assert_true(has(0, "", "shop.Pay$$Lambda.accept"));
    assert_int_equal(list.lines, 3); /* abstract methods do not run */
}

static void test_a_class_cut_anywhere_is_damaged(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes + 1 < sizeof pay; bytes++) {
        assert_int_equal(read_bytes(pay, bytes), -EBADMSG);
    }
}

static void test_any_byte_may_be_another(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < sizeof pay; i++) {
        char other[sizeof pay];
        memcpy(other, pay, sizeof pay);
        for (int bit = 0; bit < 8; bit++) {
            other[i] = (char)(pay[i] ^ 1 << bit);
            (void)read_bytes(other, sizeof pay - 1);
        }
    }
}

/* Make an archive with one stored class. */
static size_t make_archive(char *to, const char *name, const char *bytes, size_t count, uint32_t method)
{
    size_t at = 0, name_bytes = strlen(name);
    char head[46] = "PK\3\4";
    head[8] = (char)method;
    head[26] = (char)name_bytes;
    memcpy(to, head, 30);
    memcpy(to + 30, name, name_bytes);
    memcpy(to + 30 + name_bytes, bytes, count);
    at = 30 + name_bytes + count;
    size_t directory = at;
    memset(head, 0, sizeof head);
    memcpy(head, "PK\1\2", 4);
    head[10] = (char)method;
    for (int i = 0; i < 2; i++) {
        head[20 + i] = head[24 + i] = (char)(count >> (8 * i));
    }
    head[28] = (char)name_bytes;
    memcpy(to + at, head, 46);
    memcpy(to + at + 46, name, name_bytes);
    at += 46 + name_bytes;
    char end[22] = "PK\5\6";
    end[10] = 1;
    end[16] = (char)directory;
    end[17] = (char)(directory >> 8);
    memcpy(to + at, end, sizeof end);
    return at + sizeof end;
}

static void test_classes_of_archives_in_archives_are_read(void **state)
{
    (void)state;
    char jar[2000], war[4000];
    size_t jar_bytes = make_archive(jar, "shop/Pay.class", pay, sizeof pay - 1, 0);
    size_t war_bytes = make_archive(war, "WEB-INF/lib/a.jar", jar, jar_bytes, 0);
    assert_int_equal(sbx_class_archive_read(&list, (struct sbx_name_text){war, war_bytes}, NULL), 0);
    assert_true(has(7, "Pay.java", "shop.Pay.run"));
    sbx_name_list_finish(&list);
    for (size_t i = 0; i < war_bytes; i++) { /* change every byte */
        char *other = malloc(war_bytes);
        assert_non_null(other);
        memcpy(other, war, war_bytes);
        other[i] = (char)(other[i] ^ 0x81);
        (void)sbx_class_archive_read(&list, (struct sbx_name_text){other, war_bytes}, NULL);
        free(other);
        sbx_name_list_finish(&list);
    }
    assert_int_equal(sbx_class_archive_read(&list, (struct sbx_name_text){"PK", 2}, NULL), -EBADMSG);
}

/* For the machine the class is shop.Pay; in the source it was com.example.Till$Drawer. */
static void test_a_mapping_tells_what_was_written(void **state)
{
    (void)state;
    static const char text[] = "# compiler: R8\n"
                               "com.example.Till$Drawer -> shop.Pay:\n"
                               "    int count -> run\n"
                               "    1:6:void other(int):40:45 -> run\r\n"
                               "    7:8:int com.example.Tax.of(int):3:4 -> run\n"
                               "    7:8:void open(java.lang.String):100 -> run\n"
                               "    9:9:void open(java.lang.String):103:103 -> run\n"
                               "    native void bell() -> go\n"
                               "com.example.Other -> shop.Pa:\n"
                               "    void no() -> run\n"
                               "# {\"id\":\"sourceFile\",\"fileName\":\"Other.kt\"}\n"
                               "nonsense -> \n :\n -> :\n    1:2 -> x\n    1:2:a() -> y\n";
    struct sbx_class_mapping read;
    assert_int_equal(sbx_class_mapping_read(&read, (struct sbx_name_text){text, sizeof text - 1}), 0);
    assert_int_equal(read.class_count, 2);
    mapping = &read;
    assert_int_equal(read_bytes(pay, sizeof pay - 1), 0);
    mapping = NULL;
    char wanted[300];
    const struct sbx_name_text file = {"Pay.java", 8}, name = {"shop.Pay.run", 12};
    snprintf(wanted, sizeof wanted,
             "%016" PRIx64 "\t100\tTill.java\tcom.example.Till$Drawer.open\t7-8:100-100,9-9:103-103\n",
             sbx_name_id(file, 7, name));
    assert_non_null(memmem(list.text, list.bytes, wanted, strlen(wanted)));
    assert_non_null(memmem(list.text, list.bytes, "\tcom.example.Till$Drawer$$Lambda.accept\n", 40));
    const struct sbx_mapped_class *other = sbx_class_mapping_find(&read, (struct sbx_name_text){"shop.Pa", 7});
    assert_memory_equal(other->file.at, "Other.kt", other->file.bytes);
    assert_null(sbx_class_mapping_find(&read, (struct sbx_name_text){"shop.P", 6}));
    sbx_class_mapping_finish(&read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_methods_have_class_file_and_the_line_of_their_first_bytecode, tear_down),
        cmocka_unit_test_teardown(test_a_class_cut_anywhere_is_damaged, tear_down),
        cmocka_unit_test_teardown(test_any_byte_may_be_another, tear_down),
        cmocka_unit_test_teardown(test_a_mapping_tells_what_was_written, tear_down),
        cmocka_unit_test_teardown(test_classes_of_archives_in_archives_are_read, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
