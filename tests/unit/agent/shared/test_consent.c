/* SPDX-License-Identifier: Apache-2.0 */
/* test_consent.c - the user's consent is read only from places where no other user can have written it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "consent.h"
#include "test_folder.h"

enum {
    NOBODY = 65534
};

static char spool[128];

static void say(const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/consent", spool);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
}

static void make_spool(const char *parent)
{
    snprintf(spool, sizeof spool, "%s/spool", parent);
    assert_int_equal(mkdir(spool, 0700), 0);
}

static bool looks_like_news(const char *path)
{
    enum sbx_consent said;
    bool in_words;
    return sbx_consent_look(path, &said, &in_words);
}

/* Read the consent as another user. -1: the question could not be asked. */
static int read_as_nobody(const char *path)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(setgid(NOBODY) == 0 && setuid(NOBODY) == 0 ? (int)sbx_consent_read(path) : 100);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) < 100 ? WEXITSTATUS(status) : -1;
}

static void test_what_was_written_is_read(void **state)
{
    make_spool(*state);
    assert_int_equal(sbx_consent_read(spool), SBX_CONSENT_UNKNOWN);
    assert_int_equal(sbx_consent_write(spool, SBX_CONSENT_GRANTED), 0);
    assert_int_equal(sbx_consent_read(spool), SBX_CONSENT_GRANTED);
    assert_true(looks_like_news(spool));
    assert_int_equal(sbx_consent_write(spool, SBX_CONSENT_DENIED), 0);
    assert_int_equal(sbx_consent_read(spool), SBX_CONSENT_DENIED);
    assert_int_equal(sbx_consent_write(spool, SBX_CONSENT_UNKNOWN), 0);
    assert_int_equal(sbx_consent_read(spool), SBX_CONSENT_UNKNOWN);
    snprintf(spool, sizeof spool, "%s/none", (const char *)*state);
    assert_int_equal(sbx_consent_read(spool), SBX_CONSENT_UNKNOWN);
}

static void test_a_no_deletes_what_waits_and_nothing_else(void **state)
{
    static const char *const gone[] = {"a.sbx", "raw/b.raw", "bad/c.sbx", ".d.tmp"};
    static const char *const stays[] = {"consent", "identity", "notes.txt"};
    char path[160];
    make_spool(*state);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", spool, i == 0 ? "raw" : "bad");
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (unsigned i = 0; i < 4 + 3 + 300; i++) { /* more than fits into one listing */
        char many[32];
        snprintf(many, sizeof many, "a-name-of-some-length-%u.sbx", i);
        snprintf(path, sizeof path, "%s/%s", spool, i < 4 ? gone[i] : i < 7 ? stays[i - 4] : many);
        int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(file >= 0);
        close(file);
    }
    assert_int_equal(sbx_consent_delete_unsent(spool), 0);
    for (unsigned i = 0; i < 4 + 3 + 300; i++) {
        char many[32];
        snprintf(many, sizeof many, "a-name-of-some-length-%u.sbx", i);
        snprintf(path, sizeof path, "%s/%s", spool, i < 4 ? gone[i] : i < 7 ? stays[i - 4] : many);
        assert_int_equal(access(path, F_OK) == 0, i >= 4 && i < 7);
    }
}

static void test_loc_15_a_yes_in_a_folder_that_others_may_have_written_is_none(void **state)
{
    char link[160];
    static const mode_t modes[] = {0720, 0702, 0777, 01777};
    make_spool(*state);
    say("granted\n");
    assert_int_equal(sbx_consent_read(spool), SBX_CONSENT_GRANTED);
    snprintf(link, sizeof link, "%s/link", (const char *)*state);
    assert_int_equal(symlink(spool, link), 0);
    assert_int_equal(sbx_consent_read(link), SBX_CONSENT_DENIED);
    assert_false(looks_like_news(link));
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(chmod(spool, modes[i]), 0);
        assert_int_equal(sbx_consent_read(spool), SBX_CONSENT_DENIED);
        assert_false(looks_like_news(spool));
    }
    assert_int_equal(chmod(spool, 0700), 0);
    assert_int_equal(sbx_consent_read(spool), SBX_CONSENT_GRANTED);
}

static void test_loc_15_a_word_in_the_folder_of_another_user_is_none_unless_it_is_roots(void **state)
{
    if (geteuid() != 0) {
        skip(); /* only root can give a folder away */
    }
    make_spool(*state);
    say("granted\n");
    assert_int_equal(chown(spool, NOBODY, NOBODY), 0);
    assert_int_equal(sbx_consent_read(spool), SBX_CONSENT_DENIED);
    assert_false(looks_like_news(spool));
    /* Root could change the consent of this process's own user as well. */
    assert_int_equal(chown(spool, 0, 0), 0);
    assert_int_equal(chmod(*state, 0755), 0);
    assert_int_equal(chmod(spool, 0755), 0);
    assert_int_equal(read_as_nobody(spool), SBX_CONSENT_GRANTED);
    say("denied\n");
    assert_int_equal(read_as_nobody(spool), SBX_CONSENT_DENIED);
    /* A reader without access does not know the answer. */
    assert_int_equal(chmod(spool, 0700), 0);
    assert_int_equal(read_as_nobody(spool), SBX_CONSENT_UNKNOWN);
}

static void test_loc_15_what_is_no_file_of_words_is_a_no(void **state)
{
    char path[160], moved[160];
    make_spool(*state);
    say("granted\n");
    snprintf(path, sizeof path, "%s/consent", spool);
    snprintf(moved, sizeof moved, "%s/moved", spool);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(symlink(moved, path), 0);
    assert_int_equal(sbx_consent_read(spool), SBX_CONSENT_DENIED);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* an ordinary open() would wait for ever */
    assert_int_equal(sbx_consent_read(spool), SBX_CONSENT_DENIED);
    assert_int_equal(unlink(path), 0);
    say("granted, perhaps\n");
    assert_int_equal(sbx_consent_read(spool), SBX_CONSENT_DENIED);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static int set_up(void **state)
{
    *state = sbx_test_folder_make();
    return *state == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    sbx_test_folder_remove(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_what_was_written_is_read),
        CASE(test_a_no_deletes_what_waits_and_nothing_else),
        CASE(test_loc_15_a_yes_in_a_folder_that_others_may_have_written_is_none),
        CASE(test_loc_15_a_word_in_the_folder_of_another_user_is_none_unless_it_is_roots),
        CASE(test_loc_15_what_is_no_file_of_words_is_a_no),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
