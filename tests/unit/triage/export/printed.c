/* SPDX-License-Identifier: Apache-2.0 */
/* printed.c - an exporter's output in memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "printed.h"

char *printed(print_function print, const struct sbx_report *report, size_t *count)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    assert_int_equal(print(report, out), 0);
    assert_int_equal(fclose(out), 0);
    if (count != NULL) {
        *count = bytes;
    }
    return text;
}

void assert_full_stream_is_an_error(print_function print, const struct sbx_report *report)
{
    FILE *full = fopen("/dev/full", "wb");
    assert_non_null(full);
    assert_int_equal(print(report, full), -ENOSPC);
    fclose(full);
}

size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (text = strstr(text, part); text != NULL; text = strstr(text + 1, part)) {
        count++;
    }
    return count;
}

/* Check the attribute value or name at `at`, and return its end. */
static const char *skip_attribute(const char *at)
{
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789");
    assert_true(length > 0);
    assert_true(strncmp(at, "on", 2) != 0); /* an event handler */
    assert_false(length == 5 && strncmp(at, "style", length) == 0);
    assert_false(length == 2 && strncmp(at, "id", length) == 0);
    assert_false(length == 4 && strncmp(at, "href", length) == 0);
    at += length;
    assert_true(strncmp(at, "=\"", 2) == 0);
    at += 2;
    size_t value = strcspn(at, "\"<");
    assert_int_equal(at[value], '"');
    return at + value + 1;
}

void assert_svg_is_sound(const char *text)
{
    static const char *const allowed[] = {"svg", "rect", "line", "text", "g", "title"};
    const char *open[16];
    size_t lengths[16], depth = 0, roots = 0;
    for (const char *at = text; *at != '\0';) {
        if (*at == '&') {
            size_t length = strcspn(at, ";") + 1;
            assert_true(strncmp(at, "&amp;", length) == 0 || strncmp(at, "&lt;", length) == 0 ||
                        strncmp(at, "&gt;", length) == 0 || strncmp(at, "&quot;", length) == 0 ||
                        strncmp(at, "&#39;", length) == 0);
        }
        if (*at != '<') {
            assert_true((unsigned char)*at >= 0x20 || *at == '\n');
            assert_true(*at != '>');
            at++;
            continue;
        }
        bool closing = at[1] == '/';
        const char *name = at + 1 + closing;
        size_t length = strcspn(name, " />");
        if (closing) {
            assert_true(depth > 0 && lengths[depth - 1] == length && strncmp(open[depth - 1], name, length) == 0);
            depth--;
            at = name + length + 1;
            continue;
        }
        bool known = false;
        for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
            known |= strlen(allowed[i]) == length && strncmp(allowed[i], name, length) == 0;
        }
        assert_true(known);
        assert_true(depth > 0 || strncmp(name, "svg", 3) == 0);
        roots += depth == 0;
        for (at = name + length; *at == ' ';) {
            at = skip_attribute(at + 1);
        }
        if (*at == '/') {
            at += 2;
            continue;
        }
        assert_int_equal(*at++, '>');
        assert_true(depth < sizeof open / sizeof open[0]);
        open[depth] = name;
        lengths[depth++] = length;
    }
    assert_int_equal(depth, 0);
    assert_int_equal(roots, 1);
}
