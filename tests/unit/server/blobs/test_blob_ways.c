/* SPDX-License-Identifier: Apache-2.0 */
/* test_blob_ways.c - properties of every way to store blobs. In a folder, or in the bucket that STALLBOX_TEST_BLOBS and
 * STALLBOX_TEST_BLOBS_KEY name (tests/integration/blobs starts a real one). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "blobs.h"

static struct sbx_blobs *blobs;
static char folder[64], why[SBX_BLOB_WHY_BYTES], run[32];
static const char *bucket, *secret;

static int set_up(void **state)
{
    (void)state;
    bucket = getenv("STALLBOX_TEST_BLOBS");
    secret = getenv("STALLBOX_TEST_BLOBS_KEY");
    snprintf(run, sizeof(run), "t%d-%lx", (int)getpid(), (long)time(NULL));
    snprintf(folder, sizeof(folder), "/tmp/sbx_blobs.XXXXXX");
    assert_non_null(mkdtemp(folder));
    int result = sbx_blobs_open(bucket ? bucket : folder, secret, &blobs, why, sizeof(why));
    if (result < 0)
        fail_msg("%s", why);
    return 0;
}

static int tear_down(void **state)
{
    char command[100];
    (void)state;
    sbx_blobs_close(blobs);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static const char *key_of(const char *name)
{
    static char key[4][SBX_BLOB_KEY_BYTES];
    static unsigned turn;
    turn = (turn + 1) % 4;
    snprintf(key[turn], sizeof(key[turn]), "%s/ab/%s", run, name);
    return key[turn];
}

static void test_what_is_put_is_got_until_it_is_removed(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4096, 70000, 1 << 20};
    unsigned char *bytes = malloc(1 << 20);
    for (size_t i = 0; i < 1 << 20; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 251);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct sbx_byte_buffer out = {0};
        char name[32];
        snprintf(name, sizeof(name), "of-%zu", sizes[i]);
        assert_int_equal(sbx_blobs_get(blobs, key_of(name), 1 << 20, &out, why, sizeof(why)), -ENOENT);
        if (sbx_blobs_put(blobs, key_of(name), bytes, sizes[i], why, sizeof(why)) < 0)
            fail_msg("%s", why);
        sbx_byte_buffer_text(&out, "before");
        assert_int_equal(sbx_blobs_get(blobs, key_of(name), 1 << 20, &out, why, sizeof(why)), 0);
        assert_int_equal(out.used, 6 + sizes[i]);
        assert_memory_equal(out.data, "before", 6);
        assert_memory_equal(out.data + 6, bytes, sizes[i]);
        sbx_byte_buffer_finish(&out);
        assert_int_equal(sbx_blobs_remove(blobs, key_of(name), why, sizeof(why)), 0);
        assert_int_equal(sbx_blobs_get(blobs, key_of(name), 1 << 20, &out, why, sizeof(why)), -ENOENT);
        assert_int_equal(sbx_blobs_remove(blobs, key_of(name), why, sizeof(why)), 0); /* again is no error */
        sbx_byte_buffer_finish(&out);
    }
    free(bytes);
}

static void test_what_is_larger_than_asked_for_is_not_taken(void **state)
{
    (void)state;
    struct sbx_byte_buffer out = {0};
    assert_int_equal(sbx_blobs_put(blobs, key_of("large"), "0123456789", 10, why, sizeof(why)), 0);
    assert_int_equal(sbx_blobs_get(blobs, key_of("large"), 10, &out, why, sizeof(why)), 0);
    sbx_byte_buffer_finish(&out);
    assert_true(sbx_blobs_get(blobs, key_of("large"), 9, &out, why, sizeof(why)) < 0);
    sbx_byte_buffer_finish(&out);
    assert_int_equal(sbx_blobs_remove(blobs, key_of("large"), why, sizeof(why)), 0);
}

static void test_a_key_leads_nowhere_else(void **state)
{
    (void)state;
    static const char *const bad[] = {"",      "/a", "a/", "a//b", "../a", "a/../b",
                                      "a/./b", ".a", "A",  "a b",  "a?b",  "a%2f"};
    struct sbx_byte_buffer out = {0};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(sbx_blobs_put(blobs, bad[i], "x", 1, why, sizeof(why)), -EINVAL);
        assert_int_equal(sbx_blobs_get(blobs, bad[i], 1, &out, why, sizeof(why)), -EINVAL);
        assert_int_equal(sbx_blobs_remove(blobs, bad[i], why, sizeof(why)), -EINVAL);
    }
}

/* A wrong secret or a missing bucket is reported at the start, with the place. A store that is away is reported
 * later. */
static void test_a_bucket_that_refuses_us_says_so_at_once_and_one_that_is_away_when_it_is_asked(void **state)
{
    (void)state;
    struct sbx_blobs *other;
    char wrong[200], where[400];
    assert_int_equal(sbx_blobs_open("http://127.0.0.1:9/bucket", "key secret", &other, why, sizeof(why)), 0);
    assert_int_equal(sbx_blobs_put(other, "a/b", "x", 1, why, sizeof(why)), -EAGAIN);
    assert_non_null(strstr(why, "PUT http://127.0.0.1:9/bucket/a/b: "));
    sbx_blobs_close(other);
    assert_int_equal(sbx_blobs_open("http://127.0.0.1:9/bucket", NULL, &other, why, sizeof(why)), -EINVAL);
    assert_int_equal(sbx_blobs_open("http://127.0.0.1:9/bucket", "key", &other, why, sizeof(why)), -EINVAL);
    if (!bucket)
        return;
    snprintf(wrong, sizeof(wrong), "%sX", secret);
    assert_int_equal(sbx_blobs_open(bucket, wrong, &other, why, sizeof(why)), -EACCES);
    assert_non_null(strstr(why, "403 SignatureDoesNotMatch"));
    snprintf(where, sizeof(where), "%s-that-is-not-there", bucket);
    assert_int_equal(sbx_blobs_open(where, secret, &other, why, sizeof(why)), -EACCES);
    assert_non_null(strstr(why, "404 NoSuchBucket"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_put_is_got_until_it_is_removed),
        cmocka_unit_test(test_what_is_larger_than_asked_for_is_not_taken),
        cmocka_unit_test(test_a_key_leads_nowhere_else),
        cmocka_unit_test(test_a_bucket_that_refuses_us_says_so_at_once_and_one_that_is_away_when_it_is_asked),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
