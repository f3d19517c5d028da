/* SPDX-License-Identifier: Apache-2.0 */
/* test_redis_url.c - a URL that an operator writes is parsed, or refused with a message. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "redis_url.h"

static struct sbx_redis_url must_read(const char *text)
{
    struct sbx_redis_url url;
    char why[200] = "";
    assert_true(sbx_redis_url_is(text));
    assert_int_equal(sbx_redis_url_parse(text, &url, why, sizeof why), 0);
    return url;
}

static void test_servers_clusters_and_sockets_are_read(void **state)
{
    (void)state;
    struct sbx_redis_url url = must_read("redis://localhost");
    assert_string_equal(url.seeds[0].host, "localhost");
    assert_int_equal(url.seeds[0].port, 6379);
    assert_int_equal(url.database, 0);
    url = must_read("redis://symbols@10.0.0.1:7000/3?ttl=7");
    assert_string_equal(url.user, "symbols");
    assert_string_equal(url.seeds[0].host, "10.0.0.1");
    assert_int_equal(url.seeds[0].port, 7000);
    assert_int_equal(url.database, 3);
    assert_int_equal(url.ttl_days, 7);
    url = must_read("redis+cluster://a:1,b,[::1]:65535");
    assert_true(url.is_cluster);
    assert_int_equal(url.seed_count, 3);
    assert_string_equal(url.seeds[2].host, "::1");
    assert_int_equal(url.seeds[2].port, 65535);
    url = must_read("unix:/run/redis.sock");
    assert_string_equal(url.seeds[0].host, "/run/redis.sock");
    assert_int_equal(url.seeds[0].port, 0);
}

static void test_what_is_no_url_is_refused_in_words(void **state)
{
    (void)state;
    static const char *const bad[] = {"redis://",
                                      "redis://:6379",
                                      "redis://h:0",
                                      "redis://h:65536",
                                      "redis://h:6379x",
                                      "redis://h/x",
                                      "redis://h/1/2",
                                      "redis://a,b",
                                      "redis+cluster://a,",
                                      "redis+cluster://a/1",
                                      "redis://[::1",
                                      "redis://[::1]x",
                                      "redis://@h",
                                      "redis://h?ttl=0",
                                      "redis://h?ttl=",
                                      "redis://h?other=1",
                                      "redis://h?ttl=999999",
                                      "unix:",
                                      "redis://u:secret@h",
                                      "redis://h:-1",
                                      "redis+cluster://",
                                      "redis+cluster://a,,b",
                                      "redis://h:6379/-1",
                                      "redis://h:6379/65536"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sbx_redis_url url;
        char why[200] = "";
        if (sbx_redis_url_parse(bad[i], &url, why, sizeof why) != -EINVAL) {
            fail_msg("%s was taken", bad[i]);
        }
        assert_true(why[0] != '\0');
        assert_null(strstr(why, "secret"));
    }
    char many[2000] = "redis+cluster://a";
    for (int i = 0; i < 32; i++) {
        strcat(many, ",a");
    }
    struct sbx_redis_url url;
    char why[200];
    assert_int_equal(sbx_redis_url_parse(many, &url, why, sizeof why), -EINVAL);
    assert_false(sbx_redis_url_is("/var/lib/redis"));
    assert_false(sbx_redis_url_is("symbols"));
}

static void test_a_password_comes_from_a_file_that_nobody_else_may_read(void **state)
{
    (void)state;
    char path[] = "/tmp/test_redis_url.XXXXXX", why[300];
    struct sbx_redis_url url = {.is_cluster = false};
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "s3cret word\nrest", 16), 16);
    unsetenv("STALLBOX_REDIS_PASSWORD_FILE");
    unsetenv("STALLBOX_REDIS_PASSWORD");
    assert_int_equal(sbx_redis_url_read_password(&url, why, sizeof why), 0);
    assert_string_equal(url.password, "");
    setenv("STALLBOX_REDIS_PASSWORD", "from the environment", 1);
    assert_int_equal(sbx_redis_url_read_password(&url, why, sizeof why), 0);
    assert_string_equal(url.password, "from the environment");
    setenv("STALLBOX_REDIS_PASSWORD_FILE", path, 1);
    assert_int_equal(sbx_redis_url_read_password(&url, why, sizeof why), 0);
    assert_string_equal(url.password, "s3cret word");
    assert_int_equal(fchmod(fd, 0644), 0);
    assert_int_equal(sbx_redis_url_read_password(&url, why, sizeof why), -EPERM);
    assert_non_null(strstr(why, path));
    assert_int_equal(fchmod(fd, 0600), 0);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(sbx_redis_url_read_password(&url, why, sizeof why), -EINVAL);
    close(fd);
    unlink(path);
    assert_int_equal(sbx_redis_url_read_password(&url, why, sizeof why), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_servers_clusters_and_sockets_are_read),
        cmocka_unit_test(test_what_is_no_url_is_refused_in_words),
        cmocka_unit_test(test_a_password_comes_from_a_file_that_nobody_else_may_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
