/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy_store.c - the stored policy: after kills at every system call, with two writers, with lost and changed
 * files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy_store.h"
#include "signed_fixture.h"
#include "test_folder.h"

static const uint64_t build_s = FIXTURE_NOW_S - 86400;
static struct fixture_document shipped;

static void make_shipped(void)
{
    struct sbx_keyset keyset = fixture_keyset();
    shipped.count = 0;
    fixture_sign_keyset(&keyset, "root-a root-b", &shipped);
}

static struct fixture_document policy_of(uint64_t seq)
{
    struct fixture_document document = {.count = 0};
    struct sbx_policy_document policy = fixture_policy(seq);
    policy.policy.capture.anr_ms = 1000 + (uint32_t)(seq % 1000);
    fixture_sign_policy(&policy, &document);
    return document;
}

static struct sbx_policy_store *open_store(const char *folder_path)
{
    struct sbx_policy_store *store;
    char why[300];
    int folder = open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 ||
        sbx_policy_store_open(folder, shipped.bytes, shipped.count, build_s, &store, why, sizeof why) != 0) {
        fprintf(stderr, "%s: %s\n", folder_path, why);
        abort();
    }
    close(folder);
    return store;
}

/* Offer a bundle in a transaction of its own. */
static enum sbx_policy_verdict offer(struct sbx_policy_store *store, const struct fixture_document *document)
{
    struct sbx_policy_report report;
    int result = sbx_policy_store_begin(store, FIXTURE_NOW_S);
    if (result != 0) {
        fprintf(stderr, "%s\n", strerror(-result));
        abort();
    }
    enum sbx_policy_verdict verdict = sbx_policy_store_offer(store, document->bytes, document->count, &report);
    if (sbx_policy_store_end(store, false) != 0) {
        fprintf(stderr, "end\n");
        abort();
    }
    return verdict;
}

static struct sbx_policy_effect decide_at(struct sbx_policy_store *store, uint64_t now_s)
{
    struct sbx_policy_effect effect;
    bool changed;
    int result = sbx_policy_store_begin(store, now_s);
    if (result == 0) {
        result = sbx_policy_store_decide(store, 1, &effect, &changed);
    }
    if (result == 0) {
        result = sbx_policy_store_end(store, changed);
    }
    if (result != 0) {
        fprintf(stderr, "deciding: %s\n", strerror(-result));
        abort();
    }
    return effect;
}

static struct sbx_policy_effect decide(struct sbx_policy_store *store)
{
    return decide_at(store, FIXTURE_NOW_S);
}

static void test_what_was_accepted_is_there_after_opening_anew(void **state)
{
    char *folder = *state;
    struct fixture_document fifth = policy_of(5), fourth = policy_of(4);
    struct sbx_policy_store *store = open_store(folder);
    assert_int_equal(decide(store).source, SBX_SOURCE_DEFAULT);
    assert_int_equal(offer(store, &fifth), SBX_POLICY_ACCEPTED);
    sbx_policy_store_close(store);
    store = open_store(folder);
    struct sbx_policy_effect effect = decide(store);
    assert_int_equal(effect.source, SBX_SOURCE_POLICY);
    assert_int_equal(effect.policy.seq, 5);
    assert_int_equal(effect.policy.capture.anr_ms, 1005);
    assert_int_equal(offer(store, &fourth), SBX_POLICY_ROLLBACK);
    assert_int_equal(offer(store, &fifth), SBX_POLICY_SAME);
    assert_int_equal(decide(store).policy.seq, 5);
    /* The policy expires: less is recorded, but not nothing. */
    effect = decide_at(store, FIXTURE_NOW_S + 11 * 86400);
    assert_int_equal(effect.source, SBX_SOURCE_REDUCED);
    assert_int_equal(effect.policy.delivery.snapshots_day, 1);
    sbx_policy_store_close(store);
}

/* Change one byte of a file in the store's folder, at `from_end`, in place. Size and inode stay the same, and perhaps
 * the time. */
static void spoil(const char *folder, const char *name, long from_end)
{
    char command[600];
    snprintf(command, sizeof command,
             "cd '%s'/policy/* && touch -r %s kept && printf '\\377' | dd of=%s bs=1 conv=notrunc "
             "seek=$(($(stat -c %%s %s) - %ld)) 2>/dev/null && touch -r kept %s",
             folder, name, name, name, from_end, name);
    assert_int_equal(system(command), 0);
}

static void test_a_signature_is_verified_once_and_everything_else_each_time(void **state)
{
    char *folder = *state;
    struct fixture_document fifth = policy_of(5), fourth = policy_of(4), sixth = policy_of(6);
    struct sbx_policy_store *store = open_store(folder), *other;
    assert_int_equal(offer(store, &fifth), SBX_POLICY_ACCEPTED);
    (void)decide(store);
    uint64_t before = sbx_policy_store_verifications(store);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(decide(store).policy.seq, 5);
    }
    assert_true(sbx_policy_store_verifications(store) == before);
    /* Time, rollback and changes by other writers are noticed all the same. */
    assert_int_equal(offer(store, &fourth), SBX_POLICY_ROLLBACK);
    assert_int_equal(decide_at(store, FIXTURE_NOW_S + 11 * 86400).source, SBX_SOURCE_REDUCED);
    assert_int_equal(decide(store).source, SBX_SOURCE_POLICY);
    other = open_store(folder);
    assert_int_equal(offer(other, &sixth), SBX_POLICY_ACCEPTED);
    sbx_policy_store_close(other);
    assert_int_equal(decide(store).policy.seq, 6);
    assert_int_equal(offer(store, &fifth), SBX_POLICY_ROLLBACK);
    /* A byte of the signature is changed unnoticed: same inode, size and time. */
    spoil(folder, "documents", 3);
    assert_true(decide(store).source != SBX_SOURCE_POLICY);
    sbx_policy_store_close(store);
}

static void test_a_kill_holds_until_a_later_policy(void **state)
{
    struct fixture_document fifth = policy_of(5), kill = {.count = 0}, tenth = policy_of(10), eighth = policy_of(8);
    struct sbx_policy_document number = fixture_policy(9);
    struct sbx_policy_store *store = open_store(*state);
    fixture_sign_kill(&number, "kill", &kill);
    assert_int_equal(offer(store, &fifth), SBX_POLICY_ACCEPTED);
    assert_int_equal(offer(store, &kill), SBX_POLICY_ACCEPTED);
    assert_int_equal(decide(store).source, SBX_SOURCE_KILLED);
    assert_int_equal(decide(store).policy.capture.enabled, 0);
    assert_int_equal(sbx_policy_store_state(store)->killed_at_s, FIXTURE_NOW_S);
    sbx_policy_store_close(store);
    store = open_store(*state);
    assert_int_equal(decide(store).source, SBX_SOURCE_KILLED);
    assert_int_equal(offer(store, &eighth), SBX_POLICY_ROLLBACK);
    assert_int_equal(offer(store, &tenth), SBX_POLICY_ACCEPTED);
    assert_int_equal(decide(store).source, SBX_SOURCE_POLICY);
    assert_int_equal(sbx_policy_store_state(store)->killed_at_s, 0);
    sbx_policy_store_close(store);
}

static void test_the_chain_of_keysets_is_kept(void **state)
{
    struct sbx_keyset keyset = fixture_keyset();
    struct fixture_document second = {.count = 0}, third = {.count = 0}, policy = {.count = 0}, old = policy_of(5);
    struct sbx_policy_store *store = open_store(*state);
    assert_int_equal(offer(store, &old), SBX_POLICY_ACCEPTED);
    memcpy(keyset.root_keys[0], fixture_key("root-d"), SBX_PUBLIC_KEY_BYTES);
    keyset.version = 2;
    fixture_sign_keyset(&keyset, "root-b root-c", &second);
    assert_int_equal(offer(store, &second), SBX_POLICY_ACCEPTED);
    assert_int_equal(decide(store).source, SBX_SOURCE_POLICY); /* the policy key is the same, so the policy is valid */
    keyset.version = 3;
    memcpy(keyset.policy_keys[0], fixture_key("policy-3"), SBX_PUBLIC_KEY_BYTES);
    fixture_sign_keyset(&keyset, "root-d root-c", &third);
    assert_int_equal(offer(store, &third), SBX_POLICY_ACCEPTED);
    assert_int_equal(decide(store).source, SBX_SOURCE_REDUCED); /* no trusted key signs it any more */
    sbx_policy_store_close(store);
    store = open_store(*state);
    struct sbx_policy_document number = fixture_policy(6);
    uint8_t payload[4096];
    fixture_sign(SBX_ROLE_POLICY, payload, sbx_policy_document_encode(&number, false, payload, sizeof payload),
                 "policy-3", &policy);
    assert_int_equal(offer(store, &policy), SBX_POLICY_ACCEPTED);
    assert_int_equal(sbx_policy_store_keyset(store)->version, 3);
    assert_int_equal(decide(store).policy.seq, 6);
    sbx_policy_store_close(store);
}

/* Open PATH/policy/APP/NAME. */
static int open_file(const char *folder, const char *name, int flags)
{
    char path[512];
    snprintf(path, sizeof path, "%s/policy/666978747572652d6170702d69642d30/%s", folder, name);
    return open(path, flags | O_CLOEXEC, 0600);
}

static void test_loc_16_a_changed_state_is_not_believed_and_the_day_is_spent(void **state)
{
    struct fixture_document fifth = policy_of(5), fourth = policy_of(4);
    struct sbx_policy_store *store = open_store(*state);
    assert_int_equal(offer(store, &fifth), SBX_POLICY_ACCEPTED);
    assert_int_equal(sbx_policy_store_state(store)->budget.is_spent, 0); /* a new machine has a normal day */
    sbx_policy_store_close(store);
    for (size_t at = 0; at < sizeof(struct sbx_policy_state); at += 97 * ROUNDS_DIVISOR) {
        uint8_t byte;
        int file = open_file(*state, "state", O_RDWR);
        assert_int_equal(pread(file, &byte, 1, (off_t)at), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(file, &byte, 1, (off_t)at), 1);
        store = open_store(*state);
        assert_int_equal(decide(store).policy.seq, 5); /* the documents are verified by themselves */
        assert_int_equal(sbx_policy_store_state(store)->budget.is_spent, 1);
        assert_int_equal(offer(store, &fourth), SBX_POLICY_ROLLBACK);
        sbx_policy_store_close(store);
        byte ^= 0x10;
        file = file >= 0 ? (close(file), open_file(*state, "state", O_RDWR)) : file;
        assert_int_equal(pwrite(file, &byte, 1, (off_t)at), 1);
        close(file);
    }
}

/* Expect that opening the store in `spool` fails with this error. */
static void expect_refused(const char *spool, int wanted)
{
    struct sbx_policy_store *store = NULL;
    char why[300];
    int folder = open(spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(folder >= 0);
    int result = sbx_policy_store_open(folder, shipped.bytes, shipped.count, build_s, &store, why, sizeof why);
    close(folder);
    if (result == 0) {
        sbx_policy_store_close(store);
    }
    assert_int_equal(result, wanted);
}

/* The folder of policies, and in it the folder of the application. */
static void test_loc_16_a_state_that_others_may_have_put_there_is_not_opened(void **state)
{
    const mode_t modes[] = {0720, 0702, 01777};
    char policies[200], app[300], moved[300];
    struct fixture_document fifth = policy_of(5);
    struct sbx_policy_store *store = open_store(*state);
    assert_int_equal(offer(store, &fifth), SBX_POLICY_ACCEPTED);
    sbx_policy_store_close(store);
    snprintf(policies, sizeof policies, "%s/policy", (const char *)*state);
    snprintf(app, sizeof app, "%s/666978747572652d6170702d69642d30", policies);
    const char *const folders[] = {policies, app};
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < sizeof modes / sizeof modes[0]; k++) {
            assert_int_equal(chmod(folders[i], modes[k]), 0);
            expect_refused(*state, -EPERM);
        }
        assert_int_equal(chmod(folders[i], 0700), 0);
        snprintf(moved, sizeof moved, "%s/moved", (const char *)*state);
        assert_int_equal(rename(folders[i], moved), 0);
        assert_int_equal(symlink(moved, folders[i]), 0);
        expect_refused(*state, -ENOTDIR);
        assert_int_equal(unlink(folders[i]), 0);
        assert_int_equal(rename(moved, folders[i]), 0);
        if (geteuid() == 0) { /* only root can change a folder's owner */
            assert_int_equal(chown(folders[i], 65534, 65534), 0);
            expect_refused(*state, -EPERM);
            assert_int_equal(chown(folders[i], 0, 0), 0);
        }
    }
    store = open_store(*state);
    assert_int_equal(decide(store).policy.seq, 5);
    sbx_policy_store_close(store);
}

static void test_documents_that_are_gone_or_changed_lower_no_floor(void **state)
{
    struct fixture_document fifth = policy_of(5), fourth = policy_of(4);
    struct sbx_policy_store *store = open_store(*state);
    assert_int_equal(offer(store, &fifth), SBX_POLICY_ACCEPTED);
    int file = open_file(*state, "documents", O_WRONLY | O_TRUNC); /* an attacker put an old, signed one there */
    assert_int_equal(write(file, fourth.bytes, fourth.count), (ssize_t)fourth.count);
    close(file);
    assert_int_equal(decide(store).source, SBX_SOURCE_REDUCED);
    file = open_file(*state, "documents", O_WRONLY | O_TRUNC);
    assert_int_equal(write(file, "rubbish", 7), 7);
    close(file);
    assert_int_equal(decide(store).source, SBX_SOURCE_REDUCED);
    assert_int_equal(offer(store, &fourth), SBX_POLICY_ROLLBACK);
    assert_int_equal(offer(store, &fifth), SBX_POLICY_SAME);
    sbx_policy_store_close(store);
}

/* One start, which is reported as a crash or not. */
static struct sbx_policy_effect start(struct sbx_policy_store *store, bool crashes, uint64_t now_s)
{
    struct sbx_policy_effect effect;
    struct sbx_open_start self = sbx_policy_store_self(store);
    bool changed;
    assert_int_equal(sbx_policy_store_begin(store, now_s), 0);
    assert_int_equal(sbx_policy_store_decide(store, 1, &effect, &changed), 0);
    struct sbx_crash_loop *loop = &sbx_policy_store_state(store)->crash_loop;
    if (effect.policy.capture.enabled != 0) {
        sbx_crash_loop_arm(loop, &self, effect.hash, effect.policy.capture.points);
        if (crashes) {
            sbx_crash_loop_crash(loop, &self, now_s);
        } else if (sbx_crash_loop_survive(loop, &self, effect.hash, effect.policy.capture.points, now_s)) {
            assert_int_equal(sbx_policy_store_keep_safe(store), 0);
        }
    }
    assert_int_equal(sbx_policy_store_end(store, true), 0);
    return effect;
}

/* Runs in a pid namespace of its own: puts the fifth policy on trial, reports that, and dies when the pipe is
 * closed. */
static void try_fifth_as_process_one(const char *folder, int ready, int wait)
{
    char byte;
    if (mount("proc", "/proc", "proc", 0, NULL) != 0) {
        _exit(1);
    }
    struct sbx_policy_store *store = open_store(folder);
    struct sbx_open_start self = sbx_policy_store_self(store);
    struct sbx_policy_effect effect;
    bool changed;
    if (sbx_policy_store_begin(store, FIXTURE_NOW_S) != 0 ||
        sbx_policy_store_decide(store, 1, &effect, &changed) != 0 || self.pid != 1) {
        _exit(1);
    }
    (void)sbx_crash_loop_arm(&sbx_policy_store_state(store)->crash_loop, &self, effect.hash,
                             effect.policy.capture.points);
    if (sbx_policy_store_end(store, true) != 0 || write(ready, "x", 1) != 1) {
        _exit(1);
    }
    (void)!read(wait, &byte, 1);
    _exit(0);
}

static uint32_t streak_after_a_decision(struct sbx_policy_store *store)
{
    assert_int_equal(decide(store).source, SBX_SOURCE_POLICY);
    return sbx_policy_store_state(store)->crash_loop.streak;
}

/* Two containers with one spool: by its pid, the other container's start belongs to a process that does not exist. */
static void test_loc_13_a_start_in_another_pid_namespace_is_no_crash_while_its_companion_lives(void **state)
{
    struct fixture_document fifth = policy_of(5);
    struct sbx_policy_store *store = open_store(*state);
    int ready[2], wait[2], status;
    char byte;
    assert_int_equal(offer(store, &fifth), SBX_POLICY_ACCEPTED);
    assert_true(pipe(ready) == 0 && pipe(wait) == 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(wait[1]);
        if (unshare(CLONE_NEWNS | CLONE_NEWPID) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
            _exit(77);
        }
        pid_t one = fork();
        if (one == 0) {
            try_fifth_as_process_one(*state, ready[1], wait[0]);
        }
        close(ready[1]);
        _exit(one > 0 && waitpid(one, &status, 0) == one && status == 0 ? 0 : 1);
    }
    close(ready[1]);
    close(wait[0]);
    ssize_t got = read(ready[0], &byte, 1);
    if (got == 1) {
        assert_int_equal(streak_after_a_decision(store), 0);
    }
    close(wait[1]);
    close(ready[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (got != 1 && WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        sbx_policy_store_close(store);
        skip(); /* only root can make namespaces */
    }
    assert_int_equal(status, 0);
    assert_int_equal(streak_after_a_decision(store), 1); /* it has not reported how it ended */
    sbx_policy_store_close(store);
}

static void test_pol_16_the_safe_policy_comes_back_from_disk(void **state)
{
    struct fixture_document fifth = policy_of(5), sixth = policy_of(6), seventh = policy_of(7);
    struct sbx_policy_store *store = open_store(*state);
    assert_int_equal(offer(store, &fifth), SBX_POLICY_ACCEPTED);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(start(store, false, FIXTURE_NOW_S + (uint64_t)i * 43200).policy.seq, 5);
    }
    assert_int_equal(offer(store, &sixth), SBX_POLICY_ACCEPTED);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(start(store, true, FIXTURE_NOW_S + 200000).policy.seq, 6);
    }
    for (int i = 4; i <= 6; i++) {
        sbx_policy_store_close(store);
        store = open_store(*state);
        struct sbx_policy_effect effect = start(store, true, FIXTURE_NOW_S + 200000);
        assert_int_equal(effect.source, SBX_SOURCE_SAFE);
        assert_int_equal(effect.policy.seq, 5);
    }
    assert_int_equal(start(store, true, FIXTURE_NOW_S + 200000).source, SBX_SOURCE_CRASHES);
    assert_int_equal(offer(store, &fifth), SBX_POLICY_ROLLBACK); /* safe mode accepts no older one ... */
    assert_int_equal(offer(store, &sixth), SBX_POLICY_SAME);
    assert_int_equal(offer(store, &seventh), SBX_POLICY_ACCEPTED);
    assert_int_equal(start(store, false, FIXTURE_NOW_S + 200000).policy.seq, 7);
    sbx_policy_store_close(store);
}

/* Runs in the child of the next test: takes the sixth policy. */
static void take_sixth(const char *folder, const struct fixture_document *sixth)
{
    struct sbx_policy_store *store = open_store(folder);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    enum sbx_policy_verdict verdict = offer(store, sixth);
    _exit(verdict == SBX_POLICY_ACCEPTED ? 0 : 1);
}

static void test_pol_17_a_kill_at_any_system_call_leaves_the_old_or_the_new(void **state)
{
    (void)state;
    unsigned old_ones = 0, new_ones = 0, stops = 0;
    bool has_ended = false;
    struct fixture_document fifth = policy_of(5), fourth = policy_of(4), sixth = policy_of(6); /* signed only once */
    for (unsigned kill_at = 1; !has_ended; kill_at += ROUNDS_DIVISOR) {
        char *folder = sbx_test_folder_make();
        struct sbx_policy_store *store = open_store(folder);
        assert_int_equal(offer(store, &fifth), SBX_POLICY_ACCEPTED);
        sbx_policy_store_close(store);
        pid_t child = fork();
        if (child == 0) {
            take_sixth(folder, &sixth);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSTOPPED(status));
        for (unsigned stop = 0;; stop++) {
            assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
            assert_int_equal(waitpid(child, &status, 0), child);
            if (!WIFSTOPPED(status)) {
                has_ended = true;
                assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
                break;
            }
            if (stop + 1 == kill_at) {
                kill(child, SIGKILL);
                waitpid(child, &status, 0);
                stops++;
                break;
            }
        }
        store = open_store(folder);
        uint64_t seq = decide(store).policy.seq;
        if (seq != 5 && seq != 6) {
            fail_msg("killed at stop %u: policy %llu", kill_at, (unsigned long long)seq);
        }
        old_ones += seq == 5;
        new_ones += seq == 6;
        assert_int_equal(offer(store, &fourth), SBX_POLICY_ROLLBACK);
        assert_int_equal(offer(store, &sixth), seq == 6 ? SBX_POLICY_SAME : SBX_POLICY_ACCEPTED);
        assert_int_equal(offer(store, &fifth), SBX_POLICY_ROLLBACK);
        assert_int_equal(sbx_policy_store_state(store)->budget.is_spent, 0); /* the state was not lost */
        sbx_policy_store_close(store);
        sbx_test_folder_remove(folder);
    }
    assert_true(stops > 40 / ROUNDS_DIVISOR && old_ones > 10 / ROUNDS_DIVISOR && new_ones > 10 / ROUNDS_DIVISOR);
}

static void test_pol_20_two_who_fetch_at_once_end_on_the_same_policy(void **state)
{
    enum {
        WRITERS = 3,
        LAST = 20
    };
    pid_t writers[WRITERS];
    int status;
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        if (writers[i] == 0) {
            struct sbx_policy_store *store = open_store(*state);
            for (uint64_t seq = 1 + (uint64_t)i; seq <= LAST; seq += 1 + (uint64_t)i) {
                struct fixture_document document = policy_of(seq);
                enum sbx_policy_verdict verdict = offer(store, &document);
                if (verdict != SBX_POLICY_ACCEPTED && verdict != SBX_POLICY_SAME && verdict != SBX_POLICY_ROLLBACK) {
                    _exit(100 + (int)verdict);
                }
            }
            struct fixture_document last = policy_of(LAST);
            enum sbx_policy_verdict verdict = offer(store, &last);
            _exit((verdict == SBX_POLICY_SAME || verdict == SBX_POLICY_ACCEPTED) && decide(store).policy.seq == LAST
                      ? 0
                      : 2);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    struct sbx_policy_store *store = open_store(*state);
    assert_int_equal(decide(store).policy.seq, LAST);
    assert_int_equal(sbx_policy_store_state(store)->budget.is_spent, 0);
    sbx_policy_store_close(store);
}

static int make(void **state)
{
    make_shipped();
    *state = sbx_test_folder_make();
    return 0;
}

static int take_away(void **state)
{
    sbx_test_folder_remove(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_was_accepted_is_there_after_opening_anew, make, take_away),
        cmocka_unit_test_setup_teardown(test_a_signature_is_verified_once_and_everything_else_each_time, make,
                                        take_away),
        cmocka_unit_test_setup_teardown(test_a_kill_holds_until_a_later_policy, make, take_away),
        cmocka_unit_test_setup_teardown(test_the_chain_of_keysets_is_kept, make, take_away),
        cmocka_unit_test_setup_teardown(test_loc_16_a_changed_state_is_not_believed_and_the_day_is_spent, make,
                                        take_away),
        cmocka_unit_test_setup_teardown(test_loc_16_a_state_that_others_may_have_put_there_is_not_opened, make,
                                        take_away),
        cmocka_unit_test_setup_teardown(test_documents_that_are_gone_or_changed_lower_no_floor, make, take_away),
        cmocka_unit_test_setup_teardown(
            test_loc_13_a_start_in_another_pid_namespace_is_no_crash_while_its_companion_lives, make, take_away),
        cmocka_unit_test_setup_teardown(test_pol_16_the_safe_policy_comes_back_from_disk, make, take_away),
        cmocka_unit_test_setup_teardown(test_pol_17_a_kill_at_any_system_call_leaves_the_old_or_the_new, make,
                                        take_away),
        cmocka_unit_test_setup_teardown(test_pol_20_two_who_fetch_at_once_end_on_the_same_policy, make, take_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
