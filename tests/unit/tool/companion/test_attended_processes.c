/* SPDX-License-Identifier: Apache-2.0 */
/* test_attended_processes.c - which recordings the companion attends to, and what happens to them when their processes
 * end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "attended_processes.h"
#include "recording_builder.h"
#include "recording_file.h"
#include "recording_name.h"
#include "run_tool.h"
#include "snapshot_folder.h"

#define KEY UINT64_C(0x1122334455667788)

struct fixture {
    char *base;
    char recordings[128], spool[128], raw[160];
    struct sbx_handovers handovers;
    struct sbx_attended *family;
    int folder;
    unsigned sessions;
};

/* A process and its recording. */
struct process {
    pid_t pid;
    char name[SBX_RECORDING_NAME_BYTES], path[256];
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    fixture->base = make_folder();
    snprintf(fixture->recordings, sizeof fixture->recordings, "%s/recordings", fixture->base);
    snprintf(fixture->spool, sizeof fixture->spool, "%s/spool", fixture->base);
    snprintf(fixture->raw, sizeof fixture->raw, "%s/raw", fixture->spool);
    assert_int_equal(mkdir(fixture->recordings, 0700), 0);
    assert_int_equal(mkdir(fixture->spool, 0700), 0);
    fixture->folder = open(fixture->recordings, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    sbx_handovers_init(&fixture->handovers, fixture->spool, KEY, sbx_now_ns());
    const struct sbx_attended_options options = {
        .recordings = fixture->recordings, .folder = fixture->folder, .handovers = &fixture->handovers};
    fixture->family = sbx_attended_create(&options);
    assert_non_null(fixture->family);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    sbx_attended_destroy(fixture->family);
    close(fixture->folder);
    remove_folder(fixture->base);
    free(fixture);
    return 0;
}

/* Start a process with a message that is open for too long, and a recording with this key. The recording's name
 * contains `named_pid` (0: the true pid). */
static struct process start(struct fixture *fixture, uint64_t key, uint32_t named_pid)
{
    struct process process;
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    process.pid = fork();
    if (process.pid == 0) { /* the child locks what its parent has made */
        char path[256];
        int file = read(ends[0], path, sizeof path) == (ssize_t)sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        _exit(file < 0 || flock(file, LOCK_EX) != 0 || write(ends[1], "l", 1) != 1 || pause() != 0);
    }
    struct sbx_recording_name name = {.pid = named_pid != 0 ? named_pid : (uint32_t)process.pid};
    name.session_id[0] = (uint8_t)++fixture->sessions;
    sbx_recording_name_print(&name, process.name);
    memset(process.path, 0, sizeof process.path);
    snprintf(process.path, sizeof process.path, "%s/%s", fixture->recordings, process.name);
    struct sbx_recording_builder *builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, process.path);
    struct sbx_recording_header *header = builder->header;
    sbx_recording_add_thread(builder, (uint32_t)process.pid, "worker", 1);
    snprintf(header->spool_path, SBX_PATH_MAX, "%s", fixture->spool);
    memcpy(header->session_id, name.session_id, sizeof header->session_id);
    header->pid = (uint32_t)process.pid;
    header->process_start_ticks = sbx_process_start_ticks((uint32_t)process.pid);
    header->pid_namespace = 0;
    header->owner_locked = 1;
    header->note.open = 1;
    header->note.begin_ns = 1000;
    builder->control->handover.key = key;
    assert_int_equal(chmod(process.path, 0600), 0);
    sbx_recording_builder_destroy(builder);
    assert_int_equal(write(ends[1], process.path, sizeof process.path), sizeof process.path);
    do { /* its writes come after what it has read */
        usleep(1000);
        int file = open(process.path, O_RDONLY);
        bool is_locked = flock(file, LOCK_EX | LOCK_NB) != 0;
        close(file);
        byte = is_locked ? 'l' : 0;
    } while (byte == 0);
    close(ends[0]);
    close(ends[1]);
    return process;
}

static void end(const struct process *process)
{
    kill(process->pid, SIGKILL);
    assert_int_equal(waitpid(process->pid, NULL, 0), process->pid);
}

/* Step until `wanted` recordings have been settled, or until nothing more has come for long enough to take a lock. */
static unsigned step_until(struct fixture *fixture, unsigned wanted, int tries)
{
    unsigned all = 0;
    for (; tries > 0 && all < wanted; tries--) {
        unsigned ended;
        struct pollfd readable = {.fd = sbx_attended_descriptor(fixture->family), .events = POLLIN};
        int due_ms = sbx_attended_step(fixture->family, &ended);
        all += ended;
        if (all < wanted) {
            poll(&readable, 1, due_ms < 0 || due_ms > 100 ? 100 : due_ms);
        }
    }
    return all;
}

static void test_who_dies_in_a_stall_becomes_a_snapshot_while_the_others_live(void **state)
{
    struct fixture *fixture = *state;
    struct process dead = start(fixture, KEY, 0), living = start(fixture, KEY, 0);
    sbx_attended_see(fixture->family, dead.name);
    sbx_attended_see(fixture->family, living.name);
    sbx_attended_see(fixture->family, living.name);
    end(&dead);
    assert_int_equal(step_until(fixture, 1, 200), 1);
    assert_int_equal(snapshot_folder_count(fixture->raw, ""), 1);
    assert_int_not_equal(access(dead.path, F_OK), 0);
    assert_int_equal(access(living.path, F_OK), 0);
    end(&living);
    assert_int_equal(step_until(fixture, 1, 200), 1);
    assert_int_equal(snapshot_folder_count(fixture->raw, ""), 2);
}

static void test_a_recording_with_another_key_is_left_alone(void **state)
{
    struct fixture *fixture = *state;
    struct process other = start(fixture, KEY + 1, 0);
    sbx_attended_see(fixture->family, other.name);
    end(&other);
    assert_int_equal(step_until(fixture, 1, 5), 0);
    assert_int_equal(access(other.path, F_OK), 0);
}

static void test_a_name_with_the_number_of_another_process_is_believed_by_its_lock(void **state)
{
    struct fixture *fixture = *state;
    struct process process = start(fixture, KEY, (uint32_t)getpid()); /* the named process lives on */
    sbx_attended_see(fixture->family, process.name);
    assert_int_equal(step_until(fixture, 1, 3), 0);
    end(&process);
    assert_int_equal(step_until(fixture, 1, 200), 1);
    assert_int_not_equal(access(process.path, F_OK), 0);
}

static void test_who_ends_well_is_told_of_when_it_has_ended_and_leaves_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct process process = start(fixture, KEY, 0);
    sbx_attended_see(fixture->family, process.name);
    assert_int_equal(unlink(process.path), 0); /* as its agent does */
    sbx_attended_forget(fixture->family, process.name);
    assert_int_equal(step_until(fixture, 1, 3), 0); /* the process lives */
    end(&process);
    assert_int_equal(step_until(fixture, 1, 200), 1);
    assert_int_equal(snapshot_folder_count(fixture->raw, ""), 0);
}

static void call_exec_many_times(struct fixture *fixture, bool is_each_told)
{
    struct process process = start(fixture, KEY, 0);
    sbx_attended_see(fixture->family, process.name);
    for (unsigned i = 0; i < 2000; i++) { /* more than there are descriptors */
        struct sbx_recording_name name = {.pid = (uint32_t)process.pid,
                                          .session_id = {0xee, (uint8_t)(i >> 8), (uint8_t)i}};
        char next[SBX_RECORDING_NAME_BYTES], path[256];
        unsigned ended;
        sbx_recording_name_print(&name, next);
        snprintf(path, sizeof path, "%s/%s", fixture->recordings, next);
        assert_int_equal(rename(process.path, path), 0);
        if (is_each_told) {
            sbx_attended_forget(fixture->family, process.name);
        } else {
            sbx_attended_forget_missing(fixture->family);
        }
        sbx_attended_see(fixture->family, next);
        (void)sbx_attended_step(fixture->family, &ended);
        strcpy(process.name, next);
        strcpy(process.path, path);
    }
    end(&process);
    assert_int_equal(step_until(fixture, 1, 200), 1);
    assert_int_equal(snapshot_folder_count(fixture->raw, ""), 1);
    assert_int_not_equal(access(process.path, F_OK), 0);
}

static void test_a_process_that_calls_exec_many_times_is_one_member(void **state)
{
    call_exec_many_times(*state, true);
}

static void test_it_is_one_member_too_where_nobody_tells_what_went(void **state)
{
    call_exec_many_times(*state, false);
}

static void test_what_is_cut_short_or_empty_or_gone_costs_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct process process = start(fixture, KEY, 0);
    char path[256];
    static const char empty[] = "4711-00112233445566778899aabbccddeeff-0011223344556677" SBX_RECORDING_SUFFIX;
    assert_int_equal(truncate(process.path, 100), 0);
    sbx_attended_see(fixture->family, process.name);
    snprintf(path, sizeof path, "%s/%s", fixture->recordings, empty);
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    sbx_attended_see(fixture->family, empty);
    sbx_attended_see(fixture->family, "no recording");
    sbx_attended_see(fixture->family, "..-" SBX_RECORDING_SUFFIX);
    assert_int_equal(step_until(fixture, 1, 3), 0);
    unlink(path);
    sbx_attended_forget(fixture->family, empty);
    sbx_attended_forget(fixture->family, empty);
    end(&process);
    assert_int_equal(step_until(fixture, 1, 3), 0);
}

static void test_what_was_only_begun_goes_when_its_process_has_ended(void **state)
{
    struct fixture *fixture = *state;
    struct stat spool;
    struct sbx_recording_name says = {.session_id = {9}};
    char name[SBX_RECORDING_NAME_BYTES], path[256];
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    assert_int_equal(stat(fixture->spool, &spool), 0);
    says.pid = (uint32_t)child;
    says.spool = sbx_spool_mark(&spool);
    sbx_recording_name_print(&says, name);
    snprintf(path, sizeof path, "%s/%s", fixture->recordings, name);
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    sbx_attended_see(fixture->family, name);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(step_until(fixture, 1, 1000), 1);
    assert_int_not_equal(access(path, F_OK), 0);
}

#define FAMILY_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAMILY_TEST(test_who_dies_in_a_stall_becomes_a_snapshot_while_the_others_live),
        FAMILY_TEST(test_a_recording_with_another_key_is_left_alone),
        FAMILY_TEST(test_a_name_with_the_number_of_another_process_is_believed_by_its_lock),
        FAMILY_TEST(test_who_ends_well_is_told_of_when_it_has_ended_and_leaves_nothing),
        FAMILY_TEST(test_a_process_that_calls_exec_many_times_is_one_member),
        FAMILY_TEST(test_it_is_one_member_too_where_nobody_tells_what_went),
        FAMILY_TEST(test_what_is_cut_short_or_empty_or_gone_costs_nothing),
        FAMILY_TEST(test_what_was_only_begun_goes_when_its_process_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
