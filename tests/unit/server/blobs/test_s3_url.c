/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "s3_url.h"

static void test_a_bucket_has_a_host_a_path_and_a_region(void **state)
{
    (void)state;
    static const struct {
        const char *text, *base, *region;
    } good[] = {
        {"https://s3.example.org/stalls", "https://s3.example.org/stalls", "us-east-1"},
        {"https://s3.example.org:9000/stalls/a/b//", "https://s3.example.org:9000/stalls/a/b", "us-east-1"},
        {"http://127.0.0.1:8080/b?region=eu-1", "http://127.0.0.1:8080/b", "eu-1"},
        {"http://localhost/b", "http://localhost/b", "us-east-1"},
        {"http://[::1]:80/b", "http://[::1]:80/b", "us-east-1"},
    };
    struct sbx_s3_url url;
    char why[300];
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(sbx_s3_url_read(good[i].text, &url, why, sizeof(why)), 0);
        assert_string_equal(url.base, good[i].base);
        assert_string_equal(url.region, good[i].region);
    }
}

static void test_what_is_none_is_refused_in_one_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } bad[] = {
        {"", "neither a folder"},
        {"s3://bucket", "neither a folder"},
        {"relative/folder", "neither a folder"},
        {"https://", "no host"},
        {"https:///bucket", "no host"},
        {"https://key:secret@host/bucket", "secret"},
        {"https://host", "no bucket"},
        {"https://host/", "no bucket"},
        {"https://host//b", "no bucket"},
        {"https://host/a/../b", "no bucket"},
        {"https://host/b%2f", "no bucket"},
        {"https://ho st/b", "a host that is none"},
        {"http://s3.example.org/b", "not encrypted"},
        {"http://127.evil.example/b", "not encrypted"},
        {"http://localhost.evil.example/b", "not encrypted"},
        {"https://host/b?region=", "argument"},
        {"https://host/b?key=1", "argument"},
        {"https://host/b?region=a&b=c", "argument"},
    };
    struct sbx_s3_url url;
    char why[300];
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_true(sbx_s3_url_read(bad[i].text, &url, why, sizeof(why)) < 0);
        if (!strstr(why, bad[i].reason))
            fail_msg("%s: %s", bad[i].text, why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bucket_has_a_host_a_path_and_a_region),
        cmocka_unit_test(test_what_is_none_is_refused_in_one_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
