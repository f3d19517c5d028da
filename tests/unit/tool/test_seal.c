/* SPDX-License-Identifier: Apache-2.0 */
/* test_seal.c - `stallbox seal`: keys and their files, names of keys, and messages about files that do not open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tool_folder.h"

static int make(void **state)
{
    begin_folder(state);
    expect(RUN_TOOL("seal", "keygen", path_of("server")), 0, "keep it secret");
    return 0;
}

static void test_a_secret_key_is_its_owners_alone_and_never_overwritten(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(stat(path_of("server.key"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(stat(path_of("server.pub"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0644);
    expect(RUN_TOOL("seal", "keygen", path_of("server")), 1, "never overwritten");
    assert_int_equal(chmod(path_of("server.key"), 0644), 0);
    free(write_file(folder, "x.sbx", "SBX1", 4, 0644));
    expect(RUN_TOOL("seal", "open", "--unseal-key", path_of("server.key"), path_of("x.sbx")), 1, "chmod 600");
}

static void test_a_key_is_named_as_when_it_was_made(void **state)
{
    (void)state;
    struct tool_result made = RUN_TOOL("seal", "keygen", path_of("other"));
    struct tool_result named = RUN_TOOL("seal", "id", path_of("other.pub"));
    char id[17];
    assert_int_equal(sscanf(named.out, "%16[0-9a-f] ", id), 1);
    assert_int_equal(strlen(id), 16);
    assert_non_null(strstr(made.err, id));
    expect(RUN_TOOL("seal", "id", path_of("other.key")), 1, "neither a public key nor a sealed payload");
}

static void test_keys_of_one_sort_are_not_taken_for_the_other(void **state)
{
    (void)state;
    expect(RUN_TOOL("policy", "keygen", path_of("signer")), 0, "keep it secret");
    free(write_file(folder, "x.sbx", "SBX1", 4, 0644));
    expect(RUN_TOOL("seal", "open", "-k", path_of("signer.key"), path_of("x.sbx")), 1, "not a secret key");
    expect(RUN_TOOL("run", "--seal-key", path_of("signer.pub"), "--", "true"), 1, "not a public key");
    expect(RUN_TOOL("run", "--seal-key", path_of("server.key"), "--", "true"), 1, "not a public key");
    expect(RUN_TOOL("deliver", "--spool", path_of("spool"), "--server", "http://127.0.0.1:1", "--seal-key",
                    path_of("nothing.pub")),
           1, "nothing.pub: No such file");
    expect(RUN_TOOL("serve", "--data", path_of("data"), "--unseal-key", path_of("server.pub")), 1, "server.pub");
    free(write_file(folder, "zero.pub",
                    "stallbox-public-key x25519 0000000000000000000000000000000000000000000000000000000000000000\n", 92,
                    0644));
    expect(RUN_TOOL("run", "--seal-key", path_of("zero.pub"), "--", "true"), 1, "nobody can seal to this key");
}

static void test_a_keyset_takes_a_key_by_its_file(void **state)
{
    (void)state;
    static const char keyset[] = "document = keyset\napp = test\nversion = 1\nepoch = 1\nexpires_at = +365d\n"
                                 "root_threshold = 1\nroot_key = root.pub\npolicy_key = root.pub\n"
                                 "seal_key = key:server.pub from:now until:now+90d\n";
    expect(RUN_TOOL("policy", "keygen", path_of("root")), 0, "");
    free(write_file(folder, "keyset.txt", keyset, sizeof keyset - 1, 0644));
    expect(RUN_TOOL("policy", "sign", "-k", path_of("root.key"), "-o", path_of("keyset.sbp"), path_of("keyset.txt")), 0,
           "");
    struct tool_result shown = RUN_TOOL("policy", "show", path_of("keyset.sbp"));
    FILE *file = fopen(path_of("server.pub"), "r");
    char hex[65];
    assert_int_equal(fscanf(file, "stallbox-public-key x25519 %64[0-9a-f]", hex), 1);
    fclose(file);
    assert_non_null(strstr(shown.out, hex));
    static const char wrong[] = "document = keyset\napp = test\nseal_key = key:nothing.pub from:now until:now+90d\n";
    free(write_file(folder, "wrong.txt", wrong, sizeof wrong - 1, 0644));
    expect(RUN_TOOL("policy", "sign", "-k", path_of("root.key"), path_of("wrong.txt")), 1,
           "wrong.txt:3: a seal key is");
}

static void test_wrong_usage_is_told(void **state)
{
    (void)state;
    expect(RUN_TOOL("seal", "keygen"), 2, "one NAME");
    expect(RUN_TOOL("seal", "id"), 2, "which FILE");
    expect(RUN_TOOL("seal", "open"), 2, "a PAYLOAD");
    expect(RUN_TOOL("seal", "open", path_of("x.sbx")), 2, "--unseal-key FILE");
    expect(RUN_TOOL("seal", "melt"), 2, "unknown word 'melt'");
}

int main(void)
{
#define SEAL_TEST(test) cmocka_unit_test_setup_teardown(test, make, end_folder)
    const struct CMUnitTest tests[] = {
        SEAL_TEST(test_a_secret_key_is_its_owners_alone_and_never_overwritten),
        SEAL_TEST(test_a_key_is_named_as_when_it_was_made),
        SEAL_TEST(test_keys_of_one_sort_are_not_taken_for_the_other),
        SEAL_TEST(test_a_keyset_takes_a_key_by_its_file),
        SEAL_TEST(test_wrong_usage_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
